"""What Events say of pods that wait, and of pods that are evicted."""

from __future__ import annotations

from typing import NamedTuple

from mooring.engine.decisions import Evict, Wait

PREEMPTED, PREEMPTING, EVICTING = "Preempted", "Preempting", "Evicting"
NOTE = "Preempted by pod {} on node {}"
IN_MEMORY = " (in kube-scheduler memory)."  # of pods that were not bound yet, and go on waiting


class Words(NamedTuple):
    reason: str
    action: str
    note: str


def waiting_words(decision: Wait) -> tuple[str, str]:
    """The type and reason of the Event: kube-scheduler's after an attempt, and else what holds the pod."""
    return ("Warning", "FailedScheduling") if decision.is_answer else ("Normal", decision.reason)


def words_of(decision: Evict, preemptor: str, *, in_memory: bool = False) -> Words:
    """`preemptor` is what the pod it makes room for is called: its uid, where it is known."""
    if not decision.by:
        return Words(decision.reason, EVICTING, decision.message)
    note = NOTE.format(preemptor, decision.node or decision.pod.spec.node_name)
    return Words(PREEMPTED, PREEMPTING, note + IN_MEMORY if in_memory else note)
