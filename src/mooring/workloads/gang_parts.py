"""How many members the parts of a gang lack, in step with its members: parts that change are counted anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Generic, TypeVar

from mooring.workloads.declared import Part

How = TypeVar("How")  # which members are counted


class PartsLack(Generic[How]):
    """`counted` says how many members of a part there are, for each way of counting; `there` names the parts
    that may have any."""

    def __init__(
        self,
        parts: Iterable[Part],
        counted: Callable[[How, str], int],
        there: Callable[[], Iterable[str]],
    ) -> None:
        self.least = {part.name: part.least for part in parts if part.least > 0}
        self._counted = counted
        self._there = there
        self._total = sum(self.least.values())
        self._filled: dict[How, dict[str, int]] = {}  # of what is asked for, how many are there
        self._sums: dict[How, int] = {}
        self._changed: dict[How, set[str]] = {}

    def changed(self, part: str) -> None:
        """A part may have another number of members."""
        if part in self.least:
            for parts in self._changed.values():
                parts.add(part)

    def total(self, how: How) -> int:
        """How many members all parts lack."""
        self._follow(how)
        return self._total - self._sums[how]

    def first(self, how: How, most: int) -> list[str]:
        """The first parts that lack some, at most so many."""
        filled = self._follow(how)
        return list(islice((part for part, n in self.least.items() if filled.get(part, 0) < n), most))

    def _follow(self, how: How) -> dict[str, int]:
        if (changed := self._changed.get(how)) is None:
            changed = self._changed[how] = {part for part in self._there() if part in self.least}
            self._filled[how], self._sums[how] = {}, 0
        filled = self._filled[how]
        while changed:
            part = changed.pop()
            now = min(self.least[part], self._counted(how, part))
            self._sums[how] += now - filled.get(part, 0)
            filled[part] = now
        return filled
