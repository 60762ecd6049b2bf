"""Brings the objects of manifests into a world, each at its time.

At the same moment nodes come first, then whatever is not a pod or workload, then pods that run
already: all a scheduler has to know before it places the rest, which comes in the order of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mooring.errors import ApiError
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from mooring.sim.controllers import Controllers
from mooring.sim.manifests.manifests import Entry
from mooring.sim.world.priorities import PriorityClasses
from mooring.sim.world.workloads import (
    DaemonSet,
    Deployment,
    Job,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
    Workload,
)
from mooring.sim.world.world import World
from mooring.workloads.owners.expansion import expand, makes_pods
from mooring.workloads.written_values import moment as moment_of

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
NODES, OBJECTS, RUNNING, OWNED, REPLICA_SETS, WAITING = range(6)


def start_of(entries: Sequence[Entry]) -> float:
    """When a simulation begins: 0, or after everything that objects of a real cluster tell of."""
    moments = (moment_of(text) for entry in entries for text in _timestamps(entry))
    return max((float(int(moment) + 1) for moment in moments if moment is not None), default=0.0)


def priority_classes(entries: Sequence[Entry]) -> PriorityClasses:
    """The classes that are given, and those that pods of a running cluster know the value of."""
    given = [entry.value for entry in entries if isinstance(entry.value, PriorityClass)]
    specs = [entry.value.spec for entry in entries if isinstance(entry.value, Pod)]
    seen = [
        PriorityClass(
            metadata=ObjectMeta(name=spec.priority_class_name),
            value=spec.priority,
            preemption_policy=spec.preemption_policy or "PreemptLowerPriority",
        )
        for spec in specs
        if spec.priority_class_name and spec.priority is not None
    ]
    return PriorityClasses([*seen, *given])


def expected_pods(entries: Sequence[Entry]) -> int:
    """How many pods the manifests amount to, for a progress bar."""
    nodes = sum(isinstance(entry.value, Node) for entry in entries)
    return sum(_pods_of(entry, nodes) for entry in entries)


class Loader:
    """Plans the arrival of every entry. `arrived` hears of each pod that a manifest holds itself."""

    def __init__(self, world: World, controllers: Controllers, arrived: Callable[[Pod], None]) -> None:
        self._world = world
        self._controllers = controllers
        self._arrived = arrived

    def plan(self, entries: Sequence[Entry]) -> None:
        for namespace in _namespaces(entries):
            self._world.create_object(namespace)
        joins = {entry.value.name: entry.arrives_at for entry in entries if isinstance(entry.value, Node)}
        self._controllers.expect(entry.object for entry in entries)
        for entry in sorted(entries, key=_rank):
            self._plan(entry, joins)

    def _plan(self, entry: Entry, joins: dict[str, float]) -> None:
        clock = self._world.clock
        arrives = entry.arrives_at
        if isinstance(entry.value, Pod):  # a pod cannot run on a node that is not there yet
            arrives = max(arrives, joins.get(entry.value.spec.node_name, 0.0))
        clock.at(clock.start + arrives, lambda: self._bring(entry))
        if entry.leaves_at is not None:
            name = entry.object.metadata.name
            clock.at(clock.start + entry.leaves_at, lambda: self._world.delete_node(name))

    def _bring(self, entry: Entry) -> None:
        value = entry.value
        if isinstance(value, Node):
            self._world.create_node(value)
        elif isinstance(value, Pod):
            self._bring_pod(value)
        else:
            created = self._world.create_object(entry.object)
            if isinstance(value, Workload):
                self._controllers.add(created, value)
            elif makes_pods(created.api_version, created.kind):
                self._controllers.add(created)

    def _bring_pod(self, value: Pod) -> None:
        """A pod that admission refuses, or whose name a workload has taken meanwhile, does not come."""
        try:
            pod = self._world.create_pod(value)
        except ApiError as error:
            self._world.record("Warning", "FailedCreate", "Create", value, str(error))
            self._world.refused[value.key] = str(error)
            return
        self._controllers.note(pod)
        self._arrived(pod)


def _rank(entry: Entry) -> int:
    value = entry.value
    if isinstance(value, Node):
        return NODES
    if isinstance(value, Pod):
        if value.spec.node_name or value.status.phase in ("Succeeded", "Failed"):
            return RUNNING
        return OWNED if value.metadata.owner_references else WAITING  # before whoever would make it anew
    if isinstance(value, ReplicaSet):  # before the Deployments that own them
        return REPLICA_SETS if value.metadata.owner_references else WAITING
    plain = entry.object
    comes_late = isinstance(value, Workload) or makes_pods(plain.api_version, plain.kind)
    return WAITING if comes_late else OBJECTS


def _namespaces(entries: Sequence[Entry]) -> list[Object]:
    """Namespaces that are used but not given, so that namespace selectors see them."""
    given = {entry.object.metadata.name for entry in entries if entry.object.kind == "Namespace"}
    used = {entry.object.metadata.namespace for entry in entries} - {""}
    return [_namespace(name) for name in sorted(used - given)]


def _namespace(name: str) -> Object:
    meta = ObjectMeta(name=name, labels={NAMESPACE_LABEL: name})
    data = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": meta.labels}}
    return Object(api_version="v1", kind="Namespace", metadata=meta, data=data)


def _pods_of(entry: Entry, nodes: int) -> int:
    match value := entry.value:
        case Pod():
            return 1
        case Deployment() | ReplicaSet() | StatefulSet():
            return value.spec.replicas
        case DaemonSet():
            return nodes
        case Job():
            spec = value.spec
            return spec.parallelism if spec.completions is None else spec.completions
        case _:
            made = expand(entry.object.data)
            return 0 if made is None else sum(one.total for one in made.sets)


def _timestamps(entry: Entry) -> list[str]:
    texts = [entry.object.metadata.creation_timestamp]
    if isinstance(entry.value, Pod):
        texts.append(entry.value.status.start_time)
    return [text for text in texts if text]
