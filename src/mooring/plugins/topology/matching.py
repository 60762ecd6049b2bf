"""Label selectors of constraints and terms, read once and asked often."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.model.objects import LabelSelector
from mooring.model.selectors import LabelConditions, Requirement, label_requirements


class Matcher:
    """A selector. An empty one matches everything, an absent one nothing; one with a mistake cannot be made:
    SelectorError."""

    __slots__ = ("_equal", "_more", "_nothing", "needs")

    def __init__(self, selector: LabelSelector | None) -> None:
        requirements = label_requirements(selector)
        self._nothing = requirements is None
        one_value: list[Requirement] = []
        more: list[Requirement] = []
        for each in requirements or ():
            (one_value if each.operator == "In" and len(each.values) == 1 else more).append(each)
        self._equal = [(r.key, next(iter(r.values))) for r in one_value]
        self._more = LabelConditions(more) if more else None
        self.needs = self._equal[0] if self._equal else None  # a label without which it never matches

    def __call__(self, labels: Mapping[str, str]) -> bool:
        if self._nothing:
            return False
        for key, value in self._equal:
            if labels.get(key) != value:
                return False
        return self._more is None or self._more.match(labels)
