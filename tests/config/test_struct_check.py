from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from mooring.config.document import read_documents
from mooring.config.durations import Duration
from mooring.config.struct_check import convert, salvage
from mooring.errors import ArgsError, FieldMistake

Quantity = str | int | float


class Colour(Enum):
    RED = "Red"
    BLUE = "Blue"


class Inner(msgspec.Struct, frozen=True, rename="camel"):
    max_skew: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    ratio: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    amount: Quantity = 0

    def __post_init__(self) -> None:
        if self.max_skew == 3:
            raise ValueError("three is not allowed")
        if self.max_skew == 4:
            raise KeyError("four")


class Entry(msgspec.Struct, frozen=True):
    name: str = ""


class Outer(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    host_ip: str = msgspec.field(name="hostIP", default="")
    timeout: Duration = Duration(3)
    kind: Literal["Alpha", "Beta"] = "Alpha"
    colour: Colour = Colour.RED
    inner: Inner | None = None
    items: tuple[Inner, ...] = ()
    entries: list[Entry] = []
    labels: dict[str, str] = {}
    sizes: dict[str, Quantity] = {}
    anything: Any = None
    data: bytes = b""
    flag: bool = False
    word: Annotated[str, msgspec.Meta(pattern="^a")] = "a"
    terms: tuple[Inner | None, ...] = ()
    either: str | Inner = ""
    default_five: int | None = 5


GOOD = """\
name: web
hostIP: 10.0.0.1
timeout: 1m30s
kind: Beta
colour: Blue
inner: {maxSkew: 2, ratio: 0.25, amount: 1Gi}
items: [{amount: 2}, {amount: 0.5}]
entries: [{name: a}]
labels: {a: b}
sizes: {cpu: 100m, pods: 3}
anything: {x: [1]}
data: aGk=
flag: yes
terms: [null, {}]
either: {maxSkew: 2}
"""
VALUE = Outer(
    name="web",
    host_ip="10.0.0.1",
    timeout=Duration(90),
    kind="Beta",
    colour=Colour.BLUE,
    inner=Inner(max_skew=2, ratio=0.25, amount="1Gi"),
    items=(Inner(amount=2), Inner(amount=0.5)),
    entries=[Entry("a")],
    labels={"a": "b"},
    sizes={"cpu": "100m", "pods": 3},
    anything={"x": [1]},
    data=b"hi",
    flag=True,
    terms=(None, Inner()),
    either=Inner(max_skew=2),
)


def mistakes(text: str, **options: Any) -> list[str]:
    value, found = convert(read_documents(text, "f")[0], (), Outer, **options)
    assert (value is None) == bool(found)
    return [str(mistake) for mistake in found]


@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_good(ignore_unknown: bool) -> None:
    document = read_documents(GOOD, "f")[0]
    assert convert(document, (), Outer, ignore_unknown=ignore_unknown) == (VALUE, [])


def test_subtree() -> None:
    document = read_documents("a: [{b: {name: x}}]", "f")[0]
    assert convert(document, ("a", 0, "b"), Outer) == (Outer(name="x"), [])


@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_nulls_count_as_absent(ignore_unknown: bool) -> None:
    text = "name: x\ninner:\nitems:\nanything: {a: , b: [{c: }]}\nsizes: {cpu: }\ndefaultFive:\n"
    document = read_documents(text, "f")[0]
    value, found = convert(document, (), Outer, ignore_unknown=ignore_unknown)
    assert found == []
    assert value == Outer(name="x", anything={"b": [{}]}, default_five=5)


def test_null_label_is_the_empty_text() -> None:
    document = read_documents("name: x\nlabels: {a: }\n", "f")[0]
    assert convert(document, (), Outer)[0] == Outer(name="x", labels={"a": ""})


def test_absent_struct_has_its_defaults() -> None:
    document = read_documents("a: 1\n", "f")[0]
    assert convert(document, ("args",), Entry) == (Entry(), [])


def test_unknown_fields_are_ignored_when_asked() -> None:
    document = read_documents("name: x\nnme: y\ninner: {what: 1}\n", "f")[0]
    assert convert(document, (), Outer, ignore_unknown=True) == (Outer(name="x", inner=Inner()), [])


def test_allowed_fields_are_passed_over_outside_only() -> None:
    text = "name: x\napiVersion: v1\ninner: {apiVersion: v1}\n"
    assert mistakes(text, allowed=("apiVersion",)) == ['f:3:9: unknown field "apiVersion".']


@pytest.mark.parametrize("ignore_unknown", [False, True])
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("timeout: 15x", '2:10: unknown unit "x" in duration "15x"; the units are ns, us, ms, s, m and h.'),
        ("timeout: 15", '2:10: expected a duration such as "15s", got 15.'),
        ("kind: alpha", '2:7: expected "Alpha" or "Beta", got "alpha". Did you mean "Alpha"?'),
        ("colour: Bleu", '2:9: expected "Red" or "Blue", got "Bleu". Did you mean "Blue"?'),
        ("inner: {maxSkew: three}", '2:18: expected an integer, got "three".'),
        ("inner: {maxSkew: 1.5}", "2:18: expected an integer, got 1.5."),
        ("inner: {maxSkew: true}", "2:18: expected an integer, got true."),
        ("inner: {maxSkew: 0}", "2:18: expected at least 1, got 0."),
        ("inner: {maxSkew: 6}", "2:18: expected at most 5, got 6."),
        ("inner: {ratio: 0}", "2:16: expected more than 0, got 0."),
        ("inner: {ratio: 1.0}", "2:16: expected less than 1, got 1.0."),
        ("inner: {maxSkew: 3}", "2:8: three is not allowed."),
        ("inner: {maxSkew: 4}", "2:8: KeyError: 'four'."),
        ("inner: [1]", "2:8: expected a mapping, got a list."),
        ("items: {a: 1}", "2:8: expected a list, got a mapping."),
        ("items: [{}, x]", '2:13: expected a mapping, got "x".'),
        ("items: [null]", "2:9: expected a mapping, got nothing."),
        ("items: [{amount: true}]", "2:18: expected a string, an integer or a number, got true."),
        ("labels: {a: true}", "2:13: expected a string, got true. Put it in quotes."),
        ("labels: {a: [x]}", "2:13: expected a string, got a list."),
        ("labels: [x]", "2:9: expected a mapping, got a list."),
        ("sizes: {cpu: {}}", "2:14: expected a string, an integer or a number, got a mapping."),
        ("flag: maybe", '2:7: expected true or false, got "maybe".'),
        ("data: '!'", '2:7: expected base64 text, got "!".'),
        ("either: {maxSkew: x}", '2:19: expected an integer, got "x".'),
        ("either: 5", "2:9: expected a string or a mapping, got 5."),
        ("word: b", "2:7: expected str matching regex '^a'."),
    ],
)
def test_mistake(line: str, what: str, ignore_unknown: bool) -> None:
    assert mistakes(f"name: x\n{line}\n", ignore_unknown=ignore_unknown) == [f"f:{what}"]


def test_all_at_once() -> None:
    text = "nme: x\nhostIp: 1\ninner:\n  maxSkw: 2\n  amount: []\nitems:\n- maxSkew: 9\n- maxSkew: 3\n"
    assert mistakes(text) == [
        'f:1:1: unknown field "nme". Did you mean "name"?',
        'f:2:1: unknown field "hostIp". Did you mean "hostIP"?',
        'f:4:3: unknown field "maxSkw". Did you mean "maxSkew"?',
        "f:5:11: expected a string, an integer or a number, got a list.",
        "f:7:12: expected at most 5, got 9.",
        "f:8:3: three is not allowed.",
        'f:1:1: required field "name" is missing.',
    ]


def test_wrong_top() -> None:
    assert mistakes("[1]") == ["f:1:1: expected a mapping, got a list."]


def test_salvage_keeps_what_is_right() -> None:
    text = "name: x\nflag: maybe\nentries: [{name: a}, b, {name: 3}, {name: d}]\nlabels: {a: 1, b: c}\n"
    value, found = salvage(read_documents(text, "f")[0], (), Outer)
    assert value == Outer(name="x", entries=[Entry("a"), Entry(), Entry(), Entry("d")], labels={"b": "c"})
    assert len(found) == 4


def test_salvage_without_a_required_field() -> None:
    value, found = salvage(read_documents("flag: yes\n", "f")[0], (), Outer)
    assert value is None
    assert [mistake.what for mistake in found] == ['required field "name" is missing.']


class Range(msgspec.Struct, rename="camel"):
    """Says itself which of its fields are wrong."""

    low: int = 0
    high: int = 9
    names: tuple[str, ...] = ()
    inner: Inner | None = None

    def __post_init__(self) -> None:
        found = [FieldMistake(("names", i), f"no {name}") for i, name in enumerate(self.names) if name == "x"]
        if self.low > self.high:
            found.append(FieldMistake(("low",), "low is above high", beside=("high",)))
        ArgsError.unless_right(found)


def told(text: str) -> list[str]:
    _, found = convert(read_documents(text, "f")[0], (), Range)
    return [str(mistake) for mistake in found]


def test_fields_a_struct_names_have_their_places() -> None:
    assert told("low: 5\nhigh: 4\nnames: [a, x, x]\n") == [
        "f:3:12: no x.",
        "f:3:15: no x.",
        "f:1:6: low is above high.",
    ]


def test_what_a_struct_says_of_right_fields_is_told_beside_other_mistakes() -> None:
    assert told("names: [x]\ninner: {maxSkew: 9}\nlo: 1\n") == [
        "f:2:18: expected at most 5, got 9.",
        'f:3:1: unknown field "lo". Did you mean "low"?',
        "f:1:9: no x.",
    ]


def test_what_only_follows_from_another_mistake_is_not_told() -> None:
    assert told("low: 20\nhigh: many\n") == ['f:2:7: expected an integer, got "many".']
    assert told("names: [x, 3]\n") == ["f:1:12: expected a string, got 3. Put it in quotes."]
