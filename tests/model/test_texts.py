"""Texts of any length and content become texts that can be sent."""

from __future__ import annotations

import pytest

from mooring.model.texts import clean, clipped, fitting, with_more


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("café 漢 \U0001f600", "café 漢 \U0001f600"),
        ("caf\udce9", "caf\ufffd"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
    ],
)
def test_what_is_no_character_is_marked(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned
    clean(text).encode()


def test_long_texts_lose_their_end() -> None:
    assert clipped("abcdefgh", 8) == "abcdefgh"
    assert clipped("abcdefghi", 8) == "abcde..."
    assert clipped("\ud800" * 9, 8) == "\ufffd" * 5 + "..."


def test_as_many_as_have_room_and_how_many_more() -> None:
    assert fitting(["aaa", "bbb", "c"], 6) == ["aaa", "bbb"]
    assert fitting(["a" * 99, "b"], 6) == ["a" * 99]
    assert with_more(["a", "b"], 2) == ["a", "b"]
    assert with_more(["a", "b"], 5) == ["a", "b", "... and 3 more reasons"]
