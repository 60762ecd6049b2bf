"""Kubernetes resource quantities ("500m", "1.5Gi", 2), read exactly and rounded as Kubernetes does.

A quantity is a count of nano-units: anything finer rounds up to the next one, anything beyond the
64-bit range is capped at it. `round_up` goes away from zero, so asking for a little never
becomes asking for nothing. What is not a quantity raises `QuantityError`, which names it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

from mooring.errors import QuantityError, did_you_mean

Quantity = str | int | float
"""A quantity as it stands in YAML or JSON."""

MAX_INT64 = 2**63 - 1
NANOS_PER_UNIT = 10**9
NANOS_PER_MILLI = 10**6

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIXES = (*filter(None, _DECIMAL), *_BINARY)
_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))")
_LONGEST = 1000  # characters: keeps hostile input cheap, far above anything a person writes
_FARTHEST = 2 * _LONGEST  # a decimal exponent beyond this caps or vanishes whatever the digits are
_ADVICE = "write a number with an optional suffix, such as 2, 500m, 1.5Gi or 1e3"


def parse_quantity(quantity: Quantity) -> Fraction:
    """The exact value, to the nano-unit."""
    return Fraction(nanos(quantity), NANOS_PER_UNIT)


def whole(quantity: Quantity) -> int:
    """The value in units, rounded up: what Kubernetes calls `Value()`."""
    return round_up(nanos(quantity), NANOS_PER_UNIT)


def nanos(quantity: Quantity) -> int:
    """The value in billionths. Sums of these are exact; round them once, at the end."""
    if isinstance(quantity, str):
        return _nanos_of_text(quantity)
    if isinstance(quantity, bool) or not isinstance(quantity, int | float):
        raise QuantityError(f"{quantity!r} is not a quantity: {_ADVICE}")
    if isinstance(quantity, int):
        return max(-MAX_INT64, min(quantity, MAX_INT64)) * NANOS_PER_UNIT
    return _nanos_of_text(repr(quantity))


def round_up(amount_nanos: int, nanos_each: int) -> int:
    """Nano-units as larger units: away from zero, within 64 bits."""
    size = min(-(-abs(amount_nanos) // nanos_each), MAX_INT64)
    return -size if amount_nanos < 0 else size


@lru_cache(maxsize=8192)
def _nanos_of_text(text: str) -> int:
    found = _SHAPE.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if found is None:
        raise _not_a_quantity(text, _ADVICE)
    sign, integer, decimals, exponent, suffix = found.groups(default="")
    if not integer and not decimals:
        raise _not_a_quantity(text, f"it has no digits; {_ADVICE}")
    unit, power = _scale(text, exponent, suffix)
    power += 9 - len(decimals)
    size = int(integer + decimals) * unit
    size = size * _ten_to(power) if power >= 0 else -(-size // _ten_to(-power))
    size = min(size, MAX_INT64 * NANOS_PER_UNIT)
    return -size if sign == "-" else size


def _ten_to(power: int) -> int:
    return int(10**power)


def _scale(text: str, exponent: str, suffix: str) -> tuple[int, int]:
    """What to multiply by: a factor, and a power of ten."""
    if exponent:
        return 1, max(-_FARTHEST, min(int(exponent), _FARTHEST))
    if suffix in _BINARY:
        return 2 ** _BINARY[suffix], 0
    if suffix in _DECIMAL:
        return 1, _DECIMAL[suffix]
    raise _not_a_quantity(text, f'there is no suffix "{suffix}".{did_you_mean(suffix, _SUFFIXES)}')


def _not_a_quantity(text: str, why: str) -> QuantityError:
    shown = text if len(text) <= 60 else f"{text[:60]}..."
    return QuantityError(f'"{shown}" is not a quantity: {why}')


def format_quantity(amount: int | Fraction, *, binary: bool = False) -> str:
    """The shortest exact spelling, as Kubernetes prints it: 1500m, 3, 2Gi (with `binary`)."""
    if amount == 0:
        return "0"
    value = Fraction(amount)
    if binary and value.denominator == 1:
        for suffix, bits in reversed(_BINARY.items()):
            if value.numerator % 2**bits == 0:
                return f"{value.numerator // 2**bits}{suffix}"
        return str(value.numerator)
    for suffix, power in reversed(_DECIMAL.items()):
        scaled = value / Fraction(10) ** power
        if scaled.denominator == 1:
            return f"{scaled.numerator}{suffix}"
    return f"{ceil(value * NANOS_PER_UNIT)}n"
