"""The condition PodGroupScheduled of Kubernetes' own PodGroups: True once, and from then on."""

from __future__ import annotations

from typing import Any

SCHEDULED = "PodGroupScheduled"
YES, NO = "Scheduled", "Unschedulable"
STARTED = "All required pods have been successfully scheduled"
LONGEST_MESSAGE = 32768  # of a condition, as the API server has it


def conditions_after(
    data: dict[str, Any], generation: int, *, started: bool, why_not: str, now: str
) -> list[dict[str, Any]] | None:
    """All conditions of a PodGroup with PodGroupScheduled as it is to be; None when it is so already.

    A group that has started is never said to be unscheduled again. One that has not been tried says nothing.
    """
    there = [each for each in (data.get("status") or {}).get("conditions") or () if isinstance(each, dict)]
    old = next((each for each in there if each.get("type") == SCHEDULED), {})
    if old.get("status") == "True" or not (started or why_not):
        return None
    new = _condition(started, why_not)
    if all(old.get(name) == value for name, value in new.items()):
        return None
    new["lastTransitionTime"] = old["lastTransitionTime"] if old.get("status") == new["status"] else now
    if generation:
        new["observedGeneration"] = generation
    return [*(each for each in there if each is not old), new]


def _condition(started: bool, why_not: str) -> dict[str, Any]:
    if started:
        return {"type": SCHEDULED, "status": "True", "reason": YES, "message": STARTED}
    return {"type": SCHEDULED, "status": "False", "reason": NO, "message": why_not[:LONGEST_MESSAGE]}
