"""PodDisruptionBudgets: which victims go beyond what may be disrupted.

Budgets rank candidates, they do not forbid: a node where they hold is preferred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mooring.cluster.pods import Placed
from mooring.framework.api.handle import Lister
from mooring.model.objects import LabelSelector, Object
from mooring.model.selectors import Requirement, SelectorError, label_requirements

KIND = "PodDisruptionBudget"


class Budget(msgspec.Struct, frozen=True):
    """How many more of the pods it covers may be disrupted, besides those that are being already."""

    namespace: str
    requirements: tuple[Requirement, ...]
    allowed: int
    disrupted: frozenset[str]  # names of pods

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (
            namespace == self.namespace
            and bool(labels)
            and all(requirement.matches(labels.get(requirement.key)) for requirement in self.requirements)
        )


class Budgets:
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

    def _once(self, found: Object) -> tuple[Object, Budget | None]:
        known = self._read.get(found.key)
        return known if known is not None and known[0] is found else (found, read_budget(found))


def read_budget(found: Object) -> Budget | None:
    """A budget that covers any pod at all; None when its selector is empty or cannot be read."""
    spec, status = _mapping(found.data.get("spec")), _mapping(found.data.get("status"))
    try:
        requirements = label_requirements(msgspec.convert(spec.get("selector"), LabelSelector | None))
    except (msgspec.ValidationError, SelectorError):
        return None
    if not requirements:
        return None
    allowed = status.get("disruptionsAllowed")
    return Budget(
        found.metadata.namespace,
        requirements,
        allowed if isinstance(allowed, int) else 0,
        frozenset(_mapping(status.get("disruptedPods"))),
    )


def violating(placed: Iterable[Placed], budgets: Iterable[Budget]) -> list[bool]:
    """For each of these pods of one node, most important first: whether evicting it, after those before
    it, disrupts more than some budget allows."""
    left = [(budget, [budget.allowed]) for budget in budgets]
    answers = []
    for each in placed:
        meta, beyond = each.pod.metadata, False
        for budget, allowed in left:
            if meta.name not in budget.disrupted and budget.covers(meta.namespace, meta.labels):
                allowed[0] -= 1
                beyond |= allowed[0] < 0
        answers.append(beyond)
    return answers


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
