"""Gangs without an engine: a plugin, what its handle says, and what it asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from engine.stage import node
from mooring.cluster.cluster import Cluster
from mooring.engine.objects import Objects
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Lister, WaitingPod
from mooring.framework.api.status import Code, Status
from mooring.framework.loading.rehearsal import StageHandle
from mooring.model.objects import Object, ObjectMeta, Pod, PodSchedulingGate, PodSpec, PodStatus
from mooring.plugins.coscheduling import Coscheduling
from mooring.plugins.coscheduling.args import CoschedulingArgs
from mooring.workloads.gang_places import GangPlaces

GANG = "gang.scheduling.koordinator.sh/"
SCHEDULER = "default-scheduler"
CYCLE = Cycle(SCHEDULER, 0.0)


def pod(name: str, namespace: str = "default", **more: Any) -> Pod:
    """`labels`, `annotations`, `created`, `deleting`, `phase`, `started` go where they belong."""
    meta = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"{namespace}/{name}",
        labels=more.pop("labels", {}),
        annotations=more.pop("annotations", {}),
        creation_timestamp=more.pop("created", None),
        deletion_timestamp=more.pop("deleting", None),
    )
    status = PodStatus(phase=more.pop("phase", ""), start_time=more.pop("started", None))
    if gates := more.pop("gates", ()):
        more["scheduling_gates"] = tuple(PodSchedulingGate(name=gate) for gate in gates)
    return Pod(metadata=meta, spec=PodSpec(**({"scheduler_name": SCHEDULER} | more)), status=status)


def member(name: str, gang: str = "g", least: int | str = 2, **more: Any) -> Pod:
    """A pod of an annotation gang; `mode`, `policy`, `groups`, `waiting`, `total` are its annotations."""
    words = {"mode": "mode", "policy": "match-policy", "groups": "groups", "waiting": "waiting-time"}
    notes = {GANG + "name": gang, GANG + "min-available": str(least)}
    for word, key in (words | {"total": "total-number", "index": "network-topology-index"}).items():
        if word in more:
            notes[GANG + key] = str(more.pop(word))
    notes |= more.pop("annotations", {})
    return pod(name, annotations=notes, **more)


def labelled(name: str, gang: str = "g", **more: Any) -> Pod:
    return pod(name, labels={"pod-group.scheduling.sigs.k8s.io": gang}, **more)


def pod_group(
    name: str = "g",
    namespace: str = "default",
    version: str = "scheduling.sigs.k8s.io/v1alpha1",
    kind: str = "PodGroup",
    annotations: dict[str, str] | None = None,
    created: str | None = None,
    **spec: Any,
) -> Object:
    meta = ObjectMeta(
        name=name, namespace=namespace, annotations=annotations or {}, creation_timestamp=created
    )
    return Object(api_version=version, kind=kind, metadata=meta, data={"spec": spec})


class Waiter:
    """A pod at permit."""

    def __init__(self, hand: Hand, pod: Pod) -> None:
        self._hand = hand
        self.pod = pod
        self.node_name = "n"
        self.pending_plugins = ("Coscheduling",)

    def allow(self, plugin: str) -> None:
        self._hand.allowed.append(self.pod.name)
        del self._hand.at_permit[self.pod.uid]

    def reject(self, plugin: str, message: str) -> None:
        self._hand.rejected[self.pod.name] = message
        del self._hand.at_permit[self.pod.uid]
        self._hand.unreserve(self.pod)

    def preempt(self, plugin: str, message: str) -> None:
        raise NotImplementedError


class Hand(StageHandle):
    """What a plugin is told and what it asks for, kept for a look."""

    def __init__(self, **args: Any) -> None:
        super().__init__(Cluster())
        with self._cluster.statement() as statement:
            statement.put_node(node("n", pods=1000))
        self.profile = SCHEDULER
        self.time = 0.0
        self.objects = Objects()
        self.at_permit: dict[str, WaitingPod] = {}
        self.activated: list[str] = []
        self.allowed: list[str] = []
        self.rejected: dict[str, str] = {}
        self.reports: list[tuple[str, str]] = []
        self.warnings: list[tuple[str, str]] = []
        self.evicted: dict[str, str] = {}
        self.outside: set[str] = set()
        places = self._cluster.books.of(
            GangPlaces, self._cluster.pods.by_uid, self.objects.of, lambda: self.now
        )
        self.gangs = places.gangs
        self.plugin = Coscheduling(CoschedulingArgs(**args), self)
        self.gangs.abide_by({SCHEDULER: self.plugin.gang_rules})

    @property
    def now(self) -> float:
        return self.time

    @property
    def waiting_pods(self) -> Mapping[str, WaitingPod]:
        return self.at_permit

    def activate(self, pods: Iterable[Pod]) -> None:
        self.activated += [pod.name for pod in pods]

    def report(self, pod: Pod, message: str) -> None:
        self.reports.append((pod.name, message))

    def warn(self, pod: Pod, message: str) -> None:
        self.warnings.append((pod.name, message))

    def evict(self, pod: Pod, reason: str, message: str) -> None:
        self.evicted[pod.name] = f"{reason}: {message}"

    def judged_outside(self, pod: Pod) -> bool:
        return pod.name in self.outside

    def lister(self, kind: str) -> Lister:
        return self.objects.of(kind)

    # the other half of the conversation

    def see(self, *pods: Pod) -> None:
        for each in pods:
            self.gangs.pod_seen(each)
            self.plugin.pod_seen(each)

    def gone(self, pod: Pod) -> None:
        """The pod is no longer there, and neither is its place."""
        self.give_back(pod)
        self.gangs.pod_gone(pod)
        self.plugin.pod_gone(pod)

    def put(self, found: Object) -> None:
        before = self.objects.put(found)
        self.gangs.object_seen(before, found)
        self.plugin.object_seen(before, found)

    def drop(self, found: Object) -> None:
        self.objects.drop(found)
        self.gangs.object_seen(found, None)
        self.plugin.object_seen(found, None)

    def take(self, pod: Pod) -> None:
        """The pod takes a place."""
        with self._cluster.statement() as statement:
            statement.take(pod, "n")

    def give_back(self, pod: Pod) -> None:
        if pod.uid in self._cluster.pods.by_uid:
            with self._cluster.statement() as statement:
                statement.give_back(pod.uid)

    def unreserve(self, pod: Pod) -> None:
        """The pod gives its place back, as after a bind that failed."""
        self.plugin.unreserve(CYCLE, pod, "n")
        self.give_back(pod)

    def gate(self, pod: Pod) -> str:
        """What holds a pod back; "" when nothing does."""
        status = self.plugin.pre_enqueue(pod)
        if status is None:
            return ""
        assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return status.message

    def permit(self, pod: Pod) -> Status | None:
        """The pod takes a place. One that has to wait does so."""
        self.take(pod)
        status = self.plugin.permit(CYCLE, pod, "n")
        if status is not None and status.code is Code.WAIT:
            self.at_permit[pod.uid] = Waiter(self, pod)
        return status

    def waits(self, pod: Pod) -> bool:
        status = self.permit(pod)
        assert status is None or status.code is Code.WAIT
        return status is not None

    def bind(self, *pods: Pod) -> None:
        """The pods are bound, and the API server shows it."""
        for each in pods:
            self.gangs.bound(each.uid)
            self.plugin.pod_bound(each, "n")
            self.see(each.on_node("n"))

    def gang(self, key: str = "default/g") -> Any:
        return self.gangs.gangs[key]

    @property
    def wake_at(self) -> float | None:
        """When a gang is to be looked at next."""
        return self.plugin._following.wake_at

    def follow_up(self, now: float | None = None) -> None:
        self.time = self.time if now is None else now
        self.plugin.follow_up()


def changed(pod: Pod, **meta: Any) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **meta))
