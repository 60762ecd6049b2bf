"""How many PodDisruptionBudgets evicting some pods goes beyond, counted over all of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from mooring.cluster.pods import Placed
from mooring.plugins.preemption.budgets import Budget


class Disruptions:
    """The budgets of a moment, by the pods they cover."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets
        self._by_namespace: dict[str, list[int]] = defaultdict(list)
        for number, budget in enumerate(budgets):
            self._by_namespace[budget.namespace].append(number)
        self._known: dict[str, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def covering(self, placed: Placed) -> list[int]:
        """The budgets that evicting a pod counts against."""
        meta = placed.pod.metadata
        known = self._known.get(meta.uid)
        if known is None:
            known = self._known[meta.uid] = [
                number
                for number in self._by_namespace.get(meta.namespace, ())
                if meta.name not in (budget := self._budgets[number]).disrupted
                and budget.covers(meta.namespace, meta.labels)
            ]
        return known

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
