"""The bases of many classes, kept up to date together: a row of the matrix for each class.

When a pod takes a place, one node is different to every class. Each class could look at that node by
itself when its turn comes; with a thousand classes that have their turns one after the other, each
finds a thousand changed nodes. So a changed node is evaluated at once for all classes, by plugins
that can be asked about one node for many pods (`PodColumns`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.cluster import Cluster
from mooring.cluster.column import Ints
from mooring.cluster.view import ClusterView
from mooring.engine.placement.kept import alike_rows as alike
from mooring.engine.placement.kept.alike_rows import AlikeRows
from mooring.engine.placement.kept.bases import nowhere
from mooring.engine.placement.kept.buckets import Bases
from mooring.engine.placement.kept.forms import Forms
from mooring.engine.placement.kept.static import StaticPart
from mooring.errors import PluginFailed
from mooring.framework.running.many_pods import OverPods

if TYPE_CHECKING:
    from mooring.engine.placement.kept.evaluation import KeptEvaluation

FIRST_SLOTS = 1024  # memory that nobody has written to is not taken
LINE = 64  # bytes of the processor's cache
FEWEST = 6  # members: fewer look at changed rows themselves
SPARE_PARTS = 16  # static parts nobody has any more
PAYS_FOR = 4096  # rows pushed for a member: as long as it takes to make it anew
AT_ONCE = 32  # rows are pushed while classes join and none is asked
MOST_ROWS = 64  # changed since the last time: when more are, each member looks itself


class Matrix:
    """Members all have the same plugins of row scope."""

    def __init__(
        self, cluster: Cluster, view: ClusterView, forms: Forms, kind: np.dtype[Any], fewest: int = FEWEST
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._over_pods = OverPods(forms.filters, forms.plain)
        self._alike = AlikeRows(cluster.nodes) if forms.amounts_only else None
        self._kind = kind  # of bases
        self._nowhere = nowhere(kind)
        self._fewest = fewest
        self._members: list[KeptEvaluation | None] = []
        self._free: list[int] = []
        self._pushed = 0  # rows, so far
        self._used: list[int] = []  # how many rows had been pushed when each member was last asked
        self._swept = 0  # and when all were looked at for members that are not asked any more
        self._parts: list[StaticPart] = []
        self._number: dict[StaticPart, int] = {}
        self._part_of = np.zeros(FIRST_SLOTS, np.intp)
        self._capacity = cluster.nodes.capacity
        self._base = self._room_for(FIRST_SLOTS)
        self._by_number = self._room_by_number(FIRST_SLOTS)
        self._numbers: set[int] = set()  # of which it is known what all members make of them
        self._unknown: set[int] = set()  # members, of what they make of any number
        self._generation = -1  # of numbers
        self._position = cluster.nodes.journal.position
        self.broken = False  # a plugin failed: nobody is kept up to date any more

    def __len__(self) -> int:
        return len(self._members) - len(self._free)

    def base_of(self, slot: int) -> Bases:
        return self._base[slot, : self._capacity]

    def _room_for(self, slots: int) -> Bases:
        # An odd number of lines for each: else bases of one node compete for a few lines of the cache.
        lines = -(-self._capacity * self._kind.itemsize // LINE) | 1
        return np.empty((slots, lines * LINE // self._kind.itemsize), self._kind)  # who joins fills it

    def _room_by_number(self, slots: int) -> Bases:
        return np.empty((alike.MOST, slots), self._kind)

    def join(self, member: KeptEvaluation, pod: Any) -> int | None:
        """A place for the bases of a class; None when there is none."""
        if self.broken:
            return None
        nodes = self._cluster.nodes
        # Who joins knows the nodes as they are. One after the other, rows are pushed in half the time.
        if nodes.capacity != self._capacity or nodes.journal.position - self._position >= AT_ONCE:
            self.catch_up()
        slot = self._free.pop() if self._free else len(self._members)
        if slot == len(self._members):
            if slot == len(self._base):
                self._widen(2 * slot)
            self._members.append(None)
            self._used.append(0)
        try:
            self._over_pods.put(slot, pod)
        except PluginFailed:
            self._free.append(slot)
            return None
        self._members[slot], self._used[slot] = member, self._pushed
        self._unknown.add(slot)
        if len(self._parts) > 2 * len(self) + SPARE_PARTS:
            self._forget_parts()
        self._part_of[slot] = self._numbered(member.static)
        return slot

    def _numbered(self, part: StaticPart) -> int:
        number = self._number.get(part)
        if number is None:
            number = self._number[part] = len(self._parts)
            self._parts.append(part)
        return number

    def alike(self) -> AlikeRows | None:
        """The numbers of rows, up to date; None where they are of no use."""
        known = self._alike
        return known if known is not None and len(self) >= self._fewest and known.follow() else None

    def know(self, slot: int, found: Bases) -> None:
        """What the plugins say of each number for a member."""
        self._by_number[: len(found), slot] = found
        self._unknown.discard(slot)

    def leave(self, slot: int) -> None:
        self._members[slot] = None
        self._free.append(slot)
        self._unknown.discard(slot)

    def catch_up(self, slot: int | None = None) -> None:
        """Takes in the rows that changed since the last time, for all members. One of them is being asked."""
        nodes = self._cluster.nodes
        if nodes.capacity != self._capacity:
            self._start_over()
            return
        position = nodes.journal.position
        if position == self._position:
            return
        if slot is not None:
            self._used[slot] = self._pushed
        rows = nodes.journal.since(self._position)
        distinct = set(rows) if rows is not None else ()
        if rows is None or len(distinct) > MOST_ROWS or len(self) < self._fewest or self.broken:
            self._let_go()
        else:
            try:
                numbers = self.alike()
                for row in distinct:
                    self._push(row, numbers)
            except PluginFailed:
                self.broken = True
                self._let_go()
                raise
        self._position = position
        self._pushed += len(distinct)
        if self._pushed - self._swept > PAYS_FOR // 2:
            self._drop_idle()

    def _drop_idle(self) -> None:
        """Members that have cost more since they were last asked than it costs to make them anew."""
        self._swept = self._pushed
        for member, used in zip(self._members, self._used, strict=True):
            if member is not None and self._pushed - used > PAYS_FOR:
                member.start_over()

    def _let_go(self) -> None:
        for member in self._members:
            if member is not None:
                member.fall_behind(self._position)

    def _start_over(self) -> None:
        """The table of nodes has more room now: all places are given up."""
        nodes = self._cluster.nodes
        for member in self._members:
            if member is not None:
                member.start_over()
        self._capacity, self._position = nodes.capacity, nodes.journal.position
        self._base = self._room_for(len(self._base))

    def _push(self, row: int, numbers: AlikeRows | None) -> None:
        """Evaluates one row for every member."""
        slots = len(self._members)
        nowhere, kind = self._nowhere, self._kind.type
        floors = [
            max(part.base_at[row], nowhere) if row < len(part.base) else nowhere for part in self._parts
        ]
        new: NDArray[Any]
        if max(floors) < 0:
            new = np.full(slots, nowhere, self._kind)
        else:
            new = self._asked(row, slots) if numbers is None else self._known(row, slots, numbers)
            if len(floors) > 1:
                floor = np.array(floors, self._kind).take(self._part_of[:slots])
                new = np.where((new >= 0) & (floor >= 0), new + floor, kind(nowhere))
            elif floors[0]:
                new = np.where(new >= 0, new + kind(floors[0]), kind(nowhere))
        column = self._base[:slots, row]
        flipped = ((column < 0) != (new < 0)).nonzero()[0]
        column[:] = new
        for slot in flipped.tolist() if len(flipped) else ():
            if (member := self._members[slot]) is not None:
                member.flipped(row)

    def _known(self, row: int, slots: int, numbers: AlikeRows) -> Bases:
        """What the plugins say of a row for every member: as of any row with the same number."""
        if self._unknown or self._generation != numbers.generation:
            self._forget_numbers(numbers.generation)
        number = numbers.number_at[row]
        known = self._by_number[number, :slots]
        if number not in self._numbers:
            known[:] = self._asked(row, slots)
            self._numbers.add(number)
        return known

    def _asked(self, row: int, slots: int) -> Ints:
        """The score of a row for every member; `nowhere` where it does not pass."""
        ok, scores = self._over_pods.ask(self._view.view(row), slots)
        found: Ints = scores - self._nowhere
        found *= ok  # quicker than `np.where`
        found += self._nowhere
        return found

    def _forget_numbers(self, generation: int = -1) -> None:
        self._generation = generation
        self._numbers.clear()
        self._unknown.clear()

    def _widen(self, slots: int) -> None:
        wider = self._room_for(slots)
        wider[: len(self._members)] = self._base[: len(self._members)]
        self._base = wider
        part_of = np.zeros(slots, np.intp)
        part_of[: len(self._part_of)] = self._part_of
        self._part_of = part_of
        self._by_number = self._room_by_number(slots)
        self._forget_numbers()
        for slot, member in enumerate(self._members):
            if member is not None:
                member.moved(self.base_of(slot))

    def _forget_parts(self) -> None:
        """Static parts nobody has any more."""
        self._parts, self._number = [], {}
        for slot, member in enumerate(self._members):
            self._part_of[slot] = 0 if member is None else self._numbered(member.static)

    def check(self) -> None:
        """Asserts that places, members and their static parts agree."""
        if self._alike is not None:
            self._alike.check()
        assert len(self._base) == len(self._part_of) == self._by_number.shape[1]
        assert self._base.shape[1] >= self._capacity
        assert len(self._free) == len(set(self._free)) == self._members.count(None)
        assert len(self._used) == len(self._members)
        for slot, member in enumerate(self._members):
            if member is not None:
                assert member.slot == slot
                assert self._parts[self._part_of[slot]] is member.static
