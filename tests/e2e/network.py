"""A gang with a wish for the network, and whether the ClusterNetworkTopology tells of what was found.

There is one such object for all cases, and it tells of all nodes. A case has it for itself until it ends, and
names a domain that nobody has told of before: what is there already is not written again.
"""

from __future__ import annotations

import json
import threading

from e2e.api import Object, Refused
from e2e.cluster import NODES
from e2e.probes import ANNOTATIONS, Case, Probe, is_gang_bound, is_refused
from e2e.rights import Right

TOPOLOGIES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
DEFAULT = "default"
BLOCK = "e2e/block"  # a label of nodes
WHOLE, BLOCKS, LEAVES = "ClusterTopologyLayer", "BlockLayer", "NodeTopologyLayer"
WISH = {"gatherStrategy": [{"layer": BLOCKS, "strategy": "MustGather"}]}
TELLS = Right("scheduling.koordinator.sh", "clusternetworktopologies/status", "patch")
ONE_AT_A_TIME = threading.Lock()


def add_close_gang(case: Case) -> None:
    """It goes nowhere until its Mooring has seen the node in a block of its own."""
    case.until_the_end.enter_context(ONE_AT_A_TIME)
    make_topology(case)
    case.api.patch(f"{NODES}/{case.name}", {"metadata": {"labels": {BLOCK: block_of(case)}}})
    wish = {"gang.scheduling.koordinator.sh/network-topology-spec": json.dumps(WISH)}
    case.add_gang(ANNOTATIONS, annotations=wish, nodeSelector={BLOCK: block_of(case)})


def make_topology(case: Case) -> None:
    layers = [
        {"topologyLayer": BLOCKS, "labelKey": [BLOCK]},
        {"topologyLayer": LEAVES, "parentTopologyLayer": BLOCKS},
    ]
    made = {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": DEFAULT},
        "spec": {"networkTopologySpec": layers},
    }
    try:
        case.api.create(TOPOLOGIES, made)
    except Refused as refused:
        if refused.code != 409:  # the case before has made it
            raise


def is_network_told(case: Case) -> bool:
    """The whole cluster with the case's block, and the block with all its fields; by this Mooring."""
    if case.says(TELLS.refusal) or not is_gang_bound(case):
        return False
    status = case.api.get(f"{TOPOLOGIES}/{DEFAULT}").get("status", {})
    told = {each["topologyInfo"]["topologyName"]: each for each in status.get("detailStatus", ())}
    block = block_of(case)
    return told.get(block) == detail(block) and block in told[""]["childTopologyNames"]


def block_of(case: Case) -> str:
    """Not the node's own name: a node without a label is a block of that name already."""
    return f"block-of-{case.name}"


def detail(block: str) -> Object:
    return {
        "topologyInfo": {"topologyLayer": BLOCKS, "topologyName": block},
        "parentTopologyInfo": {"topologyLayer": WHOLE, "topologyName": ""},
        "childTopologyLayer": LEAVES,
        "nodeNum": 1,
    }


NETWORK_TOLD = Probe("network told", add_close_gang, is_network_told, is_refused)
