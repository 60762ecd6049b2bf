"""Cases of pods that want to be near other pods, or away from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mooring.bench.case import HOST, ZONE, Case, MakePods, node, plain_object, pod, pod_spec, pods_of
from mooring.engine.engine import Engine
from mooring.engine.events import PodChanged
from mooring.model.objects import Node, Object, ObjectMeta, Pod, PodSpec

FIRST_NAMESPACE, MEASURED_NAMESPACE = "sched-0", "sched-1"
TEAM = {"team": "devops"}
TEAM_NAMESPACES = 100
MEASURED_TEAM_NAMESPACE = "measured"
BOTH_NAMESPACES: dict[str, Any] = {"namespaces": [MEASURED_NAMESPACE, FIRST_NAMESPACE]}
OF_THE_TEAM: dict[str, Any] = {"namespaceSelector": {"matchLabels": TEAM}}
SHOWN_AFTER = 100  # pods
NEAR, APART = "podAffinity", "podAntiAffinity"
GREEN, BLUE, RED, YELLOW = ({"color": name} for name in ("green", "blue", "red", "yellow"))


def _zone_1_node(number: int) -> Node:
    return node(number, labels={ZONE: "zone1"})


def _required(kind: str, labels: dict[str, str], key: str, **where: Any) -> PodSpec:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **where}
    return pod_spec(affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def _preferred(kind: str, labels: dict[str, str], key: str, **where: Any) -> PodSpec:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **where}
    weighted = {"weight": 1, "podAffinityTerm": term}
    return pod_spec(affinity={kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}})


def _first(spec: PodSpec, labels: dict[str, str]) -> MakePods:
    return pods_of(spec, "first", labels, FIRST_NAMESPACE)


def _measured(spec: PodSpec, labels: dict[str, str]) -> MakePods:
    return pods_of(spec, "pod", labels, MEASURED_NAMESPACE)


ASKS_NOTHING = pod_spec({})
APART_GREEN = _required(APART, GREEN, HOST, **BOTH_NAMESPACES)
NEAR_BLUE = _required(NEAR, BLUE, ZONE, **BOTH_NAMESPACES)
NEAR_RED = _preferred(NEAR, RED, HOST, **BOTH_NAMESPACES)
APART_YELLOW = _preferred(APART, YELLOW, HOST, **BOTH_NAMESPACES)
TEAM_APART_GREEN = _required(APART, GREEN, HOST, **OF_THE_TEAM)
TEAM_NEAR_BLUE = _required(NEAR, BLUE, ZONE, **OF_THE_TEAM)
TEAM_NEAR_RED = _preferred(NEAR, RED, HOST, **OF_THE_TEAM)
TEAM_APART_YELLOW = _preferred(APART, YELLOW, HOST, **OF_THE_TEAM)


def _of_five_kinds(count: int, nodes: int) -> Iterator[Pod]:
    """A fifth of the pods is plain, a fifth of each kind of affinity; kind after kind."""
    kinds: tuple[tuple[PodSpec, dict[str, str]], ...] = (
        (pod_spec(), {}),
        (NEAR_BLUE, BLUE),
        (APART_GREEN, GREEN),
        (NEAR_RED, RED),
        (APART_YELLOW, YELLOW),
    )
    for number in range(count):
        spec, labels = kinds[number * len(kinds) // count]
        yield pod(f"first-{number}", spec, labels, FIRST_NAMESPACE)


def _first_of_team(spec: PodSpec, labels: dict[str, str]) -> MakePods:
    """Pods in the namespaces of the team, namespace after namespace."""

    def make(count: int, nodes: int) -> Iterator[Pod]:
        for number in range(count):
            yield pod(f"first-{number}", spec, labels, f"team-{number * TEAM_NAMESPACES // count}")

    return make


def _team_namespaces() -> tuple[Object, ...]:
    names = (*(f"team-{number}" for number in range(TEAM_NAMESPACES)), MEASURED_TEAM_NAMESPACE)
    return tuple(plain_object("Namespace", ObjectMeta(name=name, labels=TEAM)) for name in names)


def _shown_bound(engine: Engine, number: int) -> None:
    """The API server shows pods bound some time after they are: that is what wakes pods that want them."""
    if number >= SHOWN_AFTER:
        bound = pod(f"pod-{number - SHOWN_AFTER}", ASKS_NOTHING, GREEN).on_node("node-0")
        engine.handle(PodChanged(bound), 0.0)


def _of_gated(count: int, nodes: int) -> Iterator[Pod]:
    term = {"labelSelector": {"matchLabels": GREEN}, "topologyKey": HOST}
    near = {NEAR: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = pod_spec({}, affinity=near, schedulingGates=[{"name": "wait"}])
    return pods_of(spec, "gated", GREEN)(count, nodes)


def _of_one_kind(name: str, about: str, spec: PodSpec, labels: dict[str, str], **more: Any) -> Case:
    """Pods want, or keep away from, pods like themselves."""
    first, measured = _first(spec, labels), _measured(spec, labels)
    fields: dict[str, Any] = {"first_pods": 5000, "pods": 5000, **more}
    return Case(name=name, about=about, make_first_pods=first, make_pods=measured, **fields)


def _of_one_team(name: str, about: str, spec: PodSpec, labels: dict[str, str], **more: Any) -> Case:
    """The same with pods of a team, in its hundred namespaces and in one more."""
    return Case(
        name=name,
        about=about,
        make_first_pods=_first_of_team(spec, labels),
        make_pods=pods_of(spec, "pod", labels, MEASURED_TEAM_NAMESPACE),
        objects=_team_namespaces(),
        **more,
    )


AFFINITY_CASES: Final = (
    _of_one_kind(
        "SchedulingPodAntiAffinity",
        "required anti-affinity by host: one pod a node",
        APART_GREEN,
        GREEN,
        first_pods=1000,
        pods=2000,
    ),
    Case(
        name="SchedulingPodMatchingAntiAffinity",
        about="plain pods that others keep away by anti-affinity",
        make_first_pods=_first(APART_GREEN, GREEN),
        make_pods=_measured(pod_spec(), GREEN),
        pods=5000,
    ),
    _of_one_kind(
        "SchedulingPodAffinity",
        "required affinity to pods of the zone every node is in",
        NEAR_BLUE,
        BLUE,
        make_node=_zone_1_node,
    ),
    _of_one_kind("SchedulingPreferredPodAffinity", "preferred affinity by host", NEAR_RED, RED),
    _of_one_kind(
        "SchedulingPreferredPodAntiAffinity", "preferred anti-affinity by host", APART_YELLOW, YELLOW
    ),
    Case(
        name="MixedSchedulingBasePod",
        about="plain pods among pods of every kind of affinity",
        make_node=_zone_1_node,
        make_first_pods=_of_five_kinds,
        make_pods=_measured(pod_spec(), {}),
        first_pods=10_000,
        pods=5000,
    ),
    _of_one_team(
        "SchedulingRequiredPodAntiAffinityWithNSSelector",
        "required anti-affinity by host to pods of 100 selected namespaces",
        TEAM_APART_GREEN,
        GREEN,
        nodes=6000,
        first_pods=4000,
        pods=2000,
    ),
    _of_one_team(
        "SchedulingPreferredAntiAffinityWithNSSelector",
        "preferred anti-affinity by host to pods of 100 selected namespaces",
        TEAM_APART_YELLOW,
        YELLOW,
        first_pods=4000,
        pods=2000,
    ),
    _of_one_team(
        "SchedulingRequiredPodAffinityWithNSSelector",
        "required affinity by zone to pods of 100 selected namespaces",
        TEAM_NEAR_BLUE,
        BLUE,
        make_node=_zone_1_node,
        first_pods=5000,
        pods=2000,
    ),
    _of_one_team(
        "SchedulingPreferredAffinityWithNSSelector",
        "preferred affinity by host to pods of 100 selected namespaces",
        TEAM_NEAR_RED,
        RED,
        first_pods=5000,
        pods=5000,
    ),
    Case(
        name="SchedulingGatedPodsWithPodAffinityImpactForThroughput",
        about="10,000 gated pods with affinity to the pods that are placed",
        make_node=lambda number: node(number, resources={"pods": "40000"}),
        make_first_pods=_of_gated,
        make_pods=pods_of(ASKS_NOTHING, labels=GREEN),
        churn=_shown_bound,
        nodes=1,
        first_pods=10_000,
        pods=20_000,
    ),
)
