"""Which budgets cover which pods, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.columns import Bools, Rows
from mooring.plugins.preemption.budgets import Budget
from mooring.plugins.preemption.slots import PodSlots, Small


class Coverage:
    """The budgets of a moment, matched once against each kind of pods."""

    def __init__(self, budgets: Sequence[Budget], slots: PodSlots) -> None:
        self.budgets = budgets
        self.keys = tuple(sorted({r.key for budget in budgets for r in budget.requirements}))
        self._slots = slots
        self._generation = -1
        self._covers: list[Bools] = []

    def violating(self, kind: Small, lower: Bools, rows: Rows) -> Bools | None:
        """The pods (slots x rows) whose eviction, after that of the more important ones among `lower`,
        disrupts more than some budget allows; None when there are none."""
        beyond: Bools | None = None
        counts: type[np.int8] | type[np.int32] = np.int8 if len(kind) < 128 else np.int32
        for number, budget in enumerate(self.budgets):
            if budget.allowed >= len(kind):
                continue
            covered = np.take(self._covered(number), kind)
            covered &= lower
            if budget.disrupted:
                self._spare(covered, budget, rows)
            order: NDArray[np.signedinteger] = np.cumsum(covered, axis=0, dtype=counts)
            if not len(order) or order[-1].max(initial=0) <= budget.allowed:
                continue
            found = order > budget.allowed
            found &= covered
            beyond = found if beyond is None else np.logical_or(beyond, found, out=beyond)
        return beyond

    def _covered(self, number: int) -> Bools:
        """Whether a budget covers each kind."""
        kinds = self._slots.kinds
        if self._generation != kinds.generation:
            self._generation = kinds.generation
            self._covers = [np.zeros(0, np.bool_) for _ in self.budgets]
        known = self._covers[number]
        if len(known) < len(kinds.all):
            budget = self.budgets[number]
            more = [budget.covers(each.namespace, each.labels) for each in kinds.all[len(known) :]]
            known = self._covers[number] = np.concatenate([known, np.array(more, np.bool_)])
        return known

    def _spare(self, covered: Bools, budget: Budget, rows: Rows) -> None:
        """Leaves out pods the budget knows to be disrupted already."""
        for column in np.flatnonzero(covered.any(axis=0)).tolist():
            row = int(rows[column])
            if budget.disrupted.isdisjoint(self._slots.names(row)):
                continue
            for slot, placed in enumerate(self._slots.placed(row)):
                if placed.pod.name in budget.disrupted:
                    covered[slot, column] = False
