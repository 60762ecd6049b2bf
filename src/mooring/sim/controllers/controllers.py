"""All controllers of the cluster: starts one for each workload and tells it what concerns it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.engine.events import Event, NodeAdded, NodeDeleted, PodAdded, PodChanged, PodDeleted
from mooring.errors import MooringError
from mooring.model.objects import Object, ObjectMeta, Pod
from mooring.model.plain import read
from mooring.sim.controllers.claims import EphemeralClaims
from mooring.sim.controllers.controller import Follower
from mooring.sim.controllers.daemon import DaemonSetController
from mooring.sim.controllers.job import JobController
from mooring.sim.controllers.owned import OwnedPods
from mooring.sim.controllers.replicas import (
    HASH_LABEL,
    ReplicaSetController,
    read_replica_set,
    replica_set_of,
)
from mooring.sim.controllers.scheduled import ScheduledController
from mooring.sim.controllers.stateful import StatefulSetController
from mooring.sim.controllers.volumes import VolumeController
from mooring.sim.world.known_kinds import is_typed
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.workloads import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet, Workload
from mooring.sim.world.world import World
from mooring.workloads.owners.expansion import expand, label_of, makes_pods
from mooring.workloads.owners.schedules import is_suspended, scheduled_by

MAKERS = frozenset(kind.__name__ for kind in (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job))
SUSPENDED, ENDLESS = "suspended", "no pods without --until"

Owner = tuple[str, str, str, str]  # namespace, group, kind, name


class Controllers:
    """Listens to a world and keeps its workloads at strength.

    `until` is the moment the run ends, if one is set: schedules have no end of their own. `remarks` say of
    which objects pods could not be made as they are written; `idle` counts those that make none for now.
    """

    def __init__(self, world: World, *, until: float | None = None) -> None:
        self._world = world
        self._until = until
        self._controllers: dict[Owner, Follower] = {}
        self._found: dict[Owner, list[str]] = {}
        self._strangers: list[str] = []  # keys of pods that nobody here made
        self._given: dict[Owner, Object] = {}
        self._parents: set[Owner] = set()
        self.remarks: list[str] = []
        self.idle: dict[str, dict[str, int]] = {}  # why, then how many of which kind
        self._leaving: set[str] = set()
        world.subscribe(self._hear)
        EphemeralClaims(world)
        VolumeController(world)

    def expect(self, objects: Iterable[Object]) -> None:
        """All that will be there: what objects may refer to, and whose pods others make already."""
        for plain in objects:
            self._given[_owner(plain)] = plain
            is_maker = plain.kind in MAKERS and is_typed(plain.kind, plain.api_version)
            if is_maker or makes_pods(plain.api_version, plain.kind):
                self._parents |= set(controllers_of(plain.metadata))

    def add(self, plain: Object, workload: Workload | None = None) -> None:
        """Takes charge of a workload that stands in the world as `plain`; one without a type by the table."""
        if isinstance(workload, Deployment):
            self._deploy(plain, workload)
            return
        controller = self._owned(plain) if workload is None else self._controller(plain, workload)
        if isinstance(workload, Job) and workload.spec.suspend:
            self._note_idle(SUSPENDED, plain)
        if controller is not None:
            owner = _owner(plain)
            self._controllers[owner] = controller
            controller.start(self._pods_of(owner))

    def _owned(self, plain: Object) -> Follower | None:
        """Pods by the table of owners; none where other objects make them already."""
        if (row := scheduled_by(plain.api_version, plain.kind)) is not None:
            if is_suspended(row, plain.data):
                self._note_idle(SUSPENDED, plain)
            elif self._until is None:
                self._note_idle(ENDLESS, plain)
            else:
                return ScheduledController(self._world, plain, row, self._until, self._make, self._end)
            return None
        owner = _owner(plain)
        made = expand(plain.data, self._find)
        if made is None or owner in self._parents:
            return None
        for remark in made.remarks:
            self._remark(f"{plain.kind} {plain.key}: {remark}")
        if made.suspended:
            self._note_idle(SUSPENDED, plain)
            return None
        if (label := label_of(plain.api_version, plain.kind)) is not None:
            self._claim(owner, label)
        try:
            return OwnedPods(self._world, plain, made)
        except (msgspec.ValidationError, MooringError, ValueError) as error:
            self._remark(f"{plain.kind} {plain.key}: its pods cannot be made: {error}")
            return None

    def _make(self, data: dict[str, Any]) -> None:
        """One more object, and what comes of it."""
        is_job = (data["apiVersion"], data["kind"]) == ("batch/v1", "Job")
        try:
            meta = read(data["metadata"], ObjectMeta)
            job = read(data, Job) if is_job else None
        except msgspec.ValidationError as error:
            self._remark(f"{data['kind']} {data['metadata']['name']}: cannot be made: {error}")
            return
        plain = Object(api_version=data["apiVersion"], kind=data["kind"], metadata=meta, data=data)
        created = self._world.create_object(plain)
        self.add(created, None if job is None else replace(job, metadata=created.metadata))

    def _remark(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)

    def _end(self, owner: Owner) -> None:
        """A workload goes, and its pods with it."""
        self._controllers.pop(owner, None)
        for pod in [pod for pod in self._world.pods.values() if owner_of(pod) == owner]:
            self._world.delete_pod(pod.key)

    def _note_idle(self, why: str, plain: Object) -> None:
        counts = self.idle.setdefault(why, {})
        counts[plain.kind] = counts.get(plain.kind, 0) + 1

    def _find(self, group: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        found = self._given.get((namespace, group, kind, name))
        return None if found is None else found.data

    def _claim(self, owner: Owner, label: str) -> None:
        """Pods that say by their label whose they are count, whoever made them."""
        known = set(self._found.get(owner, ()))
        for key in self._strangers:
            pod = self._world.pods.get(key)
            if pod is None or key in known or pod.namespace != owner[0]:
                continue
            if pod.labels.get(label) == owner[3]:
                self._found.setdefault(owner, []).append(key)

    def held_back(self) -> dict[str, int]:
        """Pods that are still to be made, by `Kind namespace/name` of what makes them."""
        counts = {
            f"{kind} {namespace}/{name}": follower.held_back()
            for (namespace, _, kind, name), follower in self._controllers.items()
        }
        return {name: count for name, count in counts.items() if count}

    def note(self, pod: Pod) -> None:
        """A pod that nobody here made: it counts as made by the workload it names as its owner."""
        self._strangers.append(pod.key)
        owner = owner_of(pod)
        if owner is not None:
            self._found.setdefault(owner, []).append(pod.key)

    def _pods_of(self, owner: Owner) -> list[Pod]:
        """The pods noted for a workload. Failed ones make room for new ones."""
        pods = [self._world.pods[key] for key in self._found.pop(owner, ()) if key in self._world.pods]
        for pod in pods:
            if pod.status.phase == "Failed":
                self._world.delete_pod(pod.key)
        return [pod for pod in pods if pod.status.phase != "Failed"]

    def _deploy(self, plain: Object, workload: Deployment) -> None:
        """A Deployment taken from a running cluster has its ReplicaSet already."""
        name = plain.metadata.name
        for known in self._world.store.of_kind("apps/v1", "ReplicaSet").values():
            if known.metadata.namespace != plain.metadata.namespace:
                continue
            if any(o.kind == "Deployment" and o.name == name for o in known.metadata.owner_references):
                return
        made = self._world.create_object(replica_set_of(plain, workload, self._hash_of_pods(plain)))
        self.add(made, read_replica_set(made))

    def _hash_of_pods(self, plain: Object) -> str:
        """What pods of a Deployment are called whose ReplicaSet is not given; "" if there are none."""
        found = ""
        for owner, keys in self._found.items():
            namespace, kind, name = owner[0], owner[-2], owner[-1]
            if kind != "ReplicaSet" or namespace != plain.metadata.namespace:
                continue
            labels = [self._world.pods[key].labels for key in keys if key in self._world.pods]
            hashes = {each.get(HASH_LABEL, "") for each in labels}
            found = next((h for h in hashes if h and name == f"{plain.metadata.name}-{h}"), found)
        return found

    def _controller(self, plain: Object, workload: Workload) -> Follower:
        match workload:
            case ReplicaSet():
                return ReplicaSetController(self._world, plain, workload)
            case StatefulSet():
                return StatefulSetController(self._world, plain, workload)
            case DaemonSet():
                return DaemonSetController(self._world, plain, workload)
            case Job():
                return JobController(self._world, plain, workload)
            case _:
                raise TypeError(f"no controller for {type(workload).__name__}")

    def _hear(self, event: Event) -> None:
        match event:
            case PodAdded(pod) | PodChanged(pod):
                self._pod(pod)
            case PodDeleted(pod):
                self._pod_deleted(pod)
            case NodeAdded(node):
                for controller in list(self._controllers.values()):
                    controller.node_joined(node)
            case NodeDeleted(node):
                for controller in list(self._controllers.values()):
                    controller.node_left(node)
            case _:
                pass

    def _pod(self, pod: Pod) -> None:
        controller = self._of(pod)
        if controller is None:
            return
        if pod.terminating:
            if pod.uid not in self._leaving:
                self._leaving.add(pod.uid)
                controller.pod_leaving(pod)
        elif pod.spec.node_name:
            controller.pod_running(pod)

    def _pod_deleted(self, pod: Pod) -> None:
        self._leaving.discard(pod.uid)
        controller = self._of(pod)
        if controller is not None:
            (controller.pod_finished if is_finished(pod) else controller.pod_gone)(pod)

    def _of(self, pod: Pod) -> Follower | None:
        owner = owner_of(pod)
        return self._controllers.get(owner) if owner else None


def owner_of(pod: Pod) -> Owner | None:
    """The workload that controls a pod."""
    return next(controllers_of(pod.metadata), None)


def controllers_of(meta: ObjectMeta) -> Iterator[Owner]:
    """The objects that control an object."""
    for each in meta.owner_references:
        if each.controller:
            yield meta.namespace, each.api_version.rpartition("/")[0], each.kind, each.name


def _owner(plain: Object) -> Owner:
    meta = plain.metadata
    return meta.namespace, plain.api_version.rpartition("/")[0], plain.kind, meta.name
