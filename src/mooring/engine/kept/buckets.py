"""The feasible nodes of a class, sorted so that the best is found without looking at the others.

total(node) = base(node) + G(group(node)): the base is what is scored as it is; the group is the tuple
of raw scores that are normalised over the feasible nodes. Nodes of a group share one addition G,
worked out once per group. Within a group, nodes lie in buckets by base score, and a bit per bucket in
a Python integer tells which are not empty. Moving a node and finding the top bucket cost O(1).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager

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

    def __init__(self, rows: int, addition: Addition, *, volatile: bool = False) -> None:
        self._addition = addition
        self._volatile = volatile  # additions change also while groups do not: counts in topology domains
        self.group_of: list[Group | None] = [None] * rows
        self.base_of = [0] * rows
        self._slot_of = [0] * rows
        self._groups: dict[Raws, Group] = {}
        self._additions: list[tuple[Group, int]] | None = None  # of the groups that are not empty

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
        if group.size == 0:
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
        if self._additions is None or self._volatile:
            groups = [group for group in self._groups.values() if group.size]
            additions = self._addition([g.raws for g in groups], [g.size for g in groups])
            rated = zip(groups, additions, strict=True)
            self._additions = [(group, addition) for group, addition in rated if addition is not None]
        return self._additions

    def best(self) -> tuple[int, list[list[int]]]:
        """The highest total, and the buckets whose rows have it."""
        best, tied = -1, []
        for group, addition in self.additions():
            base = group.bits.bit_length() - 1
            total = base + addition
            if total > best:
                best, tied = total, [group.buckets[base]]
            elif total == best:
                tied.append(group.buckets[base])
        return best, tied

    @contextmanager
    def without(self, rows: Iterable[int]) -> Iterator[None]:
        """As if some rows were not feasible, for as long as it lasts."""
        known = len(self.group_of)  # a row that was never feasible may lie beyond
        feasible = [(row, group) for row in rows if row < known and (group := self.group_of[row]) is not None]
        hidden = [(row, group.raws, self.base_of[row]) for row, group in feasible]
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
