"""The value of one YAML scalar, by the rules Kubernetes' own YAML reader follows.

These are YAML 1.1's, less what surprises people: timestamps and base-60 numbers stay text, and
"1e3" is a number, as it is in JSON.
"""

from __future__ import annotations

import re
from math import isinf

PREFIX = "tag:yaml.org,2002:"
TRUE = frozenset({"yes", "true", "on"})

Scalar = str | int | float | bool | None

# Kinds whose scalars are taken as written: "merge" and "value" are "<<" and "=" standing as values.
_AS_WRITTEN = frozenset(PREFIX + kind for kind in ("str", "timestamp", "merge", "value"))
_OF_LATER_YAML = re.compile(r"[-+]?(?:0o[0-7]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+)")
_LONGEST_NUMBER = 1000  # characters; no number anyone means is longer, and longer ones are slow to read


def scalar_value(tag: str, text: str, *, plain: bool) -> Scalar:
    """The value of a scalar; ValueError for an unknown tag or a text that is not of its kind."""
    if tag in _AS_WRITTEN:
        return _later_number(text) if plain and _OF_LATER_YAML.fullmatch(text) else text
    kind = tag.removeprefix(PREFIX)
    if kind == "null":
        return None
    if kind == "bool":
        return _boolean(text)
    if kind in ("int", "float"):
        return _number(kind, text)
    raise ValueError(f'tag "{short_tag(tag)}" is not understood.')


def short_tag(tag: str) -> str:
    """A tag as people write it."""
    return "!!" + tag.removeprefix(PREFIX) if tag.startswith(PREFIX) else tag


def _boolean(text: str) -> bool:
    word = text.lower()
    if word not in TRUE and word not in ("no", "false", "off"):
        raise ValueError(f'"{text}" is neither true nor false.')
    return word in TRUE


def _number(kind: str, text: str) -> int | float | str:
    if ":" in text:
        return text
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("the number is too long.")
    digits = text.replace("_", "").lower()
    try:
        return _integer(digits) if kind == "int" else _real(digits)
    except ValueError:
        raise ValueError(f'"{text}" is not a number.') from None


def _integer(digits: str) -> int:
    sign, rest = (-1, digits[1:]) if digits[:1] == "-" else (1, digits.removeprefix("+"))
    if rest[:2] in ("0b", "0x", "0o"):
        return sign * int(rest, 0)
    return sign * int(rest, 8 if len(rest) > 1 and rest[0] == "0" else 10)


def _real(digits: str) -> float:
    return float(digits.replace(".inf", "inf").replace(".nan", "nan"))


def _later_number(text: str) -> int | float | str:
    if "o" in text:
        return _integer(text)
    number = float(text)
    return text if isinf(number) else number  # as commit 123e4567 is not meant as a number
