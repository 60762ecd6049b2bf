"""What preemption on many nodes would come to at once, when only free resources decide.

The same steps as on one node, taken slot by slot over all nodes: everybody less important goes, then
those the pod leaves room for come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mooring.cluster.columns import Bools, Rows
from mooring.cluster.nodes import Ints
from mooring.framework.trial import Amounts
from mooring.model.objects import Pod
from mooring.model.requests import Request
from mooring.plugins.node_resources_fit.plugin import INSUFFICIENT, TOO_MANY_PODS
from mooring.plugins.preemption.choice import PRIORITY_OFFSET
from mooring.plugins.preemption.coverage import Coverage
from mooring.plugins.preemption.importance import NOT_STARTED
from mooring.plugins.preemption.slots import PodSlots

Ahead = Mapping[int, Sequence[Request]]  # by row: pods that are to come there first
Room = tuple[Ints, Ints]  # of one resource: what is left on each row, and what each slot would take


class Sweep:
    """One pod on some rows, after every less important pod has gone."""

    def __init__(
        self,
        slots: PodSlots,
        rows: Rows,
        pod: Pod,
        amounts: Amounts,
        ahead: Ahead,
        coverage: Coverage,
    ) -> None:
        nodes = slots.nodes
        self.rows = rows
        self._ahead = (
            [(i, ahead[row]) for i, row in enumerate(rows.tolist()) if row in ahead] if ahead else []
        )
        self._slots = slots.gather(rows, coverage.keys)
        self._coverage = coverage
        self._lower: Bools = self._slots.priority < pod.priority
        self.has_victims: Bools = np.asarray(self._lower.any(axis=0))
        self._names = [name for name, _ in amounts]
        self._rooms = [self._room(slots, name, amount) for name, amount in amounts]
        gone = self._lower.sum(axis=0)
        self._pods: Ints = nodes.max_pods.array[rows] - nodes.pods.array[rows] - 1 + gone
        self._take_ahead(self._pods, lambda request: 1)
        fits = self._pods >= 0
        for left, _ in self._rooms:
            fits &= left >= 0
        self.fits: Bools = fits & self.has_victims

    def reasons(self, among: Bools) -> Counter[str]:
        """Why nodes have too little even without their less important pods: how many give each reason."""
        short = among & self.has_victims
        found = Counter({TOO_MANY_PODS: int((short & (self._pods < 0)).sum())})
        for name, (left, _) in zip(self._names, self._rooms, strict=True):
            found[INSUFFICIENT.format(name)] += int((short & (left < 0)).sum())
        return found

    def reprieve(self, among: Bools) -> Outcome:
        """Lets back whom there is room for, on rows that fit."""
        there = self._lower & among
        beyond = self._coverage.violating(self._slots.labels, self._lower, self.rows)
        victims: Bools = np.zeros(there.shape, np.bool_)
        violations: Ints = np.zeros(len(self.rows), np.int64)
        if beyond is not None:
            self._let_back(there & beyond, victims)
            violations = victims.sum(axis=0)
            there &= ~beyond
        self._let_back(there, victims)
        return Outcome(self._slots.priority, self._slots.start_us, victims, violations)

    def _let_back(self, asked: Bools, victims: Bools) -> None:
        for slot in np.flatnonzero(asked.any(axis=1)).tolist():
            stays = asked[slot] & (self._pods > 0)
            for left, sizes in self._rooms:
                stays &= left >= sizes[slot]
            for left, sizes in self._rooms:
                left -= sizes[slot] * stays
            self._pods -= stays
            victims[slot] |= asked[slot] & ~stays

    def _room(self, slots: PodSlots, name: str, amount: int) -> Room:
        columns = slots.nodes.resources[slots.nodes.resource(name)]
        sizes: Ints = np.take(slots.amounts(name), self._slots.charge) * self._lower
        left: Ints = columns.allocatable.array[self.rows] - columns.requested.array[self.rows] - amount
        left += sizes.sum(axis=0)
        self._take_ahead(left, lambda request: request.amount(name))
        return left, sizes

    def _take_ahead(self, left: Ints, amount: Callable[[Request], int]) -> None:
        """Pods that are to come first take what they need."""
        for index, requests in self._ahead:
            left[index] -= sum(map(amount, requests))


class Outcome:
    """The victims on each row, and the rows in order of preference."""

    def __init__(self, priority: Ints, start_us: Ints, victims: Bools, violations: Ints) -> None:
        self.victims = victims
        self.violations = violations
        self.count: Ints = victims.sum(axis=0)
        self._priority = priority
        self._start_us = start_us

    def best(self, among: Bools) -> int:
        """The index of the best of some rows; each of them must have a victim."""
        chosen = np.flatnonzero(among)
        chosen = _least(chosen, self.violations[chosen])
        victims, priority = self.victims[:, chosen], self._priority[:, chosen]
        columns = np.arange(len(chosen))
        highest = priority[victims.argmax(axis=0), columns]  # the first victim is the most important
        left = np.flatnonzero(highest == highest.min())
        total = np.where(victims[:, left], priority[:, left] + PRIORITY_OFFSET, 0).sum(axis=0)
        left = _least(left, total)
        left = _least(left, self.count[chosen[left]])
        of_highest = victims[:, left] & (priority[:, left] == highest[left])
        earliest = np.where(of_highest, self._start_us[:, chosen[left]], NOT_STARTED + 1).min(axis=0)
        return int(chosen[_least(left, -earliest)[0]])


def _least(indexes: Rows, values: Ints) -> Rows:
    """Those of the least value, in their order."""
    return np.asarray(indexes[values == values.min()])
