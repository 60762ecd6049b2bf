"""Cases of pods that start together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from mooring.bench.case import Case, MakePods, node, pod, pod_spec
from mooring.model.objects import Node, Object, ObjectMeta, Pod

RACK = "example.com/rack"
RACKS = 200
SIZE, LARGE = 50, 1000
PREFIX = "gang.scheduling.koordinator.sh/"
GATHER = '{"gatherStrategy": [{"layer": "RowLayer", "strategy": "MustGather"}]}'
ROW = "example.com/row"
ROWS = 4  # of racks: a gang of a thousand fits into one


def _gangs_of(size: int, **annotations: str) -> MakePods:
    """Gangs of so many equal pods, one after the other; of all pods when there are fewer."""
    spec = pod_spec()

    def make(count: int, nodes: int) -> Iterator[Pod]:
        needed = min(size, count)
        for number in range(count):
            name = f"gang-{number // needed}"
            notes = {PREFIX + "name": name, PREFIX + "min-available": str(needed), **annotations}
            member = pod(f"{name}-{number % needed}", spec)
            meta = msgspec.structs.replace(member.metadata, annotations=notes)
            yield msgspec.structs.replace(member, metadata=meta)

    return make


def _racked_node(number: int) -> Node:
    rack = number % RACKS
    return node(number, labels={ROW: f"row-{rack % ROWS}", RACK: f"rack-{rack}"})


NETWORK = Object(
    api_version="scheduling.koordinator.sh/v1alpha1",
    kind="ClusterNetworkTopology",
    metadata=ObjectMeta(name="default"),
    data={
        "spec": {
            "networkTopologySpec": [
                {"topologyLayer": "RowLayer", "labelKey": [ROW]},
                {"topologyLayer": "RackLayer", "parentTopologyLayer": "RowLayer", "labelKey": [RACK]},
                {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"},
            ]
        }
    },
)

GANG_CASES: Final = (
    Case(
        name="Gang",
        about="gangs of 50 pods that start together or not at all",
        make_pods=_gangs_of(SIZE),
        pods=100 * SIZE,
        arrive_together=SIZE,
    ),
    Case(
        name="GangGather",
        about="gangs of 1,000 pods that must share one of four rows of 50 racks",
        make_node=_racked_node,
        make_pods=_gangs_of(LARGE, **{PREFIX + "network-topology-spec": GATHER}),
        objects=(NETWORK,),
        pods=5 * LARGE,
        arrive_together=LARGE,
    ),
)
