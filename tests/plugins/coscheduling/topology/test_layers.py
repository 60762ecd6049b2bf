"""Layers from arguments and from objects, and what can be wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.errors import ArgsError, ManifestError
from mooring.plugins.coscheduling.topology.layers import (
    CLUSTER_LAYER,
    NODE_LAYER,
    LayerEntry,
    from_args,
    from_cluster_network_topology,
    from_kai,
    from_label,
)

Entries = list[dict[str, Any]]

SPINE = {"topologyLayer": "SpineLayer", "labelKey": ["spine", "old-spine"]}
BLOCK = {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["block"]}
NODES = {"topologyLayer": NODE_LAYER, "parentTopologyLayer": "BlockLayer"}


def topology(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"networkTopologySpec": list(entries)}}


def test_parents_say_the_order() -> None:
    layout = from_cluster_network_topology(topology(NODES, BLOCK, SPINE))
    assert layout.names == (CLUSTER_LAYER, "SpineLayer", "BlockLayer", NODE_LAYER)


def test_the_first_label_with_a_value_counts() -> None:
    layout = from_cluster_network_topology(topology(SPINE, BLOCK, NODES))
    assert layout.path("n", {"spine": "", "old-spine": "s9", "block": "b1"}) == ("s9", "b1")


def test_a_node_without_the_lowest_layer_stands_for_itself_there() -> None:
    layout = from_cluster_network_topology(topology(SPINE, BLOCK, NODES))
    assert layout.path("n", {"spine": "s1"}) == ("s1", "n")
    assert layout.path("n", {"block": "b1"}) is None  # any other layer: it is in no domain


def test_the_cluster_may_be_named_as_parent() -> None:
    top = SPINE | {"parentTopologyLayer": CLUSTER_LAYER}
    assert from_cluster_network_topology(topology(top, BLOCK, NODES)).names[1] == "SpineLayer"


def test_no_layers_but_nodes() -> None:
    layout = from_cluster_network_topology(topology({"topologyLayer": NODE_LAYER}))
    assert layout.names == (CLUSTER_LAYER, NODE_LAYER)
    assert layout.path("n", {}) == ()


@pytest.mark.parametrize(
    ("entries", "mistake"),
    [
        ([], 'spec.networkTopologySpec: topology layer "NodeTopologyLayer" not found in spec'),
        ([SPINE, BLOCK], 'spec.networkTopologySpec: topology layer "NodeTopologyLayer" not found in spec'),
        (
            [BLOCK, NODES],
            'spec.networkTopologySpec[0].parentTopologyLayer: topology layer "SpineLayer" not found in spec',
        ),
        (
            [SPINE | {"parentTopologyLayer": "BlockLayer"}, BLOCK, NODES],
            'spec.networkTopologySpec[0].parentTopologyLayer: topology layer "BlockLayer" lies above itself',
        ),
        (
            [SPINE, BLOCK, NODES, {"topologyLayer": "Row", "labelKey": ["row"]}],
            'spec.networkTopologySpec[3].topologyLayer: topology layer "Row" is not above NodeTopologyLayer, '
            "or is listed twice",
        ),
        (
            [SPINE, SPINE, BLOCK, NODES],
            'spec.networkTopologySpec[0].topologyLayer: topology layer "SpineLayer" is not above '
            "NodeTopologyLayer, or is listed twice",
        ),
        (
            [SPINE, BLOCK | {"labelKey": []}, NODES],
            'spec.networkTopologySpec[1].labelKey: topology layer "BlockLayer" names no label',
        ),
        (
            [SPINE, BLOCK | {"labelKey": "block"}, NODES],
            "spec.networkTopologySpec: Expected `array`, got `str` - at `$[1].labelKey`",
        ),
    ],
)
def test_mistakes_in_a_cluster_network_topology(entries: Entries, mistake: str) -> None:
    with pytest.raises(ManifestError) as caught:
        from_cluster_network_topology(topology(*entries))
    assert str(caught.value) == mistake


def test_labels_in_the_arguments_coarsest_first() -> None:
    layout = from_args(["zone", "rack"])
    assert layout.names == (CLUSTER_LAYER, "zone", "rack", NODE_LAYER)
    assert layout.path("n", {"zone": "z"}) == ("z", "n")


def test_entries_in_the_arguments() -> None:
    spine = LayerEntry(topology_layer="SpineLayer", label_key=("spine",))
    assert from_args([spine, "rack"]).names[1:3] == ("SpineLayer", "rack")
    rack = LayerEntry(topology_layer="Rack", label_key=("rack",), parent_topology_layer="SpineLayer")
    nodes = LayerEntry(topology_layer=NODE_LAYER, parent_topology_layer="Rack")
    assert from_args([nodes, rack, spine]).names[1:3] == ("SpineLayer", "Rack")
    assert from_args([spine, LayerEntry(topology_layer=NODE_LAYER)]).names[1:-1] == ("SpineLayer",)


def test_mistakes_in_the_arguments_have_their_field() -> None:
    with pytest.raises(ArgsError) as caught:
        from_args(["zone", "rack", "zone"])
    assert caught.value.mistakes[0].field == ("networkTopology", 2, "topologyLayer")
    assert str(caught.value) == 'networkTopology[2].topologyLayer: topology layer "zone" is listed twice'
    with pytest.raises(ArgsError, match=r"networkTopology\[0\].topologyLayer: a topology layer needs a name"):
        from_args([""])


def test_levels_of_a_kai_topology() -> None:
    layout = from_kai({"spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]}})
    assert layout.names == (CLUSTER_LAYER, "zone", "rack", NODE_LAYER)
    assert layout.path("n", {"zone": "z", "rack": "r"}) == ("z", "r")
    assert layout.path("n", {"zone": "z"}) is None  # every label is needed
    assert layout.dotted


@pytest.mark.parametrize(
    ("levels", "mistake"),
    [
        ([], "spec.levels: a topology needs at least one level"),
        ([{"nodeLabel": "a"}, {}], "spec.levels[1].nodeLabel: a topology layer needs a name"),
        ([{"nodeLabel": "a"}] * 2, 'spec.levels[1].nodeLabel: topology layer "a" is listed twice'),
    ],
)
def test_mistakes_in_a_kai_topology(levels: Entries, mistake: str) -> None:
    with pytest.raises(ManifestError) as caught:
        from_kai({"spec": {"levels": levels}})
    assert str(caught.value) == mistake


def test_one_label() -> None:
    layout = from_label("rack")
    assert layout.names == (CLUSTER_LAYER, "rack", NODE_LAYER)
    assert layout.path("n", {}) is None


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(ManifestError) as caught:
        from_args(["zone", "rack"]).depth("rak", "gatherStrategy[0].layer")
    assert str(caught.value) == (
        'gatherStrategy[0].layer: there is no topology layer "rak". Did you mean "rack"?'
    )
