"""All controllers of the cluster: starts one for each workload and tells it what concerns it."""

from __future__ import annotations

from mooring.engine.events import Event, NodeAdded, NodeDeleted, PodAdded, PodChanged, PodDeleted
from mooring.model.objects import Object, Pod
from mooring.sim.controllers.claims import EphemeralClaims
from mooring.sim.controllers.controller import Controller
from mooring.sim.controllers.daemon import DaemonSetController
from mooring.sim.controllers.job import JobController
from mooring.sim.controllers.replicas import (
    HASH_LABEL,
    ReplicaSetController,
    read_replica_set,
    replica_set_of,
)
from mooring.sim.controllers.stateful import StatefulSetController
from mooring.sim.controllers.volumes import VolumeController
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.workloads import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet, Workload
from mooring.sim.world.world import World

Owner = tuple[str, str, str]  # namespace, kind, name


class Controllers:
    """Listens to a world and keeps its workloads at strength."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._controllers: dict[Owner, Controller] = {}
        self._found: dict[Owner, list[str]] = {}
        self._leaving: set[str] = set()
        world.subscribe(self._hear)
        EphemeralClaims(world)
        VolumeController(world)

    def add(self, plain: Object, workload: Workload) -> None:
        """Takes charge of a workload that stands in the world as `plain`."""
        if isinstance(workload, Deployment):
            self._deploy(plain, workload)
            return
        controller = self._controller(plain, workload)
        owner = (plain.metadata.namespace, plain.kind, plain.metadata.name)
        self._controllers[owner] = controller
        controller.start(self._pods_of(owner))

    def note(self, pod: Pod) -> None:
        """A pod that nobody here made: it counts as made by the workload it names as its owner."""
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

    def _controller(self, plain: Object, workload: Workload) -> Controller:
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

    def _of(self, pod: Pod) -> Controller | None:
        owner = owner_of(pod)
        return self._controllers.get(owner) if owner else None


def owner_of(pod: Pod) -> Owner | None:
    """The workload that controls a pod."""
    for reference in pod.metadata.owner_references:
        if reference.controller:
            return pod.namespace, reference.kind, reference.name
    return None
