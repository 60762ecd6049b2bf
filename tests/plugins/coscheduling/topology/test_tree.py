"""The tree of a network, and what its status tells of it."""

from __future__ import annotations

import numpy as np

from mooring.plugins.coscheduling.topology.detail import detail_status
from mooring.plugins.coscheduling.topology.layers import from_kai
from mooring.plugins.coscheduling.topology.tree import Tree
from plugins.coscheduling.topology.networks import LAYERS, labels, tree


def test_children_of_a_domain_are_neighbours() -> None:
    network = tree()
    assert [level.names for level in network.levels] == [
        [""],
        ["s1", "s2"],
        ["b1", "b2", "b3", "b4"],
        ["node-1", "node-8", "node-2", "node-7", "node-3", "node-6", "node-4", "node-5"],
    ]
    assert [list(network.children(1, spine)) for spine in (0, 1)] == [[0, 1], [2, 3]]


def test_sums_over_domains() -> None:
    network = tree()
    sums = network.sums(network.per_leaf({"node-8": 3, "node-2": 1, "node-4": 5, "elsewhere": 9}))
    assert [each.tolist() for each in sums] == [[9], [4, 5], [3, 1, 0, 5], [0, 3, 1, 0, 0, 0, 5, 0]]


def test_a_node_without_its_lowest_layer_is_a_domain_of_its_own() -> None:
    network = Tree(LAYERS, (labels({"s1": {"b1": ("n1",)}}) | {"n2": {"spine": "s1"}, "n3": {}}).items())
    assert network.levels[2].names == ["b1", "n2"]
    assert network.leaves.names == ["n1", "n2"]


def test_domains_of_the_same_name_under_different_parents_are_different() -> None:
    network = tree({"s1": {"b": ("n1",)}, "s2": {"b": ("n2",)}})
    assert network.levels[2].names == ["b", "b"]


def test_domains_of_kai_have_the_names_of_all_levels() -> None:
    layout = from_kai({"spec": {"levels": [{"nodeLabel": "spine"}, {"nodeLabel": "block"}]}})
    network = tree({"s1": {"b": ("n1",)}, "s2": {"b": ("n2",)}}, layout)
    assert network.levels[2].names == ["s1.b", "s2.b"]
    assert network.leaves.names == ["n1", "n2"]


def test_ranks_by_name_go_across_parents() -> None:
    network = tree()
    ranked = np.array(network.leaves.names)[np.argsort(network.leaves.by_name)]
    assert ranked.tolist() == [f"node-{number}" for number in range(1, 9)]


def test_nt13_the_status_of_the_object() -> None:
    found = detail_status(tree())
    top = {"topologyLayer": "ClusterTopologyLayer", "topologyName": ""}
    s1 = {"topologyLayer": "SpineLayer", "topologyName": "s1"}
    assert found[:3] == [
        {
            "topologyInfo": top,
            "childTopologyLayer": "SpineLayer",
            "childTopologyNames": ["s1", "s2"],
            "nodeNum": 8,
        },
        {
            "topologyInfo": s1,
            "parentTopologyInfo": top,
            "childTopologyLayer": "BlockLayer",
            "childTopologyNames": ["b1", "b2"],
            "nodeNum": 4,
        },
        {
            "topologyInfo": {"topologyLayer": "BlockLayer", "topologyName": "b1"},
            "parentTopologyInfo": s1,
            "childTopologyLayer": "NodeTopologyLayer",
            "nodeNum": 2,
        },
    ]
    names = [each["topologyInfo"]["topologyName"] for each in found]
    assert names == ["", "s1", "b1", "b2", "s2", "b3", "b4"]


def test_the_status_of_an_empty_cluster() -> None:
    top = {"topologyLayer": "ClusterTopologyLayer", "topologyName": ""}
    assert detail_status(tree({})) == [{"topologyInfo": top, "nodeNum": 0}]
