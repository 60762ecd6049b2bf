"""The gangs an object declares, as its operator would have them: a PodGroup and pods that name it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from mooring.workloads.keys import (
    KAI_POD_GROUP,
    KAI_SUB_GROUP,
    NAMING_ANNOTATIONS,
    NAMING_LABELS,
    PLUGINS_LABEL,
    VOLCANO_POD_GROUP,
    VOLCANO_TASK,
)
from mooring.workloads.owners.paths import at, mapping, number, word
from mooring.workloads.owners.rows import DeclaredGang, GangRow, OwnerKind, PodSet
from mooring.workloads.owners.table import KAI, PLUGINS, VOLCANO

TOPOLOGY_NOTES = {
    "topology": "kai.scheduler/topology",
    "requiredTopologyLevel": "kai.scheduler/topology-required-placement",
    "preferredTopologyLevel": "kai.scheduler/topology-preferred-placement",
}
API_VERSIONS = {
    VOLCANO: "scheduling.volcano.sh/v1beta1",
    KAI: "scheduling.run.ai/v2alpha2",
    PLUGINS: "scheduling.x-k8s.io/v1alpha1",
}


def gangs_of(
    data: dict[str, Any], row: OwnerKind, sets: Sequence[PodSet], leasts: dict[str, int]
) -> tuple[tuple[DeclaredGang, ...], list[PodSet]]:
    """The gangs, and the sets with the gang each belongs to."""
    how = row.gang
    if how is None or not _is_gang(data, how, sets):
        return (), list(sets)
    dialect = how.dialect or _dialect(sets)
    owner = str(mapping(data, "metadata").get("name") or "")
    elastic = not how.elastic or at(data, how.elastic) is True
    gangs: dict[str, list[PodSet]] = {}
    for one in sets:
        gangs.setdefault(_name(data, how, one, owner), []).append(one)
    made = []
    for name, members in gangs.items():
        own = {one.part: 0 for one in members}
        for one in members:
            own[one.part] += leasts.get(one.name, one.count) if elastic else one.count
        least = number(data, *how.least)
        made.append(
            DeclaredGang(
                name=name,
                dialect=dialect,
                least=sum(own.values()) if least is None else least,
                parts=own if how.parts else {},
                topology=_topology(data, how, dialect),
                wait_s=number(data, how.wait),
            )
        )
    by_set = {one.name: name for name, members in gangs.items() for one in members}
    return tuple(made), [replace(one, gang=by_set[one.name]) for one in sets]


def pod_group(gang: DeclaredGang, namespace: str, owner: dict[str, Any]) -> dict[str, Any]:
    """The PodGroup an operator makes for a gang, as plain data."""
    spec: dict[str, Any] = {"minMember": gang.least}
    if gang.dialect == VOLCANO:
        spec["minTaskMember"] = dict(gang.parts)
        spec["networkTopology"] = gang.topology or None
    elif gang.dialect == KAI:
        spec["subGroups"] = [
            {"name": name, "minMember": least, "topologyConstraint": gang.part_topologies.get(name)}
            for name, least in gang.parts.items()
        ]
        spec["topologyConstraint"] = gang.topology or None
    elif gang.wait_s is not None:
        spec["scheduleTimeoutSeconds"] = gang.wait_s
    return {
        "apiVersion": API_VERSIONS[gang.dialect],
        "kind": "PodGroup",
        "metadata": {"name": gang.name, "namespace": namespace, "ownerReferences": [owner]},
        "spec": {key: value for key, value in spec.items() if value},
    }


def membership(gang: DeclaredGang, part: str) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations by which a pod belongs to a gang."""
    if gang.dialect == VOLCANO:
        return {}, {VOLCANO_POD_GROUP: gang.name, VOLCANO_TASK: part}
    if gang.dialect == KAI:
        return ({KAI_SUB_GROUP: part} if gang.parts else {}), {KAI_POD_GROUP: gang.name}
    return {PLUGINS_LABEL: gang.name}, {}


def named_in(one: PodSet, scheduler: str) -> PodSet:
    """The set with a scheduler in its template, unless it names one."""
    spec = mapping(one.template, "spec")
    if spec.get("schedulerName"):
        return one
    return replace(one, template={**one.template, "spec": {**spec, "schedulerName": scheduler}})


def _is_gang(data: dict[str, Any], how: GangRow, sets: Iterable[PodSet]) -> bool:
    """Pods that name a gang of their own are left to it."""
    if not sets or any(_names_one(one.template) for one in sets):
        return False
    labels = mapping(data, "metadata.labels")
    names = {word(one.template, "spec.schedulerName") for one in sets}
    return (
        how.always
        or any(at(data, path) is not None for path in how.declared)
        or any(label in labels for label in how.labels)
        or not names.isdisjoint(how.schedulers)
    )


def _names_one(template: dict[str, Any]) -> bool:
    spec = mapping(template, "spec")
    return (
        not NAMING_LABELS.isdisjoint(mapping(template, "metadata.labels"))
        or not NAMING_ANNOTATIONS.isdisjoint(mapping(template, "metadata.annotations"))
        or "schedulingGroup" in spec
        or "workloadRef" in spec
    )


def _dialect(sets: Iterable[PodSet]) -> str:
    names = [word(one.template, "spec.schedulerName") for one in sets]
    return next((name for name in names if name in API_VERSIONS), PLUGINS)


def _name(data: dict[str, Any], how: GangRow, one: PodSet, owner: str) -> str:
    """One gang for all, for each copy, or for each role."""
    if how.in_order is not None and at(data, how.in_order[0]) == how.in_order[1]:
        return f"{owner}-{one.part}"
    copy = one.name.rpartition("-")[2] if how.each_copy else ""
    return how.name.replace("{owner}", owner).replace("{copy}", copy)


def _topology(data: dict[str, Any], how: GangRow, dialect: str) -> dict[str, Any]:
    if how.topology and (found := mapping(data, how.topology)):
        return found
    notes = mapping(data, "metadata.annotations") if dialect == KAI else {}
    return {field: notes[key] for field, key in TOPOLOGY_NOTES.items() if notes.get(key)}
