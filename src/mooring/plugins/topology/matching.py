"""Label selectors of constraints and terms, read once and asked often."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.model.objects import LabelSelector
from mooring.model.selectors import Requirement, label_requirements


class Matcher:
    """A selector. An empty one matches everything, an absent one nothing; one with a mistake cannot be made:
    SelectorError."""

    __slots__ = ("_equal", "_more", "_nothing", "needs")

    def __init__(self, selector: LabelSelector | None) -> None:
        requirements = label_requirements(selector)
        self._nothing = requirements is None
        one_value = [r for r in requirements or () if r.operator == "In" and len(r.values) == 1]
        self._equal = [(r.key, next(iter(r.values))) for r in one_value]
        self._more: list[Requirement] = [r for r in requirements or () if r not in one_value]
        self.needs = self._equal[0] if self._equal else None  # a label without which it never matches

    def __call__(self, labels: Mapping[str, str]) -> bool:
        if self._nothing:
            return False
        for key, value in self._equal:
            if labels.get(key) != value:
                return False
        return not self._more or all(r.matches(labels.get(r.key)) for r in self._more)
