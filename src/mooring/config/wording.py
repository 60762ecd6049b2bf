"""The words of mistakes about types: what was expected, and what was found instead."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import inspect

from mooring.errors import did_you_mean

_LONGEST_QUOTE = 60

_EXPECTED: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.StrType: "a string",
    inspect.BytesType: "base64 text",
    inspect.NoneType: "nothing",
    inspect.StructType: "a mapping",
    inspect.DictType: "a mapping",
    inspect.ListType: "a list",
    inspect.VarTupleType: "a list",
    inspect.TupleType: "a list",
    inspect.SetType: "a list",
    inspect.FrozenSetType: "a list",
}


def wrong_type(kind: inspect.Type, data: Any) -> str:
    """`expected an integer, got "three".`"""
    what = f"expected {expected(kind)}, got {got(data)}."
    is_bare_word = isinstance(kind, inspect.StrType) and isinstance(data, int | float)
    return f"{what} Put it in quotes." if is_bare_word else what


def not_one_of(values: Sequence[Any], data: Any) -> str:
    """`expected "A" or "B", got "C".`"""
    words = [value for value in values if isinstance(value, str)]
    near = did_you_mean(data, words) if isinstance(data, str) else ""
    return f"expected {either([got(value) for value in values])}, got {got(data)}.{near}"


def expected(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.UnionType):
        kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return either(list(dict.fromkeys(map(expected, kinds))))
    if isinstance(kind, inspect.Metadata):
        return expected(kind.type)
    if isinstance(kind, inspect.LiteralType):
        return either([got(value) for value in kind.values])
    if isinstance(kind, inspect.CustomType):
        return str(getattr(kind.cls, "expected", f"a {kind.cls.__name__}"))
    return _EXPECTED.get(type(kind), "another type")


def got(data: Any) -> str:
    """A value as it would be written in the file, shortened."""
    if data is None:
        return "nothing"
    if isinstance(data, dict):
        return "a mapping"
    if isinstance(data, list):
        return "a list"
    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "nothing"
