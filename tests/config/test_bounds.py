"""Texts that would take the stack or the memory of whoever builds them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.app.making import read_text
from mooring.config import bounds
from mooring.config.document import read_documents
from mooring.config.durations import parse_duration
from mooring.config.load import load_config
from mooring.errors import ConfigError, InputError, ManifestError, did_you_mean
from mooring.kube.access.kubeconfig_file import read_kubeconfig
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests.manifests import read_manifests

DEEP = 20_000
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)
MERGES = "a: &a {k1: 1, k2: 2}\n" + "".join(
    f"{after}: &{after} {{own: [{', '.join([f'*{before}'] * 9)}], <<: *{before}}}\n"
    for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)
DEEP_TEXTS = {
    "flow": "a: " + "[" * DEEP + "]" * DEEP,
    "mappings": "{a: " * DEEP + "}" * DEEP,
    "never closed": "[" * DEEP,
    "block": "\n".join(" " * level + "a:" for level in range(300)),
    "compact": "- " * DEEP + "a",
    "keys": "? " * DEEP + "a",
    "JSON": "[" * DEEP + "]" * DEEP,
    "JSON objects": '{"a":' * DEEP + "1" + "}" * DEEP,
}


def mistake(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_documents(text, "f.yaml")
    (found,) = caught.value.mistakes
    return str(found)


@pytest.mark.parametrize("name", DEEP_TEXTS)
def test_deep(name: str) -> None:
    text = mistake(DEEP_TEXTS[name])
    assert text.endswith("nested too deeply: 100 levels are the most.")
    assert text.startswith("f.yaml:")
    assert not text.startswith("f.yaml:1:1:")  # where it is too deep, not where it begins


def test_as_deep_as_anybody_needs() -> None:
    levels = bounds.DEEPEST
    assert read_documents("[" * levels + "]" * levels, "f")
    assert read_documents("a: " + "[" * (levels - 1) + "]" * (levels - 1), "f")
    in_strings = '{"a": "' + "[{" * 500 + '\\"[' + '"}'
    assert read_documents(in_strings, "f")[0].place(("a",)) == "f:1:7"


@pytest.mark.parametrize("text", [LAUGHS, MERGES])
def test_aliases_that_stand_for_billions(text: str) -> None:
    assert mistake(text).endswith("aliases stand for too much: 1000000 values are the most.")


def test_aliases_as_people_use_them() -> None:
    (document,) = read_documents("a: &a {b: 1}\nc: *a\nd: {<<: *a, e: 2}\n", "f")
    assert document.data == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}
    assert "cannot contain itself" in mistake("a: &a [*a]")


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_VALUES", 10)
    assert read_documents("[1, 2, 3, 4, 5, 6, 7, 8, 9]", "f")
    assert "too much in one text" in mistake("a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]")


def test_numbers_no_machine_holds() -> None:
    digits = "1" * 1_000_000
    assert "the number is too long" in mistake(f'{{"a": {digits}}}')
    assert "the number is too long" in mistake(f"a: {digits}")
    assert read_documents('{"a": 1e999}', "f")[0].data == {"a": "1e999"}  # as in YAML, and never infinite


def test_durations_of_a_million_digits() -> None:
    for text in ("1" * 1_000_000 + "s", "1s" * 1_000_000, "0." + "1" * 1_000_000 + "s"):
        with pytest.raises(ValueError, match="invalid duration") as caught:
            parse_duration(text)
        assert len(str(caught.value)) < 100


def test_words_too_long_to_be_mistyped() -> None:
    assert did_you_mean("NodeResorcesFit", ["NodeResourcesFit"])
    assert did_you_mean("NodeResourcesFit" * 100_000, ["NodeResourcesFit" * 100_000 + "s"]) == ""


def reads_config(path: Path) -> None:
    load_config(read_text(path), str(path), make_registry(None))


def reads_manifests(path: Path) -> None:
    read_manifests([path])


@pytest.mark.parametrize("read", [reads_config, reads_manifests, read_kubeconfig])
@pytest.mark.parametrize("text", [DEEP_TEXTS["flow"], DEEP_TEXTS["JSON"], LAUGHS])
def test_every_file_that_is_read(read: Callable[[Path], object], text: str, tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"f.yaml:\d+:\d+: (nested|aliases)"):
        read(path)


@pytest.mark.parametrize("read", [reads_config, reads_manifests, read_kubeconfig])
def test_files_that_never_end(
    read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bounds, "LARGEST", 1000)
    with pytest.raises((ConfigError, ManifestError), match="larger than 512 MiB"):
        read(Path("/dev/zero"))
    with pytest.raises(ManifestError, match="<stdin>: cannot be read: larger than"):
        read_manifests(["-"], stdin=io.StringIO("a" * 1001))


@given(st.text(alphabet="[]{}-?:&*<,ab \n\"'", max_size=200))
def test_whatever_is_read_is_within_bounds(text: str) -> None:
    """Data or mistakes, never anything else; and nothing deeper than the bound."""
    try:
        documents = read_documents(text, "f")
    except InputError as error:
        assert error.mistakes
        return
    for document in documents:
        assert depth(document.data) <= bounds.DEEPEST


def depth(data: object) -> int:
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)
