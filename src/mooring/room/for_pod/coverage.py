"""Which budgets cover which pods, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.columns import Bools, Rows
from mooring.cluster.pods import Placed
from mooring.room.budgets import Budget, BudgetIndex
from mooring.room.for_pod.slots import PodSlots, Small

FEW = 16  # budgets; one after the other is quicker then
NONE = -1


class Coverage:
    """The budgets of a moment, matched once against each kind of pods."""

    def __init__(self, budgets: Sequence[Budget], slots: PodSlots) -> None:
        self.budgets = budgets
        self.index = BudgetIndex(budgets)
        self.keys = self.index.keys
        self._slots = slots
        self._allowed = np.array([budget.allowed for budget in budgets], np.int64)
        self._disrupted = {number: None for number, budget in enumerate(budgets) if budget.disrupted}
        self.by_kind = not self._disrupted  # what they say of a pod depends on its kind alone
        self._generation = -1
        self._all_covering: list[NDArray[np.int32]] = []  # budgets, by kind
        self._covering: list[list[int]] = []  # those of them that matter
        self._alike: NDArray[np.intp] = np.arange(0)  # a number for budgets that cover the same kinds
        self._layers: NDArray[np.int32] = np.zeros((0, 0), np.int32)

    def violating(self, kind: Small, lower: Bools, rows: Rows) -> Bools | None:
        """The pods (slots x rows) whose eviction, after that of the more important ones among `lower`,
        disrupts more than some budget allows; None when there are none."""
        if not self.budgets or not len(kind):
            return None
        self._follow()
        found = self._one_by_one if len(self.budgets) <= FEW else self._together
        beyond = found(kind, lower, rows)
        return beyond if beyond is not None and beyond.any() else None

    def violating_on(self, placed: Sequence[Placed], kinds: Sequence[int]) -> list[int]:
        """The same for pods of one node and of these kinds, the most important first: their indexes."""
        if not self.budgets:
            return []
        self._follow()
        left: dict[int, int] = {}
        covering = self._covering
        beyond: list[int] = []
        for index, kind in enumerate(kinds):
            for number in covering[kind]:
                if number in self._disrupted and placed[index].pod.name in self.budgets[number].disrupted:
                    continue
                left[number] = left.get(number, self.budgets[number].allowed) - 1
                if left[number] < 0 and (not beyond or beyond[-1] != index):
                    beyond.append(index)
        return beyond

    def _one_by_one(self, kind: Small, lower: Bools, rows: Rows) -> Bools | None:
        beyond: Bools | None = None
        counts: type[np.int8] | type[np.int32] = np.int8 if len(kind) < 128 else np.int32
        for number, budget in enumerate(self.budgets):
            if budget.allowed >= len(kind):
                continue
            covered = np.take((self._layers == number).any(axis=0), kind)
            covered &= lower
            if budget.disrupted:
                self._spare(covered, budget, rows)
            order: NDArray[np.signedinteger] = np.cumsum(covered, axis=0, dtype=counts)
            if order[-1].max(initial=0) <= budget.allowed:
                continue
            found = order > budget.allowed
            found &= covered
            beyond = found if beyond is None else np.logical_or(beyond, found, out=beyond)
        return beyond

    def _together(self, kind: Small, lower: Bools, rows: Rows) -> Bools:
        """Lists every pod with every budget that covers it, and counts within each node and budget."""
        wide, pods, budgets = len(kind), [], []
        by_row, lower_by_row = np.ascontiguousarray(kind.T), np.ascontiguousarray(lower.T)
        for layer in self._layers:
            number = np.take(layer, by_row)
            covered = (number != NONE) & lower_by_row
            for each in self._disrupted:
                mine = covered & (number == each)
                left = mine.T.copy()  # never a view, which it would be of a single node
                self._spare(left, self.budgets[each], rows)
                covered &= ~mine | left.T
            places = np.flatnonzero(covered)
            pods.append(places)
            budgets.append(number.ravel()[places])
        place, budget = np.concatenate(pods), np.concatenate(budgets).astype(np.int64)
        group = place // wide * len(self.budgets) + budget
        order = np.argsort(group * wide + place % wide)  # the more important pods of a group first
        group, place, budget = group[order], place[order], budget[order]
        index = np.arange(len(group))
        begins = np.ones(len(group), np.bool_)
        np.not_equal(group[1:], group[:-1], out=begins[1:])
        before = index - np.maximum.accumulate(np.where(begins, index, 0))  # in the same group
        beyond: Bools = np.zeros(by_row.shape, np.bool_)
        beyond.ravel()[place[before >= self._allowed[budget]]] = True
        return np.ascontiguousarray(beyond.T)

    def _follow(self) -> None:
        """Matches budgets against kinds that are new. Layer by layer: the first budget that covers each
        kind, the second, and so on."""
        kinds = self._slots.kinds
        if self._generation != kinds.generation:
            self._generation = kinds.generation
            self._all_covering = []
            self._alike = np.zeros(len(self.budgets), np.intp)
        known = len(self._all_covering)
        if known == len(kinds.all):
            return
        for kind in kinds.all[known:]:
            covering = np.array(self.index.covering(kind.namespace, kind.labels), np.int32)
            self._all_covering.append(covering)
            if len(self.budgets) > FEW:
                self._tell_apart(covering)
        matter = self._that_matter()
        self._covering = [numbers[matter[numbers]].tolist() for numbers in self._all_covering]
        depth = max(1, *map(len, self._covering))
        self._layers = np.full((depth, len(kinds.all)), NONE, np.int32)
        for index, numbers in enumerate(self._covering):
            self._layers[: len(numbers), index] = numbers

    def _tell_apart(self, covering: NDArray[np.int32]) -> None:
        """Budgets that cover one more kind are not like those that do not."""
        if len(covering):
            covers = np.zeros(len(self.budgets), np.intp)
            covers[covering] = 1
            self._alike = np.unique(2 * self._alike + covers, return_inverse=True)[1]

    def _that_matter(self) -> Bools:
        """Of budgets that cover the same pods the strictest alone does."""
        matter: Bools = np.ones(len(self.budgets), np.bool_)
        if len(self.budgets) > FEW:
            alike, apart = self._alike.copy(), list(self._disrupted)
            alike[apart] = len(alike) + np.array(apart, np.intp)  # each spares pods of its own
            strictest_first = np.lexsort((self._allowed, alike))
            alike = alike[strictest_first]
            matter[strictest_first[1:]] = alike[1:] != alike[:-1]
        return matter

    def _spare(self, covered: Bools, budget: Budget, rows: Rows) -> None:
        """Leaves out pods the budget knows to be disrupted already."""
        for column in np.flatnonzero(covered.any(axis=0)).tolist():
            row = int(rows[column])
            if budget.disrupted.isdisjoint(self._slots.names(row)):
                continue
            for slot, placed in enumerate(self._slots.placed(row)):
                if placed.pod.name in budget.disrupted:
                    covered[slot, column] = False
