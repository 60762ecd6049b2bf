"""The feasible nodes of a class, sorted so that the best is found without looking at the others.

total(node) = base(node) + G(group(node)): the base is what is scored as it is; the group is the tuple
of raw scores that are normalised over the feasible nodes. Nodes of a group share one addition G,
worked out once per group. Within a group, nodes lie in buckets by base score, and a bit per bucket in
a Python integer tells which are not empty. Moving a node and finding the top bucket cost O(1).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mooring.engine.kept.coding import Codes

Bases = NDArray[np.int32]
Raws = tuple[Hashable, ...]  # raw scores, then keys of topology domains
# What is added to the base score in each group, given its raw scores and size; None: it is not feasible.
Addition = Callable[[list[Raws], list[int]], list[int | None]]


class Group:
    """Nodes of equal raw scores, in buckets by base score."""

    __slots__ = ("bits", "buckets", "raws", "size")

    def __init__(self, raws: Raws) -> None:
        self.raws = raws
        self.size = 0
        self.buckets: dict[int, list[int]] = {}
        self.bits = 0


class Buckets:
    """Every feasible row is in one bucket of one group."""

    def __init__(self, rows: int, addition: Addition, *, sized: bool = False) -> None:
        self._addition = addition
        self._sized = sized  # additions depend on how many rows the groups have
        self.group_of: list[Group | None] = [None] * rows
        self.base_of = [0] * rows
        self._slot_of = [0] * rows
        self._groups: dict[Raws, Group] = {}
        self._additions: list[tuple[Group, int]] | None = None  # of the groups that are not empty

    @classmethod
    def of(
        cls, base: Bases, codes: Codes, groups: Sequence[Raws], addition: Addition, *, sized: bool = False
    ) -> Self:
        """The rows of arrays: the base of each, negative when it is not feasible, and the number of its
        group."""
        made = cls(len(base), addition, sized=sized)
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
        group = self._groups.get(raws)
        if group is None:
            group = self._groups[raws] = Group(raws)
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
        group = self._groups.get(raws)
        if group is None:
            group = self._groups[raws] = Group(raws)
        if group.size == 0 or self._sized:
            self._additions = None
        self._enter(group, row, base)
        self.group_of[row] = group

    def remove(self, row: int) -> None:
        """A row is not feasible."""
        group = self.group_of[row] if row < len(self.group_of) else None
        if group is None:
            return
        self._leave(group, row)
        self.group_of[row] = None
        if group.size == 0:
            del self._groups[group.raws]
            self._additions = None
        elif self._sized:
            self._additions = None

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

    def additions(self) -> list[tuple[Group, int]]:
        """Each group that is feasible with its addition; known until the set of groups changes."""
        if self._additions is None:
            groups = [group for group in self._groups.values() if group.size]
            additions = self._addition([g.raws for g in groups], [g.size for g in groups])
            rated = zip(groups, additions, strict=True)
            self._additions = [(group, addition) for group, addition in rated if addition is not None]
        return self._additions

    def best(self) -> tuple[int, list[list[int]]]:
        """The highest total, and the buckets whose rows have it."""
        best, tied = -1, []
        for group, addition in self._additions if self._additions is not None else self.additions():
            base = group.bits.bit_length() - 1
            total = base + addition
            if total > best:
                best, tied = total, [group.buckets[base]]
            elif total == best:
                tied.append(group.buckets[base])
        return best, tied

    def feasible(self) -> int:
        """How many rows take the pod."""
        return sum(group.size for group, _ in self.additions())

    def outdated(self) -> None:
        """What is added to groups is to be worked out anew."""
        self._additions = None

    def among(self, rows: Iterable[int]) -> list[tuple[int, Raws, int]]:
        """The feasible ones of some rows, with their groups and bases."""
        group_of, base_of = self.group_of, self.base_of
        known = len(group_of)  # a row that was never feasible may lie beyond
        found = [(row, group) for row in rows if row < known and (group := group_of[row]) is not None]
        return [(row, group.raws, base_of[row]) for row, group in found]

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
            assert group.size == sum(map(len, group.buckets.values()))
            for base, rows in group.buckets.items():
                assert bool(group.bits >> base & 1) == bool(rows)
                for slot, row in enumerate(rows):
                    assert self.group_of[row] is group
                    assert (self.base_of[row], self._slot_of[row]) == (base, slot)
            seen += group.size
        assert seen == sum(group is not None for group in self.group_of)
