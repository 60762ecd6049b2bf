"""Which taints a pod tolerates."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mooring.model.objects import Taint, Toleration
from mooring.model.selectors import int64

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
HARD_EFFECTS = (NO_SCHEDULE, NO_EXECUTE)
"""The effects that keep a pod off a node; the other one only makes it less welcome."""


def tolerates(toleration: Toleration, taint: Taint, *, comparison_operators: bool = False) -> bool:
    """An empty key or effect stands for every one; `comparison_operators` switches Gt and Lt on."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            return comparison_operators and _compares(toleration, taint)
        case _:
            return False


def first_untolerated(
    taints: Iterable[Taint], tolerations: Collection[Toleration], *, comparison_operators: bool = False
) -> Taint | None:
    """The first taint that keeps pods off and that no toleration covers."""
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not any(
            tolerates(t, taint, comparison_operators=comparison_operators) for t in tolerations
        ):
            return taint
    return None


def _compares(toleration: Toleration, taint: Taint) -> bool:
    found, bound = int64(taint.value), int64(toleration.value)
    if found is None or bound is None:
        return False
    return found > bound if toleration.operator == "Gt" else found < bound
