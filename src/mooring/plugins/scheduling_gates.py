"""SchedulingGates: a pod with scheduling gates stays out of the queue until they are gone."""

from __future__ import annotations

from mooring.framework.api.events import POD, Action, Hint, Interest
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import Status, unresolvable
from mooring.model.objects import Pod

GATED = "waiting for scheduling gates: [{}]"


class SchedulingGates(Plugin):
    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Status | None:
        gates = pod.spec.scheduling_gates
        return unresolvable(GATED.format(" ".join(gate.name for gate in gates))) if gates else None

    def events(self) -> tuple[Interest, ...]:
        return (Interest(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, gates_went),)


def gates_went(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    """Only the gates of the pod itself matter."""
    return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP
