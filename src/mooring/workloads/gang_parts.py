"""How many members the parts of a gang lack, in step with its members: parts that change are counted anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from mooring.workloads.declared import Part

How = TypeVar("How")  # which members are counted


class PartsLack(Generic[How]):
    """`counted` says how many members of a part there are, for each way of counting."""

    def __init__(self, parts: Iterable[Part], counted: Callable[[How, str], int]) -> None:
        self.least = {part.name: max(0, part.least) for part in parts}
        self._counted = counted
        self._total = sum(self.least.values())
        self._filled: dict[How, Counter[str]] = {}  # of what is asked for, how many are there
        self._sums: dict[How, int] = {}
        self._changed: dict[How, set[str]] = {}

    def changed(self, part: str) -> None:
        """A part may have another number of members."""
        if part in self.least:
            for parts in self._changed.values():
                parts.add(part)

    def total(self, how: How, there: Callable[[], Iterable[str]]) -> int:
        """How many members all parts lack. `there` names the parts that may have any, when first asked."""
        if (changed := self._changed.get(how)) is None:
            changed = self._changed[how] = {part for part in there() if part in self.least}
            self._filled[how], self._sums[how] = Counter(), 0
        filled = self._filled[how]
        while changed:
            part = changed.pop()
            now = min(self.least[part], self._counted(how, part))
            self._sums[how] += now - filled[part]
            filled[part] = now
        return self._total - self._sums[how]
