"""Trees are found for what a gang wishes, and worked out again only when it matters."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.engine.objects import Objects
from mooring.errors import ManifestError
from mooring.framework.api.handle import Lister
from mooring.framework.loading.rehearsal import StageHandle
from mooring.model.objects import Node, Object, ObjectMeta
from mooring.plugins.coscheduling.topology.layers import from_args
from mooring.plugins.coscheduling.topology.trees import Trees
from mooring.testing import node, pod
from mooring.workloads.topology_wishes import GatherRule, Wish
from plugins.stage import Stage

DEFAULT = Wish(())


class Handle(StageHandle):
    """A scheduler that has heard of objects."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.cluster)
        self.objects = Objects()

    def lister(self, kind: str) -> Lister:
        return self.objects.of(kind)

    def put(self, api_version: str, kind: str, name: str, spec: dict[str, Any]) -> Object:
        meta = ObjectMeta(name=name)
        made = Object(api_version=api_version, kind=kind, metadata=meta, data={"spec": spec})
        self.objects.put(made)
        return made


def labelled(name: str, **labels: str) -> Node:
    made = node(name)
    for key, value in labels.items():
        made.label(key, value)
    return made.build()


def network(*entries: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "networkTopologySpec": [
            {"topologyLayer": layer, "parentTopologyLayer": parent, "labelKey": [key] if key else None}
            for layer, parent, key in entries
        ]
    }


TWO = network(("Rack", "", "rack"), ("NodeTopologyLayer", "Rack", ""))
KOORDINATOR = "scheduling.koordinator.sh/v1alpha1", "ClusterNetworkTopology"
KAI = "kai.scheduler/v1alpha1", "Topology"


@pytest.fixture
def stage() -> Stage:
    return Stage([labelled("a", rack="r1"), labelled("b", rack="r2")])


@pytest.fixture
def handle(stage: Stage) -> Handle:
    return Handle(stage)


def test_the_object_named_default(handle: Handle) -> None:
    handle.put(*KOORDINATOR, "default", TWO)
    assert Trees(handle).default().levels[1].names == ["r1", "r2"]


def test_layers_of_the_arguments_come_first(handle: Handle) -> None:
    handle.put(*KOORDINATOR, "default", TWO)
    assert Trees(handle, from_args(["zone", "rack"])).default().layout.names[1] == "zone"


def test_no_network(handle: Handle) -> None:
    handle.put(*KOORDINATOR, "other", TWO)
    with pytest.raises(ManifestError, match="^no cluster network topology$"):
        Trees(handle).of(DEFAULT)


def test_an_object_that_is_wrong_is_named(handle: Handle) -> None:
    handle.put(*KOORDINATOR, "default", network(("Rack", "", "rack")))
    trees = Trees(handle)
    for _ in range(2):
        with pytest.raises(ManifestError) as caught:
            trees.default()
        assert str(caught.value) == (
            "ClusterNetworkTopology default: spec.networkTopologySpec: "
            'topology layer "NodeTopologyLayer" not found in spec'
        )
    handle.put(*KOORDINATOR, "default", TWO)
    assert len(trees.default()) == 2


def test_topologies_of_kai_by_name(handle: Handle) -> None:
    handle.put(*KAI, "racks", {"levels": [{"nodeLabel": "rack"}]})
    handle.put(*KAI, "zones", {"levels": [{"nodeLabel": "zone"}]})
    trees = Trees(handle)
    assert len(trees.of(Wish((), topology="racks"))) == 2
    assert len(trees.of(Wish((), topology="zones"))) == 0
    with pytest.raises(ManifestError, match='^no topology named "rows"$'):
        trees.of(Wish((), topology="rows"))


def test_a_label_of_kubernetes(handle: Handle) -> None:
    tree = Trees(handle).of(Wish((GatherRule("rack"),), label="rack"))
    assert tree.layout.names[1] == "rack"


def test_the_tree_stays_while_nodes_only_report(stage: Stage, handle: Handle) -> None:
    trees = Trees(handle, from_args(["rack"]))
    tree = trees.default()
    stage.take(pod("p").build(), "a")
    reported = msgspec.structs.replace(labelled("a", rack="r1"), status=labelled("x").status)
    stage.put(reported)
    assert trees.default() is tree


@pytest.mark.parametrize("change", ["relabelled", "joined", "left", "replaced"])
def test_the_tree_follows_nodes(change: str, stage: Stage, handle: Handle) -> None:
    trees = Trees(handle, from_args(["rack"]))
    trees.default()
    if change == "relabelled":
        stage.put(labelled("b", rack="r1"))
    if change == "joined":
        stage.put(labelled("c", rack="r1"))
    if change in ("left", "replaced"):
        stage.drop("b")
    if change == "replaced":
        stage.put(labelled("c", rack="r2"))  # takes the row of the one that left
    expected = {
        "relabelled": [["r1"], ["a", "b"]],
        "joined": [["r1", "r2"], ["a", "c", "b"]],
        "left": [["r1"], ["a"]],
        "replaced": [["r1", "r2"], ["a", "c"]],
    }
    assert [level.names for level in trees.default().levels[1:]] == expected[change]


def test_the_tree_follows_the_object(handle: Handle) -> None:
    before = handle.put(*KOORDINATOR, "default", TWO)
    trees = Trees(handle)
    tree = trees.default()
    assert trees.default() is tree
    handle.put(*KOORDINATOR, "default", network(("Zone", "", "zone"), ("NodeTopologyLayer", "Zone", "")))
    assert trees.default().layout.names[1] == "Zone"
    handle.objects.drop(before)
    with pytest.raises(ManifestError):
        trees.default()
