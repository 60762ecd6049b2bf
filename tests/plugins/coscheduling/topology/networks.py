"""Small networks to place gangs in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.plugins.coscheduling.topology.layers import LayerEntry, Layout, from_args
from mooring.plugins.coscheduling.topology.rules import Rules, rules_for
from mooring.plugins.coscheduling.topology.solver import NoPlace, solve
from mooring.plugins.coscheduling.topology.spaces import Request, Spaces
from mooring.plugins.coscheduling.topology.tree import Tree
from mooring.workloads.topology_wishes import MUST, PREFER, GatherRule, Wish

SPINE, BLOCK, NODE = "SpineLayer", "BlockLayer", "NodeTopologyLayer"

LAYERS = from_args(
    [
        LayerEntry(topology_layer=SPINE, label_key=("spine",)),
        LayerEntry(topology_layer=BLOCK, label_key=("block",)),
    ]
)

Shape = Mapping[str, Mapping[str, Iterable[str]]]

T1: Shape = {
    "s1": {"b1": ("node-8", "node-1"), "b2": ("node-7", "node-2")},
    "s2": {"b3": ("node-6", "node-3"), "b4": ("node-5", "node-4")},
}
T1_NODES = [f"node-{number}" for number in range(1, 9)]


def labels(shape: Shape) -> dict[str, dict[str, str]]:
    """The labels of each node."""
    return {
        name: {"spine": spine, "block": block}
        for spine, blocks in shape.items()
        for block, names in blocks.items()
        for name in names
    }


def tree(shape: Shape = T1, layout: Layout = LAYERS) -> Tree:
    return Tree(layout, labels(shape).items())


def must(layer: str, multiple: int = 1) -> GatherRule:
    return GatherRule(layer, MUST, multiple)


def prefer(layer: str, multiple: int = 1) -> GatherRule:
    return GatherRule(layer, PREFER, multiple)


def rules(*given: GatherRule, layout: Layout = LAYERS) -> Rules:
    return rules_for(layout, Wish(given))


def solved(network: Tree, request: Request) -> dict[str, int]:
    """How many pods each node gets, in the order nodes are filled."""
    found = solve(network, request)
    assert not isinstance(found, NoPlace), found.message("")
    names = [name for name, _ in found]
    assert len(set(names)) == len(names)
    return dict(found)


def unsolved(network: Tree, request: Request) -> NoPlace:
    found = solve(network, request)
    assert isinstance(found, NoPlace), found
    return found


def spread(network: Tree, request: Request) -> dict[str, int]:
    """As many as the whole cluster takes, be it enough or not."""
    return dict(Spaces(network, request).distribute(0, 0, request.desired))
