"""How many PodDisruptionBudgets evicting some pods goes beyond, counted over all of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mooring.cluster.pods import Placed
from mooring.room.budgets import BudgetIndex


class Disruptions:
    """The budgets of a moment, by the pods they cover."""

    def __init__(self, index: BudgetIndex) -> None:
        self._index = index
        self._budgets = index.budgets
        self._known: dict[str, tuple[int, ...]] = {}
        self._by_labels: dict[tuple[object, ...], list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def covering(self, placed: Placed) -> tuple[int, ...]:
        """The budgets that evicting a pod counts against."""
        meta = placed.pod.metadata
        if not meta.labels:
            return ()
        known = self._known.get(meta.uid)
        if known is None:
            key = (meta.namespace, *meta.labels.items())
            numbers = self._by_labels.get(key)
            if numbers is None:
                numbers = self._by_labels[key] = self._index.covering(meta.namespace, meta.labels)
            known = tuple(n for n in numbers if meta.name not in self._budgets[n].disrupted)
            self._known[meta.uid] = known
        return known

    def is_one_too_many(self, placed: Placed) -> bool:
        """Whether evicting a pod alone goes beyond a budget."""
        return any(self._budgets[number].allowed < 1 for number in self.covering(placed))

    def beyond(self, pods: Iterable[Placed]) -> list[bool]:
        """For each of the pods: whether evicting it after those before it is one too many for a budget."""
        count = Count(self)
        return [count.adds(placed) for placed in pods]

    def violations(self, pods: Iterable[Placed]) -> int:
        return sum(self.beyond(pods))

    def allowed(self, number: int) -> int:
        return self._budgets[number].allowed


class Count:
    """Counts evictions one after the other."""

    def __init__(self, disruptions: Disruptions) -> None:
        self._disruptions = disruptions
        self._used: dict[int, int] = defaultdict(int)

    def adds(self, placed: Placed) -> bool:
        """Counts a pod. True: it is one too many."""
        beyond = False
        for number in self._disruptions.covering(placed):
            self._used[number] += 1
            beyond |= self._used[number] > self._disruptions.allowed(number)
        return beyond

    def would_break(self, placed: Placed) -> bool:
        """Whether one more pod is one too many."""
        return any(
            self._used[number] >= self._disruptions.allowed(number)
            for number in self._disruptions.covering(placed)
        )
