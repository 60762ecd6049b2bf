"""An embedded cluster: an API server with its kubelets, in memory and without a server.

It answers as the real one does (404 for what is not there, 409 for a pod bound twice) and tells its
listeners of every change, in order, whoever makes it: a listener that changes something itself is
heard after the change it is being told of. Finished pods stay in the store, but listeners hear of
them as deleted: that is how a scheduler, which watches unfinished pods, sees it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from mooring.engine.events import (
    Event,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
)
from mooring.errors import ApiError
from mooring.model.objects import Node, Object, Pod, PodCondition
from mooring.sim.clock import Clock
from mooring.sim.world import kubelet
from mooring.sim.world.admission.admission import Admission
from mooring.sim.world.defaults import DEFAULT_NAMESPACE, default_node, default_spec
from mooring.sim.world.event_log import Recorded, Recorder
from mooring.sim.world.held_pods import HeldPods
from mooring.sim.world.merge_patches import check_version, patched, patched_object
from mooring.sim.world.priorities import PriorityClasses
from mooring.sim.world.store import Store, key_of

Listener = Callable[[Event], None]


class World:
    """The cluster's objects and everything that can be done to them."""

    def __init__(
        self, clock: Clock, *, priorities: PriorityClasses | None = None, source: random.Random | None = None
    ) -> None:
        self.clock = clock
        self.store = Store(source or random.Random(0), clock.timestamp)
        self.priorities = priorities or PriorityClasses()
        self.events = Recorder()
        self.admission = Admission(self.store)
        self._held = HeldPods(self, self._bring)
        self._listeners: list[Listener] = [self._held.hear]
        self._untold: deque[Event] = deque()
        self._telling = False

    @property
    def pods(self) -> dict[str, Pod]:
        return self.store.pods

    @property
    def nodes(self) -> dict[str, Node]:
        return self.store.nodes

    @property
    def refused(self) -> dict[str, str]:
        """Why pods that controllers want to make do not come, by the pods' keys."""
        return self._held.refused

    @property
    def version(self) -> int:
        """Counts the changes that can matter to where a pod fits: not status patches, not Events."""
        return self.store.version

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def admit(self, pod: Pod) -> Pod:
        """The pod with everything the API server fills in before it gets a name."""
        meta = pod.metadata
        meta = replace(meta, namespace=meta.namespace or DEFAULT_NAMESPACE)
        pod = replace(pod, metadata=meta, spec=default_spec(pod.spec, meta.labels, self.priorities))
        return pod if meta.uid else self.admission.fill_in(pod)  # a pod with a uid went through it elsewhere

    def create_pod(self, pod: Pod, *, admitted: bool = False) -> Pod:
        """A new pod. `admitted` pods share the spec of a template that went through `admit`.

        One that admission refuses is an ApiError; one of a controller's is held back until it may come.
        """
        there = bool(pod.metadata.uid)
        pod = pod if admitted else self.admit(pod)
        pod = replace(pod, metadata=self.store.new_meta("Pod", pod.metadata, self.pods))
        return self._bring(pod) if there or self._held.may_come(pod) else pod

    def _bring(self, pod: Pod) -> Pod:
        if not kubelet.is_finished(pod):
            start = pod.metadata.creation_timestamp or self.clock.timestamp()
            pod = kubelet.started(pod, start) if pod.spec.node_name else kubelet.pending(pod)
        self.pods[pod.key] = pod
        self.admission.charge(pod)
        if not kubelet.is_finished(pod):
            self._tell(PodAdded(pod), matters=True)
            self._plan_finish(pod)
        return pod

    def create_node(self, node: Node) -> Node:
        node = default_node(node)
        node = replace(node, metadata=self.store.new_meta("Node", node.metadata, self.nodes))
        self.nodes[node.name] = node
        self._tell(NodeAdded(node), matters=True)
        return node

    def create_object(self, plain: Object) -> Object:
        """A new object of any other kind; its data carry the metadata it is given here."""
        table = self.store.of_kind(plain.api_version, plain.kind)
        meta = self.store.new_meta(plain.kind, plain.metadata, table)
        given = {"name": meta.name, "uid": meta.uid, "creationTimestamp": meta.creation_timestamp}
        if meta.namespace:
            given["namespace"] = meta.namespace
        data = {**plain.data, "metadata": {**(plain.data.get("metadata") or {}), **given}}
        created = replace(plain, metadata=meta, data=data)
        table[key_of(meta)] = created
        self.admission.learn(created)
        self._tell(ObjectAdded(created), matters=True)
        return created

    def bind(self, key: str, node: str, *, uid: str = "") -> Pod:
        """Binds a pod; it runs at once. ApiError says why not."""
        pod = self._bindable(key, node, uid)
        pod = self._write_pod(kubelet.started(pod.on_node(node), self.clock.timestamp()), matters=True)
        self._plan_finish(pod)
        return pod

    def patch_status(
        self, key: str, *, conditions: tuple[PodCondition, ...] = (), nominated: str | None = None
    ) -> bool:
        """Sets conditions and the nominated node ("" clears it). False: nothing changed, nobody is told."""
        pod = self.store.pod(key)
        status = kubelet.patched_status(pod.status, conditions, nominated)
        if status == pod.status:
            return False
        self._write_pod(replace(pod, status=status), matters=False)
        return True

    def patch(self, kind: str, key: str, patch: dict[str, Any], *, matters: bool = True) -> None:
        """A JSON merge patch of any object. One that names a version is for that version only."""
        if kind == "Pod":
            self._write_pod(patched(self.store.pod(key), patch), matters=matters)
        elif kind == "Node":
            self._write_node(patched(self.store.node(key), patch))
        else:
            found = self.store.object(kind, key)
            check_version(found, patch)
            self._write_object(patched_object(found, patch), matters=matters)

    def delete_object(self, kind: str, key: str) -> None:
        """An object other than a pod or node is gone at once."""
        found = self.store.object(kind, key)
        del self.store.of_kind(found.api_version, found.kind)[key]
        self.admission.learn(found, gone=True)
        self._tell(ObjectDeleted(found), matters=True)

    def delete_pod(self, key: str) -> None:
        """Deletes a pod; a running one with a grace period is gone when that has passed."""
        pod = self.store.pod(key)
        grace = pod.spec.termination_grace_period_seconds or 0
        if not (pod.spec.node_name and grace and not kubelet.is_finished(pod)):
            self._remove(pod)
        elif not pod.terminating:
            meta = replace(pod.metadata, deletion_timestamp=self.clock.timestamp())
            self._write_pod(replace(pod, metadata=meta), matters=True)
            self.clock.after(grace, lambda: self._if_same(pod, self._remove))

    def delete_node(self, name: str) -> None:
        """The node leaves, and with it the pods on it."""
        node = self.store.node(name)
        del self.nodes[name]
        self._tell(NodeDeleted(node), matters=True)
        lost = [pod for pod in self.pods.values() if pod.spec.node_name == name]
        for pod in lost:
            if not kubelet.is_finished(pod):
                self._remove(pod)

    def record(
        self, event_type: str, reason: str, action: str, about: Pod | Node | Object, message: str
    ) -> None:
        """Records an Event about an object."""
        kind = about.kind if isinstance(about, Object) else type(about).__name__
        key = about.name if isinstance(about, Node) else about.key
        self.events.record(Recorded(self.clock.elapsed, event_type, reason, action, kind, key, message))

    def _bindable(self, key: str, node: str, uid: str) -> Pod:
        pod = self.store.pod(key)
        self.store.node(node)
        why = _not_bindable(pod, uid)
        if why:
            raise ApiError(409, f'Operation cannot be fulfilled on pods/binding "{pod.name}": {why}')
        return pod

    def _plan_finish(self, pod: Pod) -> None:
        seconds = kubelet.runs_for(pod)
        if pod.spec.node_name and seconds is not None:
            self.clock.after(seconds, lambda: self._if_same(pod, self._finish))

    def _if_same(self, pod: Pod, action: Callable[[Pod], None]) -> None:
        """Does to a pod what was planned, unless it is gone or has ended meanwhile."""
        now = self.pods.get(pod.key)
        if now is not None and now.uid == pod.uid and not kubelet.is_finished(now):
            action(now)

    def _finish(self, pod: Pod) -> None:
        self.admission.charge(pod, sign=-1)
        pod = kubelet.succeeded(pod)
        pod = replace(pod, metadata=self.store.touched(pod.metadata))
        self.pods[pod.key] = pod
        self.admission.charge(pod)
        self._tell(PodDeleted(pod), matters=True)

    def _remove(self, pod: Pod) -> None:
        del self.pods[pod.key]
        self.admission.charge(pod, sign=-1)
        if not kubelet.is_finished(pod):
            self._tell(PodDeleted(pod), matters=True)

    def _write_pod(self, pod: Pod, *, matters: bool) -> Pod:
        pod = replace(pod, metadata=self.store.touched(pod.metadata))
        self.pods[pod.key] = pod
        if not kubelet.is_finished(pod):
            self._tell(PodChanged(pod), matters=matters)
        return pod

    def _write_node(self, node: Node) -> None:
        node = replace(node, metadata=self.store.touched(node.metadata))
        self.nodes[node.name] = node
        self._tell(NodeChanged(node), matters=True)

    def _write_object(self, found: Object, *, matters: bool) -> None:
        found = replace(found, metadata=self.store.touched(found.metadata))
        self.store.of_kind(found.api_version, found.kind)[found.key] = found
        self.admission.learn(found)
        self._tell(ObjectChanged(found), matters=matters)

    def _tell(self, event: Event, *, matters: bool) -> None:
        self.store.version += matters
        self._untold.append(event)
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                told = self._untold.popleft()
                for listener in self._listeners:
                    listener(told)
        finally:
            self._telling = False


def _not_bindable(pod: Pod, uid: str) -> str:
    """Why the API server refuses a binding; "" when it does not."""
    if uid and uid != pod.uid:
        return f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod.uid}"
    if pod.terminating:
        return f"pod {pod.name} is being deleted, cannot be assigned to a host"
    if pod.spec.node_name:
        return f'pod {pod.name} is already assigned to node "{pod.spec.node_name}"'
    if pod.spec.scheduling_gates:
        return f"pod {pod.name} has non-empty .spec.schedulingGates"
    return ""
