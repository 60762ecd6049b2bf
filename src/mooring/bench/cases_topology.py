"""Cases of pods that are spread over zones and hosts."""

from __future__ import annotations

from typing import Any, Final

from mooring.bench.case import HOST, NAMESPACE, ZONE, Case, node, plain_object, pod_spec, pods_of
from mooring.model.objects import Node, ObjectMeta, PodSpec

ZONES = ("moon-1", "moon-2", "moon-3")
RACK, RACKS = "topology.example.com/rack", 500
BLUE = {"color": "blue"}
CLOSED = {"key": "dedicated", "value": "other", "effect": "NoSchedule"}
CLOSED_EACH = 5  # every fifth node is tainted
FIRST = pods_of(pod_spec(), "first")


def _node_of_three_zones(number: int) -> Node:
    return node(number, labels={ZONE: ZONES[number % len(ZONES)]})


def _node_of_many_racks(number: int) -> Node:
    return node(number, labels={RACK: f"rack-{number % RACKS}"})


def _sometimes_closed_node(number: int) -> Node:
    return node(number, taints=[CLOSED] if number % CLOSED_EACH == CLOSED_EACH - 1 else [])


def _spread(key: str, max_skew: int, unsatisfiable: str, **more: Any) -> PodSpec:
    constraint = {
        "maxSkew": max_skew,
        "topologyKey": key,
        "whenUnsatisfiable": unsatisfiable,
        "labelSelector": {"matchLabels": BLUE},
        **more,
    }
    return pod_spec(topologySpreadConstraints=[constraint])


HARD_ZONES, SOFT_ZONES = (_spread(ZONE, 5, otherwise) for otherwise in ("DoNotSchedule", "ScheduleAnyway"))
HARD_RACKS, SOFT_RACKS = (_spread(RACK, 1, otherwise) for otherwise in ("DoNotSchedule", "ScheduleAnyway"))


def _spreading(name: str, about: str, key: str, spec: PodSpec) -> Case:
    return Case(
        name=name,
        about=about,
        make_node=_node_of_three_zones if key == ZONE else _node_of_many_racks,
        make_first_pods=FIRST,
        make_pods=pods_of(spec, labels=BLUE),
        first_pods=5000 if key == ZONE else 1000,
        pods=5000,
    )


TOPOLOGY_CASES: Final = (
    _spreading("TopologySpreading", "spread over three zones, with a skew of 5 at most", ZONE, HARD_ZONES),
    _spreading("PreferredTopologySpreading", "preferably spread over three zones", ZONE, SOFT_ZONES),
    _spreading("TopologySpreadingRacks", "spread over 500 racks, with a skew of 1 at most", RACK, HARD_RACKS),
    _spreading("PreferredTopologySpreadingRacks", "preferably spread over 500 racks", RACK, SOFT_RACKS),
    Case(
        name="DefaultTopologySpreading",
        about="pods of a Service, spread over hosts and zones without being told",
        make_node=_node_of_three_zones,
        make_first_pods=pods_of(pod_spec(), "first", BLUE),
        make_pods=pods_of(pod_spec(), labels=BLUE),
        objects=(plain_object("Service", ObjectMeta(name="blue", namespace=NAMESPACE), {"selector": BLUE}),),
        first_pods=5000,
    ),
    Case(
        name="SchedulingWithNodeInclusionPolicy",
        about="spread over hosts, of which every fifth is tainted and takes no part",
        make_node=_sometimes_closed_node,
        make_pods=pods_of(
            _spread(HOST, 1, "DoNotSchedule", nodeAffinityPolicy="Honor", nodeTaintsPolicy="Honor"),
            labels=BLUE,
        ),
        first_pods=0,
        pods=4000,
    ),
)
