"""Many groups of a class, rated all at once and compared by their best bases.

`Buckets` looks at its groups one after the other. That is quick for the few that zones make, and slow
for five hundred racks. Above some number they get a table: each group has a number, and what is
compared lies in arrays by that number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mooring.engine.placement.kept.group_columns import NO_GROUP, GroupColumns
from mooring.framework.api.growing_ints import Growing, Ints

if TYPE_CHECKING:
    from mooring.engine.placement.kept.buckets import Group

EMPTY = -1  # the best base of a group without rows


class Tied(Sequence[int]):
    """The rows of the best buckets of some groups. Nobody puts them together only to draw one of them."""

    def __init__(self, groups: Sequence[Group], numbers: NDArray[np.intp], counts: Ints) -> None:
        self._groups = groups
        self._numbers = numbers
        self._ends = counts.cumsum()

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        place = int(self._ends.searchsorted(index, side="right"))
        start = int(self._ends[place - 1]) if place else 0
        return self._groups[self._numbers[place]].best()[index - start]

    def __iter__(self) -> Iterator[int]:
        return (row for number in self._numbers for row in self._groups[number].best())


class GroupTable:
    """Groups by number. Numbers of groups that are gone are given out again."""

    def __init__(self, columns: GroupColumns, groups: Iterable[Group]) -> None:
        self._columns = columns
        self._groups: list[Group] = []
        self._free: list[int] = []
        self._sizes = Growing()
        self._tops = Growing(EMPTY)  # the best base of each
        self._counts = Growing()  # how many rows have it
        self._additions: Ints = np.zeros(0, np.int64)
        for group in groups:
            self.add(group)

    def add(self, group: Group) -> None:
        """A group that was not there."""
        if self._free:
            group.number = self._free.pop()
            self._groups[group.number] = group
        else:
            group.number = len(self._groups)
            self._groups.append(group)
        for column in (self._sizes, self._tops, self._counts):
            column.put(group.number, 0)
        self._columns.put(group.number, group.raws)
        self.note(group)

    def note(self, group: Group) -> None:
        """A row came to a group or left it."""
        number, top = group.number, group.bits.bit_length() - 1
        self._sizes.at[number] = group.size
        self._tops.at[number] = top
        self._counts.at[number] = len(group.buckets[top]) if top >= 0 else 0

    def drop(self, group: Group) -> None:
        """A group that is empty."""
        self._free.append(group.number)

    def rate(self) -> None:
        """Works out what is added to each group, as things are."""
        self._additions = self._columns.additions(self._sizes.all)

    def rated(self) -> list[tuple[Group, int]]:
        """Each feasible group with its addition."""
        feasible = (self._additions != NO_GROUP).nonzero()[0]
        additions = self._additions[feasible].tolist()
        return [(self._groups[n], addition) for n, addition in zip(feasible, additions, strict=True)]

    def feasible(self) -> int:
        """How many rows are in feasible groups."""
        return int(self._sizes.all[self._additions != NO_GROUP].sum())

    def best(self) -> tuple[int, list[Sequence[int]]]:
        """The highest total, and the rows that have it."""
        totals = self._additions + self._tops.all
        best = int(totals.max())
        if best < 0:
            return -1, []
        numbers = (totals == best).nonzero()[0]
        if len(numbers) == 1:
            return best, [self._groups[numbers[0]].best()]
        return best, [Tied(self._groups, numbers, self._counts.all[numbers])]

    def check(self, groups: Iterable[Group]) -> None:
        """Asserts that it has exactly these groups, each once, and what it says of them is so."""
        there = list(groups)
        free = set(self._free)
        assert len(free) == len(self._free)
        assert {group.number for group in there}.isdisjoint(free)
        assert len(there) + len(free) == len(self._groups) == self._sizes.high
        assert all(not self._sizes.at[number] and self._tops.at[number] == EMPTY for number in free)
        for group in there:
            top = group.bits.bit_length() - 1
            assert self._groups[group.number] is group
            assert self._sizes.at[group.number] == group.size
            assert self._tops.at[group.number] == top
            assert self._counts.at[group.number] == len(group.buckets[top])
