from __future__ import annotations

from typing import Any

import pytest

from mooring.config.document import Document, read_documents
from mooring.errors import InputError


def read(text: str) -> Document:
    (document,) = read_documents(text, "f.yaml")
    return document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("+3", 3),
        ("1_000", 1000),
        ("017", 15),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("09", "09"),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.5E-2", 0.015),
        ("1e999", "1e999"),
        ("'1e3'", "1e3"),
        ("12:30", "12:30"),
        ("12:30.5", "12:30.5"),
        ("yes", True),
        ("Off", False),
        ("y", "y"),
        ("~", None),
        ("null", None),
        ("", None),
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00Z"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ('"true"', "true"),
        ("100m", "100m"),
        ("=", "="),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_scalar(text: str, value: Any) -> None:
    data = read(f"value: {text}").data
    assert data == {"value": value}
    assert type(data["value"]) is type(value)


def test_keys_are_text_as_written() -> None:
    assert read("1: a\ntrue: b\n~: c\n0x1f: d\n").data == {"1": "a", "true": "b", "~": "c", "0x1f": "d"}


def test_empty_documents_are_skipped() -> None:
    documents = read_documents("---\n# only a comment\n---\na: 1\n---\n---\nb: 2\n", "f.yaml")
    assert [document.data for document in documents] == [{"a": 1}, {"b": 2}]
    assert documents[1].place(("b",)) == "f.yaml:7:4"


def test_nothing_at_all() -> None:
    assert read_documents("", "f.yaml") == []


def test_byte_order_mark_is_skipped() -> None:
    assert read("\ufeffa: 1\n").data == {"a": 1}


ANCHORS = """\
one: &one {x: 1, y: 2}
two: &two
  x: 3
  z: 5
both:
  <<: [*one, *two]
  y: 9
single:
  <<: *two
"""


def test_merge_keys() -> None:
    data = read(ANCHORS).data
    assert data["both"] == {"x": 1, "y": 9, "z": 5}
    assert data["single"] == {"x": 3, "z": 5}


@pytest.mark.parametrize(
    ("path", "place"),
    [(("both", "x"), "1:15"), (("both", "y"), "7:6"), (("both", "z"), "4:6"), (("single", "x"), "3:6")],
)
def test_place_through_merge_keys(path: tuple[str, ...], place: str) -> None:
    assert read(ANCHORS).place(path) == f"f.yaml:{place}"


def test_alias_is_the_same_value() -> None:
    data = read("a: &a [1, 2]\nb: *a\n").data
    assert data == {"a": [1, 2], "b": [1, 2]}


LIST = "while parsing a flow sequence"
NODE = "while parsing a flow node"

POD = """\
kind: Pod
spec:
  containers:
  - name: web
    image: nginx
  - {name: log, image: fluent}
"""


@pytest.mark.parametrize(
    ("path", "key", "place"),
    [
        ((), False, "1:1"),
        (("kind",), False, "1:7"),
        (("kind",), True, "1:1"),
        (("spec", "containers"), False, "4:3"),
        (("spec", "containers"), True, "3:3"),
        (("spec", "containers", 0, "image"), False, "5:12"),
        (("spec", "containers", 0, "image"), True, "5:5"),
        (("spec", "containers", 1), False, "6:5"),
        (("spec", "containers", 1, "image"), False, "6:24"),
        (("spec", "containers", 1, "ports", 0), False, "6:5"),
        (("spec", "containers", 7), False, "4:3"),
        (("spec", "volumes"), True, "3:3"),
        (("kind", "deeper"), False, "1:7"),
    ],
)
def test_place(path: tuple[str | int, ...], key: bool, place: str) -> None:
    assert read(POD).place(path, key=key) == f"f.yaml:{place}"


def test_at() -> None:
    document = read(POD)
    assert document.at(("spec", "containers", 1, "name")) == "log"
    assert document.at(("spec", "containers", 2, "name")) is None
    assert document.at(("kind", "name")) is None


def test_json() -> None:
    document = read('{\n\t"a": [1, 1e3, "\\ud83d\\ude00", null],\n\t"b\\/c": {"d": true}}\n')
    assert document.data == {"a": [1, 1000.0, "\U0001f600", None], "b/c": {"d": True}}
    assert document.has_nulls
    assert document.place(("b/c", "d")) == "f.yaml:3:16"


def test_json_documents_one_after_another() -> None:
    documents = read_documents('{"a": 1}\n---\n{"b": 2}\n', "f.json")
    assert [document.data for document in documents] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3\n",
            ['3:1: key "a" is given twice; the first is on line 1.'],
            id="duplicate key",
        ),
        pytest.param(
            '{"a": 1, "a": 2}', ['1:10: key "a" is given twice; the first is on line 1.'], id="JSON duplicate"
        ),
        pytest.param(
            "a: !thing x\nb: !!binary aGk=\nc: !!set {d}\n",
            [
                '1:4: tag "!thing" is not understood.',
                '2:4: tag "!!binary" is not understood.',
                '3:4: tag "!!set" is not understood.',
            ],
            id="unknown tags",
        ),
        pytest.param("a: !!int x\n", ['1:4: "x" is not a number.'], id="not an integer"),
        pytest.param(
            "? [a]\n: b\n", ["1:3: a key must be a single value, not a list or a mapping."], id="list as key"
        ),
        pytest.param(
            "a: 1\n<<: 2\n", ["2:5: a merge key takes a mapping or a list of mappings."], id="bad merge"
        ),
        pytest.param("a: &a [*a]\n", ["1:4: an anchor cannot contain itself."], id="endless anchor"),
        pytest.param("a: &a {<<: *a}\n", ["1:4: an anchor cannot contain itself."], id="endless merge"),
        pytest.param("a: *b\n", ["1:4: not valid YAML: found undefined alias."], id="no such anchor"),
        pytest.param(
            "a:\n  b: [1,\n  c: 2\n",
            [f"4:1: not valid YAML: did not find expected ',' or ']' ({LIST} from line 2)."],
            id="open bracket",
        ),
        pytest.param("a:\n\tb: 1\n", ["2:1: not valid YAML: a tab cannot indent; use spaces."], id="tab"),
        pytest.param(
            "a: b: c\n",
            ["1:5: not valid YAML: mapping values are not allowed in this context."],
            id="two colons",
        ),
        pytest.param(
            "a: é\nb: \x01\n", ["2:4: not valid YAML: character U+0001 is not allowed."], id="control"
        ),
        pytest.param("a: \ud800\n", ["1:4: a character here is half of a surrogate pair."], id="surrogate"),
        pytest.param(
            "[" * 5000 + "]" * 5000, ["1:101: nested too deeply: 100 levels are the most."], id="too deep"
        ),
        pytest.param(
            "a: 1\na: 2\n---\nb: 1\nb: 2\n---\n[\n",
            [
                '2:1: key "a" is given twice; the first is on line 1.',
                '5:1: key "b" is given twice; the first is on line 4.',
                f"8:1: not valid YAML: did not find expected node content ({NODE} from line 8).",
            ],
            id="all at once",
        ),
    ],
)
def test_mistakes(text: str, mistakes: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_documents(text, "f.yaml")
    assert str(caught.value).splitlines() == [f"f.yaml:{line}" for line in mistakes]
