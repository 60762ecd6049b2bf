"""What preemption would come to on each node, for one need: kept, and worked out again where pods changed.

Preemptors come in numbers and are alike. The first pays for the nodes it looks at, those after it for
the nodes that changed since.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, Rows
from mooring.framework.api.capacity import INSUFFICIENT, TOO_MANY_PODS
from mooring.room.choice import PRIORITY_OFFSET, Candidate
from mooring.room.for_pod.coverage import Coverage
from mooring.room.for_pod.single_row import Left, Single, SingleRows
from mooring.room.for_pod.slots import AT_ONCE, PodSlots
from mooring.room.for_pod.sweep import Ahead, Need, Outcome, sweep

NEEDS_KNOWN = 32
FEW = 8  # rows; one after the other is quicker then
PRIORITY_BITS = 32
COUNT_BITS = 15  # of victims: far more than a node takes


class Prospects:
    """One need, on every row that was looked at."""

    def __init__(self, slots: PodSlots, need: Need, coverage: Coverage) -> None:
        self._slots = slots
        self._need = need
        self._coverage = coverage
        self._single = SingleRows(slots, need, coverage)
        self._position = -1
        self._generation = -1
        self._known: Bools = np.zeros(0, np.bool_)
        self._victims: NDArray[np.uint8] = np.zeros((0, 0), np.uint8)  # a bit for each slot
        self._ahead: Ahead = {}  # as of the last time

    def look_at(self, rows: Rows, ahead: Ahead) -> None:
        """Works out what is not known of these rows."""
        self._follow()
        self._follow_nominations(ahead)
        unknown = rows[~self._known[rows]]
        if len(unknown) <= FEW:
            for row in unknown.tolist():
                single, earliest_us = self._single.on(row, ahead.get(row, ()))
                self._write(row, single, earliest_us, single.victims)
            return
        for start in range(0, len(unknown), AT_ONCE):
            part = unknown[start : start + AT_ONCE]
            outcome = sweep(self._slots, part, self._need, ahead, self._coverage)
            self._write(part, outcome, outcome.earliest_us, np.packbits(outcome.victims, axis=0))

    def among_others(self, rows: Rows) -> Bools:
        """Which of the rows others are to come to first."""
        among: Bools = np.zeros(len(self._known), np.bool_)
        among[list(self._ahead)] = True
        return among[rows]

    def left(self, row: int) -> Left:
        """What is left on a row when the pod is there and those ahead of it have come."""
        return self._single.left(row, self._ahead.get(row, ()))

    def reasons(self, rows: Rows) -> Counter[str]:
        """Why there is too little on rows even without their less important pods."""
        short = self.short[rows]
        found = Counter({TOO_MANY_PODS: int((short & 1).sum())})
        for number, (name, _) in enumerate(self._need.amounts, 1):
            found[INSUFFICIENT.format(name)] += int((short >> number & 1).sum())
        return found

    def best(self, rows: Rows) -> int:
        """The best of some rows, each with victims; the first of those that are alike."""
        for values in (self._harm, self._loss):
            found = values.take(rows)
            rows = rows[found == found[found.argmin()]]  # quicker than `min`
            if len(rows) == 1:
                break
        return int(rows[self._earliest_us.take(rows).argmax()])

    def candidate(self, row: int) -> Candidate:
        placed = self._slots.placed(row)
        slots = np.unpackbits(self._victims[:, row]).nonzero()[0].tolist()
        return Candidate(row, tuple([placed[slot] for slot in slots]), int(self.violations[row]))

    def _follow(self) -> None:
        """Forgets rows that changed."""
        nodes = self._slots.nodes
        journal = nodes.journal
        changed = journal.since(self._position) if self._position >= 0 else None
        self._position = journal.position
        if len(self._known) < nodes.capacity or self._generation != self._slots.kinds.generation:
            self._generation = self._slots.kinds.generation
            self._make(nodes.capacity)
        elif changed is None:
            self._known[:] = False
        elif changed:
            self._known[list(set(changed))] = False

    def _follow_nominations(self, ahead: Ahead) -> None:
        """Forgets rows to which other pods than before are to come first."""
        before = self._ahead
        if not before and not ahead:
            return
        other = [row for row, pods in ahead.items() if before.get(row) is not pods]
        self._known[other] = False
        self._known[[row for row in before if row not in ahead]] = False
        self._ahead = ahead

    def _make(self, capacity: int) -> None:
        self._known = np.zeros(capacity, np.bool_)
        self._victims = np.zeros((0, capacity), np.uint8)
        self.has_victims: Bools = np.zeros(capacity, np.bool_)
        self.helps: Bools = np.zeros(capacity, np.bool_)  # there are victims, and without them is room
        self.short: Ints = np.zeros(capacity, np.int64)
        self.violations: Ints = np.zeros(capacity, np.int64)
        self.count: Ints = np.zeros(capacity, np.int64)
        # What makes one row better than another, in as few numbers as it fits into: less is better.
        self._harm: Ints = np.zeros(capacity, np.int64)  # violations, then the highest priority
        self._loss: Ints = np.zeros(capacity, np.int64)  # all priorities, then victims
        self._earliest_us: Ints = np.zeros(capacity, np.int64)

    def _write(
        self, rows: Rows | int, outcome: Outcome | Single, earliest_us: Ints | int, bits: NDArray[np.uint8]
    ) -> None:
        self.has_victims[rows] = outcome.has_victims
        self.helps[rows] = outcome.count > 0
        self.short[rows] = outcome.short
        self.violations[rows] = outcome.violations
        self.count[rows] = outcome.count
        self._harm[rows] = (outcome.violations << PRIORITY_BITS) + outcome.highest + PRIORITY_OFFSET
        self._loss[rows] = (outcome.total << COUNT_BITS) + outcome.count
        self._earliest_us[rows] = earliest_us
        self._widen(len(bits))
        self._victims[:, rows] = 0
        self._victims[: len(bits), rows] = bits
        self._known[rows] = True

    def _widen(self, wide: int) -> None:
        """Makes room for so many eights of slots."""
        if wide > len(self._victims):
            wider = np.zeros((wide, self._victims.shape[1]), np.uint8)
            wider[: len(self._victims)] = self._victims
            self._victims = wider


class KnownProspects:
    """The prospects of the last needs there were."""

    def __init__(self, slots: PodSlots) -> None:
        self._slots = slots
        self._known: OrderedDict[Need, Prospects] = OrderedDict()
        self._coverage: Coverage | None = None

    def of(self, need: Need, coverage: Coverage) -> Prospects:
        if coverage is not self._coverage:
            self._coverage = coverage
            self._known.clear()
        found = self._known.get(need)
        if found is None:
            found = self._known[need] = Prospects(self._slots, need, coverage)
            if len(self._known) > NEEDS_KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(need)
        return found
