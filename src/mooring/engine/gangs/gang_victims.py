"""Carries out the way out of a group: its victims are evicted together, for the group as a whole."""

from __future__ import annotations

from mooring.engine.cycle.victims import evict_for_pod
from mooring.engine.decisions import Decision
from mooring.engine.parts import Parts
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.grouping import Group, GroupWayOut


def evict_for_group(parts: Parts, plugin: str, group: Group, way_out: GroupWayOut) -> list[Decision]:
    """Victims make room for the first member that is given a node, in the group's name."""
    for pod in group.members:
        parts.nominator.remove(pod.metadata.uid)  # they are nominated anew, and overtake nobody of their own
    member = next((pod for pod in group.members if pod.metadata.uid in way_out.nominated), group.members[0])
    decisions: list[Decision] = []
    for pod in group.members:
        node_name = way_out.nominated.get(pod.metadata.uid)
        if node_name is not None and pod is not member:
            decisions += evict_for_pod(parts, plugin, pod, PostFilterResult(node_name))
    result = PostFilterResult(way_out.nominated.get(member.metadata.uid), way_out.victims)
    return decisions + evict_for_pod(parts, plugin, member, result)
