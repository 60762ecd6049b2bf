"""Whether pods that a policy rejects hear of what helps them."""

from __future__ import annotations

from mooring.engine.cycle.pre_filtering import pre_filter
from mooring.engine.engine import Engine
from mooring.engine.events import Event
from mooring.engine.queue.queued_pod import QueuedPod, Where
from mooring.framework.api.cycle import Cycle
from mooring.model.objects import Pod
from mooring.testing.conformance import findings
from mooring.testing.conformance.findings import Broken, Finding
from mooring.testing.conformance.subject import PROFILE, Subject


class Waking:
    """Compares who could be placed before an event with who can after it."""

    def __init__(self, subject: Subject, engine: Engine) -> None:
        self._subject, self._engine = subject, engine
        self._stuck: list[QueuedPod] = []
        self._gated: list[QueuedPod] = []

    def before(self) -> None:
        """Notes the pods that only this policy keeps from being placed."""
        name, waiting = self._subject.name, [q for q in self._engine.queue if q.where is Where.UNSCHEDULABLE]
        self._gated = [q for q in waiting if q.gating_plugin == name and self._gate(q.pod)]
        self._stuck = [
            q for q in waiting if not q.gating_plugin and q.rejectors == {name} and not self._node_for(q.pod)
        ]

    def after(self, event: Event) -> None:
        """Raises Broken for one that could be placed now, and sleeps on."""
        happened = _words(event)
        for queued in self._gated:
            if queued.where is Where.UNSCHEDULABLE and queued.gating_plugin and not self._gate(queued.pod):
                what = f"lets the pod pass after {happened}, and nobody has it tried"
                raise Broken(Finding("gate", "pre_enqueue", what, findings.GATED, f"pod {queued.pod.key}"))
        for queued in self._stuck:
            if queued.where is Where.UNSCHEDULABLE and (node := self._node_for(queued.pod)):
                what = f"the pod fits after {happened}, and sleeps on: the policy did not ask for it"
                about = f"pod {queued.pod.key}, node {node}"
                raise Broken(Finding("woken", "events", what, findings.WOKEN, about))

    def _gate(self, pod: Pod) -> bool:
        """Whether a gate holds the pod now."""
        return self._engine.hooks.pre_enqueue(pod) is not None

    def _node_for(self, pod: Pod) -> str:
        """A node that takes the pod, as things are."""
        engine = self._engine
        shared = engine.specs.shared(pod)
        pod_class, cycle = engine.hooks.classes[PROFILE].of(shared), Cycle(PROFILE, engine.now)
        if engine.queue.get(pod.metadata.uid) is None or not engine.cluster.nodes.rows:
            return ""
        found = pre_filter(pod_class, cycle, shared)
        if found.rejection is not None:
            return ""
        nodes = engine.cluster.nodes
        engine.placer.evaluating = True
        try:
            ok = engine.placer.full.feasible(pod_class, cycle, shared, nodes.alive[: nodes.high].copy())
        finally:
            engine.placer.evaluating = False
        names = (nodes.names[row] for row in ok.nonzero()[0].tolist())
        allowed = None if found.narrowed is None else found.narrowed.names
        return next((name for name in names if allowed is None or name in allowed), "")


def _words(event: Event) -> str:
    about = getattr(event, "node", None) or getattr(event, "pod", None)
    return f"{type(event).__name__} of {getattr(about, 'name', about)}"
