"""How many PodDisruptionBudgets evicting some pods goes beyond, counted over all of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mooring.cluster.pods import Placed
from mooring.model.objects import ObjectMeta
from mooring.plugins.preemption.budgets import Budget


class Disruptions:
    """The budgets of a moment, by the pods they cover."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets
        self._known: dict[str, tuple[int, ...]] = {}
        self._keys: dict[str, set[str]] = defaultdict(set)  # labels that budgets of a namespace ask for
        self._by_label: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        self._others: dict[str, list[int]] = defaultdict(list)
        for number, budget in enumerate(budgets):
            one_of = next((r for r in budget.requirements if r.operator == "In"), None)
            if one_of is None:
                self._others[budget.namespace].append(number)
                continue
            self._keys[budget.namespace].add(one_of.key)
            for value in one_of.values:
                self._by_label[budget.namespace, one_of.key, value].append(number)

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def covering(self, placed: Placed) -> tuple[int, ...]:
        """The budgets that evicting a pod counts against."""
        meta = placed.pod.metadata
        if not meta.labels:
            return ()
        known = self._known.get(meta.uid)
        if known is None:
            known = self._known[meta.uid] = tuple(self._find(meta))
        return known

    def _find(self, meta: ObjectMeta) -> Iterator[int]:
        namespace, labels = meta.namespace, meta.labels
        numbers = list(self._others.get(namespace, ()))
        for key in self._keys.get(namespace, ()):
            if (value := labels.get(key)) is not None:
                numbers += self._by_label.get((namespace, key, value), ())
        for number in numbers:
            budget = self._budgets[number]
            if meta.name not in budget.disrupted and budget.covers(namespace, labels):
                yield number

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
