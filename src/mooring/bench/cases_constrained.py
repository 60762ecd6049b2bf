"""Cases of pods that are told where not to be: spread and kept apart, in one kind or in a thousand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mooring.bench.case import HOST, ZONE, Case, node, pod, pod_spec, pods_of
from mooring.model.objects import Node, Pod, PodSpec

ZONES = 3
KINDS = 1000
DISK = "disk"
APP, OTHER = {"app": "web"}, {"app": "other"}
ALWAYS, IF_POSSIBLE = "DoNotSchedule", "ScheduleAnyway"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
FIRST = pods_of(pod_spec(), "first", OTHER)


def _zoned_node(number: int) -> Node:
    return node(number, labels={ZONE: f"zone-{number % ZONES}", DISK: "ssd" if number % 2 else "hdd"})


def _spread(key: str, otherwise: str, labels: dict[str, str]) -> dict[str, Any]:
    selector = {"matchLabels": labels}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": otherwise, "labelSelector": selector}


def _term(key: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def _weighted(weight: int, key: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"weight": weight, "podAffinityTerm": _term(key, labels)}


def _hard_spread(labels: dict[str, str], requests: dict[str, Any] | None = None) -> PodSpec:
    constraints = [_spread(HOST, ALWAYS, labels), _spread(ZONE, ALWAYS, labels)]
    return pod_spec(requests, topologySpreadConstraints=constraints)


def _apart(labels: dict[str, str], requests: dict[str, Any] | None = None) -> PodSpec:
    return pod_spec(requests, affinity={"podAntiAffinity": {REQUIRED: [_term(HOST, labels)]}})


def _everything() -> PodSpec:
    wish = {"matchExpressions": [{"key": DISK, "operator": "In", "values": ["ssd"]}]}
    affinity = {
        "nodeAffinity": {PREFERRED: [{"weight": 10, "preference": wish}]},
        "podAffinity": {PREFERRED: [_weighted(20, ZONE, OTHER)]},
        "podAntiAffinity": {REQUIRED: [_term(HOST, APP)], PREFERRED: [_weighted(30, ZONE, APP)]},
    }
    constraints = [_spread(key, what, APP) for what in (ALWAYS, IF_POSSIBLE) for key in (HOST, ZONE)]
    return pod_spec(affinity=affinity, topologySpreadConstraints=constraints)


def _constrained_classes(count: int, nodes: int) -> Iterator[Pod]:
    """Every other application is spread over hosts and zones; pods of the others keep apart by host."""
    specs: list[tuple[PodSpec, dict[str, str]]] = []
    for kind in range(KINDS):
        labels = {"app": f"app-{kind}"}
        requests = {"cpu": f"{100 + kind}m", "memory": "500Mi"}
        specs.append(((_apart if kind % 2 else _hard_spread)(labels, requests), labels))
    for number in range(count):
        spec, labels = specs[number % KINDS]
        yield pod(f"pod-{number}", spec, labels)


CONSTRAINED_CASES: Final = (
    Case(
        name="HardSpread",
        about="spread over hosts and three zones, with a skew of 1 at most",
        make_node=_zoned_node,
        make_first_pods=FIRST,
        make_pods=pods_of(_hard_spread(APP), labels=APP),
        pods=8000,
    ),
    Case(
        name="RequiredAntiAffinity",
        about="no two on one host",
        make_node=_zoned_node,
        make_first_pods=FIRST,
        make_pods=pods_of(_apart(APP), labels=APP),
        pods=4800,
    ),
    Case(
        name="Everything",
        about="hard and soft spread, required and preferred anti-affinity, preferred affinities, all at once",
        make_node=_zoned_node,
        make_first_pods=FIRST,
        make_pods=pods_of(_everything(), labels=APP),
        pods=4800,
    ),
    Case(
        name="ManyClassesConstrained",
        about="1,000 applications, spread or kept apart, one pod of each after the other",
        make_node=_zoned_node,
        make_first_pods=FIRST,
        make_pods=_constrained_classes,
        pods=5000,
    ),
)
