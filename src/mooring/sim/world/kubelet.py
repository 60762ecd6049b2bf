"""What becomes of a pod on its node: it runs at once, and for as long as its annotation says."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.config.durations import parse_duration
from mooring.model.objects import Pod, PodCondition, PodStatus
from mooring.sim.world.workloads import RUNS_FOR

FINISHED = ("Succeeded", "Failed")
SCHEDULED = PodCondition(type="PodScheduled", status="True")
GATED = PodCondition(
    type="PodScheduled",
    status="False",
    reason="SchedulingGated",
    message="Scheduling is blocked due to non-empty scheduling gates",
)


def started(pod: Pod, timestamp: str) -> Pod:
    """The pod, running. One that ran before the simulation keeps its start."""
    conditions = with_condition(pod.status.conditions, SCHEDULED)
    start_time = pod.status.start_time or timestamp
    running = replace(
        pod.status, phase="Running", nominated_node_name="", start_time=start_time, conditions=conditions
    )
    return replace(pod, status=running)


def pending(pod: Pod) -> Pod:
    """The pod as it waits for a node."""
    conditions = pod.status.conditions
    if pod.spec.scheduling_gates:
        conditions = with_condition(conditions, GATED)
    return replace(pod, status=replace(pod.status, phase="Pending", conditions=conditions))


def succeeded(pod: Pod) -> Pod:
    return replace(pod, status=replace(pod.status, phase="Succeeded"))


def is_finished(pod: Pod) -> bool:
    return pod.status.phase in FINISHED


def runs_for(pod: Pod) -> float | None:
    """Seconds the pod runs; None for one that never ends."""
    text = pod.metadata.annotations.get(RUNS_FOR)
    return None if text is None else parse_duration(text)


def with_condition(conditions: tuple[PodCondition, ...], condition: PodCondition) -> tuple[PodCondition, ...]:
    """The conditions with one set, in the place of the one of its type."""
    if condition in conditions:
        return conditions
    if all(each.type != condition.type for each in conditions):
        return (*conditions, condition)
    return tuple(condition if each.type == condition.type else each for each in conditions)


def patched_status(
    status: PodStatus, conditions: tuple[PodCondition, ...], nominated: str | None
) -> PodStatus:
    """The status with conditions set and, unless None, another nominated node ("" for no node)."""
    merged = status.conditions
    for condition in conditions:
        merged = with_condition(merged, condition)
    node = status.nominated_node_name if nominated is None else nominated
    return replace(status, conditions=merged, nominated_node_name=node)
