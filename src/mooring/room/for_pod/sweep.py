"""What preemption on many nodes would come to at once, when only free resources decide.

The same steps as on one node, taken slot by slot over all nodes: everybody less important goes, then
those the pod leaves room for come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, Rows
from mooring.framework.api.node_trial import Amounts
from mooring.model.objects import Pod
from mooring.model.requests import Request
from mooring.room.choice import PRIORITY_OFFSET
from mooring.room.for_pod.coverage import Coverage
from mooring.room.for_pod.slots import PodSlots

Ahead = Mapping[int, tuple[Pod, ...]]  # by row: pods that are to come there first
Room = tuple[Ints, Ints]  # of one resource: what is left on each row, and what each slot would take


class Need(msgspec.Struct, frozen=True):
    """What a pod needs, and whom it may evict."""

    priority: int
    amounts: Amounts


class Outcome(msgspec.Struct, frozen=True):
    """What it comes to on each row. Of a row without room, `short` says of what: a bit for pods, then one
    for each of the amounts; the other arrays mean nothing there."""

    has_victims: Bools
    short: Ints
    victims: Bools  # slots x rows
    violations: Ints
    count: Ints
    highest: Ints  # priority
    total: Ints  # of priorities, each counted from the lowest there can be
    earliest_us: Ints  # when the first of the victims of the highest priority started


def sweep(slots: PodSlots, rows: Rows, need: Need, ahead: Ahead, coverage: Coverage) -> Outcome:
    """One pod on some rows."""
    return _Sweep(slots, rows, need, ahead, coverage).outcome()


class _Sweep:
    """One pod on some rows, after every less important pod has gone."""

    def __init__(self, slots: PodSlots, rows: Rows, need: Need, ahead: Ahead, coverage: Coverage) -> None:
        nodes, kinds = slots.nodes, slots.kinds
        self._rows = rows
        self._ahead = (
            [(i, slots.absent(ahead[row])) for i, row in enumerate(rows.tolist()) if row in ahead]
            if ahead
            else []
        )
        there = slots.gather(rows)
        self._kind, self._start_us = there.kind, there.start_us
        self._coverage = coverage
        self._priority: Ints = np.take(kinds.priority, self._kind)
        self._lower: Bools = self._priority < need.priority
        gone = np.count_nonzero(self._lower, axis=0)
        self._has_victims: Bools = gone > 0
        self._pods: Ints = nodes.max_pods.array[rows] - nodes.pods.array[rows] - 1 + gone
        self._take_ahead(self._pods, lambda request: 1)
        self._rooms = [self._room(slots, name, amount) for name, amount in need.amounts]

    def outcome(self) -> Outcome:
        short: Ints = (self._pods < 0).astype(np.int64)
        for number, (left, _) in enumerate(self._rooms, 1):
            short |= (left < 0).astype(np.int64) << number
        there = self._lower & (short == 0)
        victims: Bools = np.zeros(there.shape, np.bool_)
        violations: Ints = np.zeros(len(self._rows), np.int64)
        self._forget_plenty(there)
        beyond = self._coverage.violating(self._kind, self._lower, self._rows)
        if beyond is not None:
            self._let_back(there & beyond, victims)
            violations = np.count_nonzero(victims, axis=0)
            there &= ~beyond
        self._let_back(there, victims)
        count: Ints = np.count_nonzero(victims, axis=0)
        if not len(victims):
            return Outcome(self._has_victims, short, victims, violations, count, count, count, count)
        # The first victim is the most important: of the highest priority, and of those it started first.
        first = victims.argmax(axis=0), np.arange(len(self._rows))
        highest, earliest = self._priority[first], self._start_us[first]
        total = (self._priority * victims).sum(axis=0) + PRIORITY_OFFSET * count
        return Outcome(self._has_victims, short, victims, violations, count, highest, total, earliest)

    def _forget_plenty(self, there: Bools) -> None:
        """Leaves out what there is enough of for everybody to come back."""
        pods = self._pods - np.count_nonzero(there, axis=0)
        self._rooms = [(left, sizes) for left, sizes in self._rooms if _scarce(left, sizes, there)]
        if (pods < 0).any():
            self._rooms.append((self._pods, there.astype(np.int64)))

    def _let_back(self, asked: Bools, victims: Bools) -> None:
        for slot in np.flatnonzero(asked.any(axis=1)).tolist():
            wanted = asked[slot]
            stays = wanted
            for left, sizes in self._rooms:
                stays = stays & (left >= sizes[slot])
            for left, sizes in self._rooms:
                left -= sizes[slot] * stays
            victims[slot] |= wanted > stays

    def _room(self, slots: PodSlots, name: str, amount: int) -> Room:
        columns = slots.nodes.of_resource(name)
        sizes: Ints = np.take(slots.kinds.amounts(name), self._kind)
        sizes *= self._lower
        left: Ints = columns.allocatable.array[self._rows] - columns.requested.array[self._rows] - amount
        left += sizes.sum(axis=0)
        self._take_ahead(left, lambda request: request.amount(name))
        return left, sizes

    def _take_ahead(self, left: Ints, amount: Callable[[Request], int]) -> None:
        """Pods that are to come first take what they need."""
        for index, requests in self._ahead:
            left[index] -= sum(map(amount, requests))


def _scarce(left: Ints, sizes: Ints, there: Bools) -> bool:
    """Whether some row has less than what those who are to come back take."""
    return bool((left < (sizes * there).sum(axis=0)).any())
