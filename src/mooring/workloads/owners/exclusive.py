"""Copies that have a domain of nodes to themselves, as JobSet's and LeaderWorkerSet's annotations ask for.

Their webhooks have the first pod of a copy keep away from other copies and the others follow it. All pods
of a copy being drawn to each other and away from other copies comes to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from mooring.workloads.owners.paths import mapping, mappings
from mooring.workloads.owners.rows import OwnerKind, PodSet

KEY = "sim.mooring.io/exclusive-key"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def with_exclusive_topology(data: dict[str, Any], row: OwnerKind, sets: Sequence[PodSet]) -> Sequence[PodSet]:
    node_label = mapping(data, "metadata.annotations").get(row.exclusive) if row.exclusive else None
    if not isinstance(node_label, str) or not node_label:
        return sets
    owner = mapping(data, "metadata")
    return [_apart(one, node_label, f"{owner.get('namespace', '')}.{owner.get('name')}", row) for one in sets]


def _apart(one: PodSet, node_label: str, owner: str, row: OwnerKind) -> PodSet:
    copy = one.name.rpartition("-")[2] if row.copies else one.name
    key = f"{owner}.{copy}"[-63:].strip(".-")
    spec = mapping(one.template, "spec")
    affinity = mapping(spec, "affinity")
    own: dict[str, Any] = {"key": KEY, "operator": "In", "values": [key]}
    others: list[dict[str, Any]] = [
        {"key": KEY, "operator": "Exists"},
        {"key": KEY, "operator": "NotIn", "values": [key]},
    ]
    affinity = {
        **affinity,
        "podAffinity": _with_term(mapping(affinity, "podAffinity"), node_label, [own]),
        "podAntiAffinity": _with_term(mapping(affinity, "podAntiAffinity"), node_label, others),
    }
    template = {**one.template, "spec": {**spec, "affinity": affinity}}
    return replace(one, template=template, labels={**one.labels, KEY: key})


def _with_term(kind: dict[str, Any], node_label: str, expressions: list[dict[str, Any]]) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchExpressions": expressions},
        "topologyKey": node_label,
        "namespaceSelector": {},
    }
    return {**kind, REQUIRED: [*mappings(kind, REQUIRED), term]}
