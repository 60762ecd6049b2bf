"""The order of things: members of a gang, and gangs among other pods."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.framework.api.queued import Queued
from mooring.model.objects import Pod
from mooring.workloads.gang import Gang, Member
from mooring.workloads.keys import SUB_PRIORITY, TOPOLOGY_INDEX
from mooring.workloads.written_values import integer

LAST = 2**31


SortKey = tuple[int, int, float, str, str, str]


def in_order(gangs: Iterable[Gang]) -> list[Member]:
    """The members that want a place: gang by gang, the first in the network before others."""
    return [member for gang in gangs for member in sorted(gang.pending, key=_rank)]


def _rank(member: Member) -> tuple[int, int, str, str]:
    pod = member.pod
    return index_of(pod), -pod.priority, pod.metadata.creation_timestamp or "", pod.metadata.name


def index_of(pod: Pod) -> int:
    """A pod's rank in the network; those that have none come last."""
    index = integer(pod.metadata.annotations.get(TOPOLOGY_INDEX, ""))
    return LAST if index is None or not 0 <= index < LAST else index


def sort_key(queued: Queued, gang: Gang | None) -> SortKey:
    """Priority, sub-priority, then whoever waits longer: a gang since it was created."""
    pod = queued.pod
    sub_priority = integer(pod.metadata.labels.get(SUB_PRIORITY, "")) or 0
    first = -(pod.spec.priority or 0), -sub_priority
    if gang is None:
        return (*first, queued.timestamp, "", "", pod.metadata.name)
    return (*first, gang.group.created, gang.group.id, gang.id, pod.metadata.name)
