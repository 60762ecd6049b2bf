"""Go durations ("15s", "1m30s", "1.5h") as seconds.

A duration is exact to the nanosecond before it becomes a float, so "0.1s" is the float 0.1.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import ClassVar

NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
LONGEST = 2**63 - 1  # Go keeps nanoseconds in an int64
LONGEST_TEXT = 200  # characters; numbers of many digits are slow to read

_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)")


def parse_duration(text: str) -> float:
    """Seconds of a Go duration; ValueError says what is wrong with the text."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f'invalid duration "{text[:20]}..."; write it like "15s" or "1m30s".')
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":  # the only number Go takes without a unit
        return 0.0
    nanoseconds = sum(_parts(rest, text))
    if nanoseconds > LONGEST:
        raise ValueError(f'duration "{text}" is too long.')
    return sign * nanoseconds / 1_000_000_000


def _parts(rest: str, text: str) -> list[int]:
    """The whole nanoseconds of every number-and-unit pair of `rest`."""
    parts: list[int] = []
    at = 0
    while at < len(rest) or not parts:
        found = _PART.match(rest, at)
        if found is None:
            raise ValueError(f'invalid duration "{text}"; write it like "15s" or "1m30s".')
        parts.append(_part(found[1], found[2], text))
        at = found.end()
    return parts


def _part(number: str, unit: str, text: str) -> int:
    if not unit:
        raise ValueError(f'missing unit in duration "{text}"; write it like "15s" or "1m30s".')
    if unit not in NANOSECONDS:
        raise ValueError(f'unknown unit "{unit}" in duration "{text}"; the units are ns, us, ms, s, m and h.')
    return int(Fraction(number) * NANOSECONDS[unit])


def format_duration(seconds: float) -> str:
    """A duration as Go prints it: 1m30s, 500ms."""
    nanoseconds = round(abs(seconds) * 1_000_000_000)
    sign = "-" if seconds < 0 and nanoseconds else ""
    if nanoseconds and nanoseconds < 1_000_000_000:
        return f"{sign}{_decimal(nanoseconds, 6)}ms"
    minutes, rest = divmod(nanoseconds, NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}h" if hours else ""
    text += f"{minutes}m" if minutes or hours else ""
    return f"{sign}{text}{_decimal(rest, 9)}s"


def _decimal(number: int, places: int) -> str:
    """A whole number with the point so many places from its end."""
    whole, rest = divmod(number, 10**places)
    return f"{whole}.{rest:0{places}d}".rstrip("0").rstrip(".") if rest else str(whole)


class Duration(float):
    """Seconds that are written as a Go duration: a field type for configuration Structs."""

    expected: ClassVar[str] = 'a duration such as "15s"'

    @classmethod
    def parse(cls, text: str) -> Duration:
        return cls(parse_duration(text))
