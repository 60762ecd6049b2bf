"""What is written on pods that start together, for whoever looks after them on their nodes."""

from __future__ import annotations

from typing import Any

from mooring.model.objects import Pod
from mooring.workloads import keys
from mooring.workloads.gang_group import GangGroup

IDS = (keys.BIND_GROUP_ID, keys.OLD_BIND_GROUP_ID)
COUNTS = (keys.BIND_MEMBER_COUNT, keys.OLD_BIND_MEMBER_COUNT)
MARKS = frozenset({*IDS, *COUNTS})

unmarked = MARKS.isdisjoint


def marks(group: GangGroup, uid: str) -> dict[str, Any] | None:
    """The group and how many started with the pod; None when it starts alone."""
    starters = group.starters
    if len(starters) < 2 or uid not in starters:
        return None
    count = str(len(starters))
    return _annotated({**dict.fromkeys(IDS, group.id), **dict.fromkeys(COUNTS, count)})


def without_marks(pod: Pod) -> dict[str, Any]:
    """What an earlier attempt has written is taken away."""
    return _annotated({key: None for key in sorted(MARKS) if key in pod.metadata.annotations})


def _annotated(annotations: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}}
