"""A tiny scheduler with the engine's interface: first node that fits, first come first served.

It evicts lower priorities when asked to, retries when the cluster changes, and can be told to retry
for ever, as a real scheduler does after errors.
"""

from __future__ import annotations

from mooring.cluster.cluster import Cluster
from mooring.engine.decisions import Bind, Decision, Evict, Wait
from mooring.engine.events import (
    BindFailed,
    Bound,
    Event,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.engine.pod_words import Words
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Api
from mooring.framework.loading.profiles import make_profile
from mooring.framework.loading.rehearsal import StageHandle
from mooring.framework.running.binding import BindingState
from mooring.model.objects import Node, Pod
from mooring.model.requests import node_allocatable
from mooring.model.selectors import required_node_affinity_matches
from mooring.model.taints import first_untolerated
from mooring.plugins.catalogue import plans_with


class NoGates:
    """A queue that keeps nobody out."""

    def get(self, uid: str) -> None:
        return None

    def retry_at(self) -> None:
        return None


class FirstFit:
    def __init__(self, *, preempts: bool = False, retry_every: float | None = None) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}  # on nodes, by uid
        self.ready: dict[str, Pod] = {}
        self.waiting_pods: dict[str, Pod] = {}
        self.heard: list[tuple[float, str]] = []
        self.attempts: dict[str, int] = {}
        self.patch: dict[str, object] = {}
        self.waiting: dict[str, object] = {}
        self.scores: dict[str, dict[str, int]] = {}
        self.queue = NoGates()
        self.now = 0.0
        plans, registry = plans_with([], {}, {})
        self.profile = make_profile(plans[0], registry, lambda _: StageHandle(Cluster()))
        self._preempts = preempts
        self._retry_every = retry_every

    @property
    def owes_words(self) -> bool:
        return False

    def waits_for(self, uid: str) -> Words | None:
        return None

    def gang_of(self, pod: Pod) -> tuple[str, str] | None:
        return None

    def network(self) -> dict[str, tuple[str, ...]]:
        return {}

    def attach(self, api: Api) -> None:
        for plugin in self.profile.plugins.values():
            plugin.handle.api = api

    def handle(self, event: Event, now: float) -> list[Decision]:
        self.now = now
        self.heard.append((now, type(event).__name__))
        match event:
            case PodAdded(pod) | PodChanged(pod):
                self._pod(pod)
            case PodDeleted(pod):
                for table in (self.pods, self.ready, self.waiting_pods):
                    table.pop(pod.uid, None)
                self._wake()
            case NodeAdded(node) | NodeChanged(node):
                self.nodes[node.name] = node
                self._wake()
            case NodeDeleted(node):
                self.nodes.pop(node.name)
            case BindFailed(pod, _, message):
                self.pods.pop(pod.uid)
                self.waiting_pods[pod.uid] = pod
                return [Wait(pod, "SchedulerError", message, (), "")]
            case Tick():
                self._wake()
            case Bound():
                pass
        return []

    def schedule(self, now: float) -> list[Decision] | None:
        if not self.ready:
            return None
        self.now = now
        pod = self.ready.pop(next(iter(self.ready)))
        self.attempts[pod.key] = self.attempts.get(pod.key, 0) + 1
        for name in self.nodes:
            if self._fits(pod, name, list(self.pods.values())):
                self.pods[pod.uid] = pod.on_node(name)
                self.scores[pod.key] = dict.fromkeys(self.nodes, 100)
                return [Bind(pod, name, self.profile.name, 0, dict(self.patch))]
        self.waiting_pods[pod.uid] = pod
        return self._preempt(pod) if self._preempts else [self._wait(pod, None)]

    def binding_state(self, bind: Bind) -> BindingState:
        return BindingState(self.profile, Cycle(self.profile.name, self.now))

    def wake_at(self) -> float | None:
        return self.now + self._retry_every if self._retry_every and self.waiting_pods else None

    def plugins_wake_at(self) -> None:
        return None

    def _pod(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self.ready.pop(pod.uid, None)
            self.waiting_pods.pop(pod.uid, None)
            self.pods[pod.uid] = pod
        elif pod.uid in self.waiting_pods:
            self.waiting_pods[pod.uid] = pod
        elif pod.spec.scheduler_name == "default-scheduler" and not pod.spec.scheduling_gates:
            self.ready[pod.uid] = pod

    def _wake(self) -> None:
        self.ready.update(self.waiting_pods)
        self.waiting_pods.clear()

    def _fits(self, pod: Pod, name: str, others: list[Pod]) -> bool:
        node = self.nodes[name]
        if not required_node_affinity_matches(pod.spec, name, node.labels):
            return False
        if first_untolerated(node.spec.taints, pod.spec.tolerations) is not None:
            return False
        room = node_allocatable(node.status.allocatable)
        here = [other.request for other in others if other.spec.node_name == name]
        wanted = ("cpu", "memory", *(scalar for scalar, _ in pod.request.scalars))
        return len(here) < room.pods and all(
            sum(request.amount(r) for request in here) + pod.request.amount(r) <= room.amount(r)
            for r in wanted
        )

    def _preempt(self, pod: Pod) -> list[Decision]:
        for name in self.nodes:
            victims = [
                p for p in self.pods.values() if p.spec.node_name == name and p.priority < pod.priority
            ]
            kept = [p for p in self.pods.values() if p not in victims]
            if victims and self._fits(pod, name, kept):
                evicted = [Evict(v, pod.key, "PreemptionByScheduler", "making room") for v in victims]
                return [*evicted, self._wait(pod, name)]
        return [self._wait(pod, None)]

    def _wait(self, pod: Pod, nominated: str | None) -> Wait:
        message = f"0/{len(self.nodes)} nodes are available."
        return Wait(pod, "Unschedulable", message, ("FirstFit",), nominated)
