"""Carries out what a post-filter or the way out of a group wants: evicts its victims, and takes back
nominations that no longer hold."""

from __future__ import annotations

from mooring.engine.decisions import Decision, Evict, Nominate
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import PermitWait
from mooring.errors import ClusterError
from mooring.framework.api import answers
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.grouping import Group, GroupWayOut
from mooring.model.objects import Pod

REASON = "PreemptionByScheduler"
MESSAGE = "{scheduler}: preempting to accommodate a higher priority pod"
IN_MEMORY = "preempted"


def evict_for_pod(parts: Parts, plugin: str, pod: Pod, result: PostFilterResult) -> list[Decision]:
    """Victims that wait at permit lose their place at once; the others are to be deleted."""
    message = MESSAGE.format(scheduler=pod.spec.scheduler_name)
    waiting: list[PermitWait] = []
    evictions: list[Decision] = []
    try:
        with parts.cluster.statement() as statement:
            for victim in result.victims:
                wait = parts.waiting.get(victim.metadata.uid)
                if wait is None:
                    node = statement.evict(victim.metadata.uid).node
                else:
                    node = wait.node_name
                    waiting.append(wait)
                in_memory = wait is not None
                evictions.append(Evict(victim, pod.key, REASON, message, node, pod, in_memory))
    except ClusterError as error:
        raise answers.failed(plugin, "post_filter", str(error)) from error
    if parts.pod_metrics is not None and result.victims:
        parts.pod_metrics.evicted(len(result.victims))
    for wait in waiting:
        wait.preempt(plugin, IN_MEMORY)
    return [*_overtake(parts, pod, result.nominated), *evictions]


def _overtake(parts: Parts, pod: Pod, node_name: str | None) -> list[Decision]:
    """Pods of a lower priority that were to come to the node look for another place."""
    if not node_name:
        return []
    overtaken = [other for other in parts.nominator.on(node_name) if other.priority < pod.priority]
    for other in overtaken:
        parts.nominator.remove(other.metadata.uid)
    parts.activate(overtaken)
    return [Nominate(other, "") for other in overtaken]


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
