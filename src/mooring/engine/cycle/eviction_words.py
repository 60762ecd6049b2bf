"""What an Event says of a pod that is evicted: to make room for another, or for a reason of its own."""

from __future__ import annotations

from typing import NamedTuple

from mooring.engine.decisions import Evict

PREEMPTED, PREEMPTING, EVICTING = "Preempted", "Preempting", "Evicting"
NOTE = "Preempted by pod {} on node {}"
IN_MEMORY = " (in kube-scheduler memory)."  # of pods that were not bound yet, and go on waiting


class Words(NamedTuple):
    reason: str
    action: str
    note: str


def words_of(decision: Evict, preemptor: str, *, in_memory: bool = False) -> Words:
    """`preemptor` is what the pod it makes room for is called: its uid, where it is known."""
    if not decision.by:
        return Words(decision.reason, EVICTING, decision.message)
    note = NOTE.format(preemptor, decision.node or decision.pod.spec.node_name)
    return Words(PREEMPTED, PREEMPTING, note + IN_MEMORY if in_memory else note)
