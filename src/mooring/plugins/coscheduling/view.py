"""Gangs as people look at them who wonder why one does not start: the fields Koordinator shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mooring.workloads.gang import Gang, Member
from mooring.workloads.gang_group import GangGroup


def summary(gang: Gang, wait: str, ready_since: float | None) -> dict[str, Any]:
    terms = gang.terms
    return {
        "name": gang.id,
        "waitTime": wait,
        "createTime": gang.created,
        "mode": "Strict" if gang.strict else "NonStrict",
        "gangMatchPolicy": gang.policy.value,
        "minRequiredNumber": 0 if terms is None else terms.least,
        "totalChildrenNum": 0 if terms is None else terms.total or terms.least,
        "gangGroup": [*gang.group.gang_keys],
        "children": sorted(member.pod.key for member in gang.members.values()),
        "pendingChildren": _keys(gang.pending),
        "waitingForBindChildren": _keys(gang.waiting),
        "boundChildren": _keys(gang.bound),
        "onceResourceSatisfied": gang.group.satisfied,
        "gangGroupInfo": _shared(gang.group, ready_since),
        "gangFrom": "PodGroupCrd" if gang.by_object else "PodAnnotation",
        "hasGangInit": terms is not None,
        "declaredAs": gang.dialect.name,
        "problem": gang.group.problem(),
    }


def _keys(members: Iterable[Member]) -> list[str]:
    return sorted(member.pod.key for member in members)


def _shared(group: GangGroup, ready_since: float | None) -> dict[str, Any]:
    return {
        "gangGroupId": group.id,
        "onceResourceSatisfied": group.satisfied,
        "representativePodKey": _representative(group),
        "bindingMemberPods": sorted(group.starters),
        "readySince": ready_since,
        "needed": group.needed(),
    }


def _representative(group: GangGroup) -> str:
    for gang in group.gangs():
        if (member := gang.members.get(group.representative)) is not None:
            return member.pod.key
    return ""
