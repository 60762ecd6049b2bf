"""The feasible nodes of a class, sorted so that the best is found without looking at the others.

total(node) = base(node) + G(group(node)): the base is what is scored as it is; the group is the tuple
of raw scores that are normalised over the feasible nodes. Nodes of a group share one addition G,
worked out once per group. Within a group, nodes lie in buckets by base score, and a bit per bucket in
a Python integer tells which are not empty. Moving a node and finding the top bucket cost O(1).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mooring.engine.placement.kept.coding import Codes
from mooring.engine.placement.kept.group_columns import GroupColumns
from mooring.engine.placement.kept.group_table import GroupTable

Bases = NDArray[np.int32]
Raws = tuple[Hashable, ...]  # raw scores, then keys of topology domains
# What is added to the base score in each group, given its raw scores and size; None: it is not feasible.
Addition = Callable[[Sequence[Raws], Sequence[int]], list[int | None]]

MakeColumns = Callable[[], GroupColumns]
MANY = 60  # groups: more are rated by a table
FEW_AGAIN = 40


class Group:
    """Nodes of equal raw scores, in buckets by base score."""

    __slots__ = ("bits", "buckets", "number", "raws", "size")

    def __init__(self, raws: Raws) -> None:
        self.raws = raws
        self.size = 0
        self.buckets: dict[int, list[int]] = {}
        self.bits = 0
        self.number = -1  # in a table

    def best(self) -> list[int]:
        """The rows of the highest base; there is one."""
        return self.buckets[self.bits.bit_length() - 1]


class Buckets:
    """Every feasible row is in one bucket of one group."""

    def __init__(
        self, rows: int, addition: Addition, columns: MakeColumns | None = None, *, sized: bool = False
    ) -> None:
        self._addition = addition
        self._columns = columns  # the same for many groups
        self._sized = sized  # additions depend on how many rows the groups have
        self.group_of: list[Group | None] = [None] * rows
        self.base_of = [0] * rows
        self._slot_of = [0] * rows
        self._groups: dict[Raws, Group] = {}  # none of them is empty
        self._raws: tuple[Raws, ...] | None = None  # of all groups: the same as long as the groups are
        self._rated = False  # whether additions are those of now
        self._additions: list[tuple[Group, int]] = []  # of feasible groups, unless there is a table
        self._table: GroupTable | None = None  # if there are many groups

    @classmethod
    def of(
        cls,
        base: Bases,
        codes: Codes,
        groups: Sequence[Raws],
        addition: Addition,
        columns: MakeColumns | None = None,
        *,
        sized: bool = False,
    ) -> Self:
        """The rows of arrays: the base of each, negative when it is not feasible, and the number of its
        group."""
        made = cls(len(base), addition, columns, sized=sized)
        rows = (base >= 0).nonzero()[0]
        if not len(rows):
            return made
        span = int(base.max()) + 1
        where = codes[rows] * np.int64(span) + base[rows]
        order = where.argsort(kind="stable")
        rows, where = rows[order], where[order]
        starts = np.concatenate(([0], (where[1:] != where[:-1]).nonzero()[0] + 1, [len(where)])).tolist()
        numbers, places = rows.tolist(), where[starts[:-1]].tolist()
        for start, end, place in zip(starts, starts[1:], places, strict=False):
            made._fill(groups[place // span], place % span, numbers[start:end])
        return made

    def _fill(self, raws: Raws, base: int, rows: list[int]) -> None:
        """A bucket as a whole."""
        group = self._groups.get(raws) or self._new(raws)
        group.buckets[base] = rows
        group.bits |= 1 << base
        group.size += len(rows)
        for slot, row in enumerate(rows):
            self.group_of[row] = group
            self.base_of[row] = base
            self._slot_of[row] = slot

    def put(self, row: int, raws: Raws, base: int) -> None:
        """A row is feasible, with these scores."""
        while row >= len(self.group_of):
            self.group_of.append(None)
            self.base_of.append(0)
            self._slot_of.append(0)
        group = self.group_of[row]
        if group is not None:
            if group.raws == raws:
                if self.base_of[row] != base:
                    self._leave(group, row)
                    self._enter(group, row, base)
                return
            self.remove(row)
        group = self._groups.get(raws) or self._new(raws)
        if self._sized:
            self._rated = False
        self._enter(group, row, base)
        self.group_of[row] = group

    def remove(self, row: int) -> None:
        """A row is not feasible."""
        group = self.group_of[row] if row < len(self.group_of) else None
        if group is None:
            return
        self._leave(group, row)
        self.group_of[row] = None
        if self._sized:
            self._rated = False
        if group.size == 0:
            del self._groups[group.raws]
            self._raws, self._rated = None, False
            if self._table is not None:
                self._table.drop(group)

    def _new(self, raws: Raws) -> Group:
        """A group that a row is put into now."""
        group = self._groups[raws] = Group(raws)
        self._raws, self._rated = None, False
        if self._table is not None:
            self._table.add(group)
        return group

    def _enter(self, group: Group, row: int, base: int) -> None:
        bucket = group.buckets.get(base)
        if bucket is None:
            bucket = group.buckets[base] = []
        if not bucket:
            group.bits |= 1 << base
        self._slot_of[row] = len(bucket)
        self.base_of[row] = base
        bucket.append(row)
        group.size += 1
        if self._table is not None:
            self._table.note(group)

    def _leave(self, group: Group, row: int) -> None:
        base = self.base_of[row]
        bucket = group.buckets[base]
        last = bucket.pop()
        if last != row:
            slot = self._slot_of[row]
            bucket[slot] = last
            self._slot_of[last] = slot
        elif not bucket:
            group.bits ^= 1 << base
        group.size -= 1
        if self._table is not None:
            self._table.note(group)

    def _rate(self) -> None:
        """Works out what is added to groups. Known until the set of groups changes, at least."""
        groups = self._groups
        if self._table is not None and len(groups) < FEW_AGAIN:
            self._table = None
        elif self._table is None and len(groups) > MANY and self._columns is not None:
            self._table = GroupTable(self._columns(), groups.values())
        if self._table is not None:
            self._table.rate()
        else:
            if self._raws is None:
                self._raws = tuple(groups)
            added = self._addition(self._raws, [group.size for group in groups.values()])
            rated: Iterable[tuple[Group, Any]] = zip(groups.values(), added, strict=True)
            self._additions = [each for each in rated if each[1] is not None] if None in added else [*rated]
        self._rated = True

    def additions(self) -> list[tuple[Group, int]]:
        """Each group that is feasible with its addition."""
        if not self._rated:
            self._rate()
        return self._additions if self._table is None else self._table.rated()

    def best(self) -> tuple[int, Sequence[Sequence[int]]]:
        """The highest total, and the rows that have it in any number of parts."""
        if not self._rated:
            self._rate()
        if self._table is not None:
            return self._table.best()
        if len(self._additions) == 1:
            ((group, addition),) = self._additions
            base = group.bits.bit_length() - 1
            return base + addition, [group.buckets[base]]
        tied: list[list[int]] = []
        best = 0  # one more than the total, as bits are one more than bases
        for group, addition in self._additions:
            total = group.bits.bit_length() + addition
            if total >= best:
                if total > best:
                    best, tied = total, []
                tied.append(group.best())
        return best - 1, tied

    def feasible(self) -> int:
        """How many rows take the pod."""
        return sum([group.size for group, _ in self.additions()])

    def outdated(self) -> None:
        """What is added to groups is to be worked out anew."""
        self._rated = False

    def among(self, rows: Iterable[int]) -> list[tuple[int, Raws, int]]:
        """The feasible ones of some rows, with their groups and bases."""
        group_of, base_of = self.group_of, self.base_of
        known = len(group_of)  # a row that was never feasible may lie beyond
        found = [(row, group) for row in rows if row < known and (group := group_of[row]) is not None]
        return [(row, group.raws, base_of[row]) for row, group in found]

    def only(self, rows: Iterable[int]) -> bool:
        """Whether no row but some of these is feasible."""
        return len(self.among(rows)) == sum([group.size for group in self._groups.values()])

    @contextmanager
    def without(self, rows: Iterable[int]) -> Iterator[None]:
        """As if some rows were not feasible, for as long as it lasts."""
        hidden = self.among(rows)
        for row, _, _ in hidden:
            self.remove(row)
        try:
            yield
        finally:
            for row, raws, base in hidden:
                self.put(row, raws, base)

    def totals(self) -> Iterator[tuple[int, int]]:
        """Every feasible row with its total."""
        for group, addition in self.additions():
            for base, rows in group.buckets.items():
                for row in rows:
                    yield row, base + addition

    def check(self) -> None:
        """Asserts that groups, buckets, bits and slots agree."""
        seen = 0
        for raws, group in self._groups.items():
            assert group.raws == raws
            assert group.size
            assert group.size == sum(map(len, group.buckets.values()))
            for base, rows in group.buckets.items():
                assert bool(group.bits >> base & 1) == bool(rows)
                for slot, row in enumerate(rows):
                    assert self.group_of[row] is group
                    assert (self.base_of[row], self._slot_of[row]) == (base, slot)
            seen += group.size
        assert self._raws is None or self._raws == tuple(self._groups)
        if self._table is not None:
            self._table.check(self._groups.values())
        assert seen == sum(group is not None for group in self.group_of)
