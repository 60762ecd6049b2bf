"""Which budgets cover which pods, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.cluster.columns import Bools, Rows
from mooring.plugins.preemption.budgets import Budget
from mooring.plugins.preemption.slots import PodSlots, Small


class Coverage:
    """The budgets of a moment, matched once against each set of labels."""

    def __init__(self, budgets: Sequence[Budget], slots: PodSlots) -> None:
        self.budgets = budgets
        self.keys = tuple(sorted({r.key for budget in budgets for r in budget.requirements}))
        self._slots = slots
        self._generation = slots.generation
        self._covers: list[Bools] = [np.zeros(0, np.bool_) for _ in budgets]

    def violating(self, labels: Small, lower: Bools, rows: Rows) -> Bools | None:
        """The pods (slots x rows) whose eviction, after that of the more important ones among `lower`,
        disrupts more than some budget allows; None when there are none."""
        beyond: Bools | None = None
        for number, budget in enumerate(self.budgets):
            if budget.allowed >= len(labels):
                continue
            covered = np.take(self._covered(number), labels) & lower
            if budget.disrupted:
                self._spare(covered, budget, rows)
            if not covered.any():
                continue
            order = np.cumsum(covered, axis=0, dtype=np.int16)
            found = covered & (order > budget.allowed)
            beyond = found if beyond is None else beyond | found
        return beyond if beyond is not None and beyond.any() else None

    def _covered(self, number: int) -> Bools:
        """Whether a budget covers each set of labels."""
        if self._generation != self._slots.generation:
            self._generation = self._slots.generation
            self._covers = [np.zeros(0, np.bool_) for _ in self.budgets]
        known, sets = self._covers[number], self._slots.label_sets
        if len(known) < len(sets):
            budget = self.budgets[number]
            more = [budget.covers(each.namespace, each.labels) for each in sets[len(known) :]]
            known = self._covers[number] = np.concatenate([known, np.array(more, np.bool_)])
        return known

    def _spare(self, covered: Bools, budget: Budget, rows: Rows) -> None:
        """Leaves out pods the budget knows to be disrupted already."""
        for column in np.flatnonzero(covered.any(axis=0)).tolist():
            placed = self._slots.placed(int(rows[column]))
            for slot in np.flatnonzero(covered[:, column]).tolist():
                if placed[slot].pod.name in budget.disrupted:
                    covered[slot, column] = False
