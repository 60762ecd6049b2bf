"""Values people write into labels, annotations and pod groups: read, or told what is wrong with them.

A value that cannot be read falls back to what Koordinator falls back to, and leaves a mistake behind.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

from mooring.config.durations import parse_duration
from mooring.errors import did_you_mean
from mooring.workloads.declared import MatchPolicy
from mooring.workloads.topology_wishes import INT32

T = TypeVar("T")

LONGEST_NUMBER = 1000  # characters; Python refuses to read numbers of thousands of digits
MOST_MISTAKES = 16  # of one object; all of it is told to each of its pods
LONGEST_SHOWN = 200  # characters of a value that is wrong
MODES = {"Strict": True, "NonStrict": False}
POLICIES = {policy.value: policy for policy in MatchPolicy}

_INTEGER = re.compile(r"[+-]?[0-9]+")


class Reading:
    """Reads the values of one object or pod, and collects what is wrong with them."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []

    def wrong(self, where: str, value: object, what: str) -> None:
        if len(self.mistakes) == MOST_MISTAKES:
            return
        shown = value if isinstance(value, str) else json.dumps(value, default=str)
        shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}..."
        self.mistakes.append(f'{where} is "{shown}": {what}')

    def count(self, where: str, value: object) -> int | None:
        """A number of pods; None when there is none, or nothing that can be one."""
        if value is None or value == "":
            return None
        number = integer(value)
        if number is None:
            self.wrong(where, value, "not a whole number")
        elif not 0 <= number <= INT32:
            self.wrong(where, value, f"not between 0 and {INT32}")
            return None
        return number

    def mapping(self, where: str, value: object) -> dict[str, Any]:
        """An object; empty when there is none, or something else."""
        if value is not None and not isinstance(value, dict):
            self.wrong(where, value, "not an object")
        return value if isinstance(value, dict) else {}

    def mappings(self, where: str, value: object) -> list[tuple[str, dict[str, Any]]]:
        """The objects of a list, each with where it is."""
        if value is not None and not isinstance(value, list | tuple):
            self.wrong(where, value, "not a list")
        listed = value if isinstance(value, list | tuple) else ()
        for number, each in enumerate(listed):
            if not isinstance(each, dict):
                self.wrong(f"{where}[{number}]", each, "not an object")
        return [(f"{where}[{number}]", each) for number, each in enumerate(listed) if isinstance(each, dict)]

    def name(self, where: str, value: object) -> str:
        """A name; "" when there is none, or something else."""
        if value is not None and not isinstance(value, str):
            self.wrong(where, value, "not a name")
        return value if isinstance(value, str) else ""

    def total(self, where: str, value: str | None, least: int, least_from: str) -> int:
        number = self.count(where, value)
        if number is not None and number < least:
            self.wrong(where, value or "", f"less than {least_from}, which is {least}")
        return least if number is None else max(number, least)

    def strict(self, where: str, value: str | None) -> bool:
        return self._word(where, value, MODES) is not False

    def policy(self, where: str, value: str | None) -> MatchPolicy | None:
        return self._word(where, value, POLICIES)

    def _word(self, where: str, value: str | None, known: dict[str, T]) -> T | None:
        if not value:
            return None
        if value not in known:
            near = did_you_mean(value, list(known)).strip()
            self.wrong(where, value, near or f"none of {', '.join(known)}")
        return known.get(value)

    def wait(self, where: str, value: str | None) -> float:
        """Seconds; 0 stands for the default."""
        if not value:
            return 0.0
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            self.wrong(where, value, str(error).rstrip("."))
            return 0.0
        if seconds < 0:
            self.wrong(where, value, "less than nothing")
        return max(seconds, 0.0)

    def groups(self, where: str, value: str | None, own: str) -> tuple[str, ...]:
        """The gangs of a group, as they are listed; () when it is the gang alone."""
        if not value:
            return ()
        listed = self._listed(where, value)
        if listed and own not in listed:
            self.wrong(where, value, f"does not name the gang itself, {own}")
            return ()
        return () if listed == (own,) else listed

    def _listed(self, where: str, value: str) -> tuple[str, ...]:
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
            self.wrong(where, value, 'not a JSON list of gangs, such as ["default/a", "default/b"]')
            return ()
        return tuple(dict.fromkeys(found))

    def json(self, where: str, value: str | None) -> str:
        """Text that is JSON; "" when it is not."""
        if not value:
            return ""
        try:
            json.loads(value)
        except (ValueError, RecursionError) as error:
            self.wrong(where, value, f"not JSON: {error}")
            return ""
        return value


def integer(value: object) -> int | None:
    """A whole number, as a number or in digits; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or len(value) > LONGEST_NUMBER or not _INTEGER.fullmatch(value):
        return None
    return int(value)


@lru_cache(maxsize=1024)
def moment(text: str | None) -> float | None:
    """The moment an API timestamp names, in seconds; None for text that is no timestamp."""
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


@lru_cache(maxsize=16)  # many objects are written at the same moment
def timestamp(second: int) -> str:
    """A moment as the API server writes it: UTC, whole seconds."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
