"""PodDisruptionBudgets: which victims go beyond what may be disrupted.

Budgets rank candidates, they do not forbid: a node where they hold is preferred.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from mooring.framework.api.handle import Lister
from mooring.model.objects import LabelSelector, Object
from mooring.model.plain import part, read
from mooring.model.selectors import LabelConditions, Requirement, SelectorError, label_requirements

KIND = "PodDisruptionBudget"


class Budget(msgspec.Struct, frozen=True, dict=True):
    """How many more of the pods it covers may be disrupted, besides those that are being already."""

    namespace: str
    requirements: tuple[Requirement, ...]
    allowed: int
    disrupted: frozenset[str]  # names of pods

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return namespace == self.namespace and bool(labels) and self.conditions.match(labels)

    @cached_property
    def conditions(self) -> LabelConditions:
        return LabelConditions(self.requirements)


class DisruptionBudgets:
    """The budgets there are. One that changes is read again, and only that one."""

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._version = -1
        self._read: dict[str, tuple[Object, Budget | None]] = {}
        self._budgets: tuple[Budget, ...] = ()

    def now(self) -> tuple[Budget, ...]:
        """The same tuple as long as no budget changes."""
        if self._lister.version != self._version:
            self._version = self._lister.version
            self._read = {found.key: self._once(found) for found in self._lister}
            budgets = tuple(budget for _, budget in self._read.values() if budget is not None)
            if budgets != self._budgets:
                self._budgets = budgets
        return self._budgets

    def seen(self, found: Object | None) -> None:
        """A budget came or changed: it is read now, so that many are not read in one go."""
        if found is not None and found.kind == KIND:
            self._read[found.key] = self._once(found)

    def _once(self, found: Object) -> tuple[Object, Budget | None]:
        known = self._read.get(found.key)
        return known if known is not None and known[0] is found else (found, read_budget(found))


class BudgetIndex:
    """Finds the budgets that cover a pod without asking all of them. `keys` are labels that matter to any."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self.budgets = budgets
        self.keys = tuple(sorted({r.key for budget in budgets for r in budget.requirements}))
        self._keys: dict[str, set[str]] = defaultdict(set)  # by namespace: those that tell budgets apart
        self._by_label: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        self._others: dict[str, list[int]] = defaultdict(list)  # by namespace
        for number, budget in enumerate(budgets):
            one_of = next((r for r in budget.requirements if r.operator == "In"), None)
            if one_of is None:
                self._others[budget.namespace].append(number)
                continue
            self._keys[budget.namespace].add(one_of.key)
            for value in one_of.values:
                self._by_label[budget.namespace, one_of.key, value].append(number)

    def covering(self, namespace: str, labels: Mapping[str, str]) -> list[int]:
        found = list(self._others.get(namespace, ()))
        for key in self._keys.get(namespace, ()):
            if (value := labels.get(key)) is not None:
                found += self._by_label.get((namespace, key, value), ())
        return [number for number in found if self.budgets[number].covers(namespace, labels)]


def read_budget(found: Object) -> Budget | None:
    """A budget that covers any pod at all; None when its selector is empty or cannot be read."""
    spec, status = part(found.data, "spec"), part(found.data, "status")
    try:
        requirements = label_requirements(
            read(spec["selector"], LabelSelector) if spec.get("selector") is not None else None
        )
    except (msgspec.ValidationError, SelectorError):
        return None
    if not requirements:
        return None
    allowed = status.get("disruptionsAllowed")
    return Budget(
        found.metadata.namespace,
        requirements,
        allowed if isinstance(allowed, int) else 0,
        frozenset(part(status, "disruptedPods")),
    )
