from __future__ import annotations

import re

import pytest

from mooring.config.durations import Duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("1h2m3s", 3723.0),
        ("1.5h", 5400.0),
        ("100ms", 0.1),
        ("1ns", 1e-9),
        ("7us", 7e-6),
        ("7µs", 7e-6),
        ("7μs", 7e-6),
        (".5s", 0.5),
        ("5.s", 5.0),
        ("0.3ns", 0.0),
        ("-2s", -2.0),
        ("+2s", 2.0),
        ("0", 0.0),
        ("-0", 0.0),
        ("0s", 0.0),
        ("2562047h47m16.854775807s", 9223372036.854775807),
    ],
)
def test_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", 'invalid duration ""; write it like "15s" or "1m30s".'),
        ("-", 'invalid duration "-"; write it like "15s" or "1m30s".'),
        ("soon", 'invalid duration "soon"; write it like "15s" or "1m30s".'),
        (".s", 'invalid duration ".s"; write it like "15s" or "1m30s".'),
        ("--1s", 'invalid duration "--1s"; write it like "15s" or "1m30s".'),
        ("15", 'missing unit in duration "15"; write it like "15s" or "1m30s".'),
        ("1m30", 'missing unit in duration "1m30"; write it like "15s" or "1m30s".'),
        ("1d", 'unknown unit "d" in duration "1d"; the units are ns, us, ms, s, m and h.'),
        ("1 s", 'unknown unit " s" in duration "1 s"; the units are ns, us, ms, s, m and h.'),
        ("3000000h", 'duration "3000000h" is too long.'),
    ],
)
def test_nonsense(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(what)}$"):
        parse_duration(text)


def test_duration_is_seconds() -> None:
    assert Duration.parse("1m") == 60.0
