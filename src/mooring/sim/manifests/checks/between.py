"""Mistakes between objects: the same one twice, and names that name nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mooring.errors import Mistake, did_you_mean
from mooring.sim.manifests.checks.owners import pod_specs
from mooring.sim.manifests.located_value import Spot
from mooring.sim.world.defaults import DEFAULT_NAMESPACE
from mooring.sim.world.known_kinds import is_typed, scopes_of
from mooring.sim.world.priorities import BUILT_IN

WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")


def mistakes_between(spots: list[Spot]) -> Iterator[Mistake]:
    """`spots` are objects with a kind, an apiVersion and a name."""
    yield from _twice(spots)
    yield from _two_defaults(_of_kind(spots, "PriorityClass"))
    classes = _classes(_of_kind(spots, "PriorityClass"))
    for kind in ("Pod", *WORKLOADS):
        below = ("spec",) if kind == "Pod" else ("spec", "template", "spec")
        for spot in _of_kind(spots, kind):
            yield from _priority(spot.child(*below), classes)
    for spot in spots:
        for spec in pod_specs(spot):
            yield from _priority(spec, classes)
    nodes = {spot.child("metadata", "name").value for spot in _of_kind(spots, "Node")}
    for pod in _of_kind(spots, "Pod"):
        yield from _node_name(pod.child("spec", "nodeName"), nodes)


def _of_kind(spots: Iterable[Spot], kind: str) -> list[Spot]:
    return [spot for spot in spots if spot.value["kind"] == kind and is_typed(kind, spot.value["apiVersion"])]


def _twice(spots: list[Spot]) -> Iterator[Mistake]:
    cluster_wide = scopes_of([s.value for s in spots if s.value["kind"] == "CustomResourceDefinition"])
    first: dict[tuple[str, str, str], Spot] = {}
    for spot in spots:
        name = spot.child("metadata", "name")
        if name.value is None:  # the cluster will make one up from generateName
            continue
        kind = spot.value["kind"]
        namespace = spot.child("metadata", "namespace").value or DEFAULT_NAMESPACE
        key = str(name.value) if kind in cluster_wide else f"{namespace}/{name.value}"
        identity = (spot.value["apiVersion"].rpartition("/")[0], kind, key)
        if identity in first:
            yield Mistake(
                name.place, f"{kind} {key} is given twice; the first is at {first[identity].place}."
            )
        else:
            first[identity] = name


def _two_defaults(classes: list[Spot]) -> Iterator[Mistake]:
    defaults = [spot for spot in classes if spot.child("globalDefault").value is True]
    for spot in defaults[1:]:
        other = defaults[0].child("metadata", "name")
        what = f"only one PriorityClass may be the default, and {other.value} at {other.place} is."
        yield Mistake(spot.child("globalDefault").place, what)


def _classes(spots: list[Spot]) -> dict[str, object]:
    built_in: dict[str, object] = {known.metadata.name: known.value for known in BUILT_IN}
    return built_in | {spot.child("metadata", "name").value: spot.child("value").value for spot in spots}


def _priority(spec: Spot, classes: dict[str, object]) -> Iterator[Mistake]:
    name, priority = spec.child("priorityClassName"), spec.child("priority")
    if not isinstance(name.value, str) or not name.value:
        return
    if name.value not in classes:
        if priority.value is None:  # a pod taken from a running cluster carries the number itself
            advice = did_you_mean(name.value, sorted(classes))
            yield name.note(f' "{name.value}" names no PriorityClass.{advice}')
    elif isinstance(priority.value, int) and priority.value != classes[name.value]:
        yield priority.wrong(f'is not the {classes[name.value]} of PriorityClass "{name.value}"')


def _node_name(name: Spot, nodes: set[object]) -> Iterator[Mistake]:
    if isinstance(name.value, str) and name.value and name.value not in nodes:
        advice = did_you_mean(name.value, sorted(str(node) for node in nodes))
        yield name.note(f' "{name.value}" names no Node.{advice}')
