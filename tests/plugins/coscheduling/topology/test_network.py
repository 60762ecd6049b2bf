"""Gangs in the network, through the whole engine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mooring.config.load import load_config
from mooring.engine.decisions import Decision
from mooring.engine.events import ObjectAdded, ObjectChanged, Tick
from mooring.errors import ArgsError, ConfigError
from mooring.framework.api.writes import Write
from mooring.model.objects import Object, ObjectMeta
from mooring.plugins.catalogue import make_registry
from mooring.plugins.coscheduling.args import CoschedulingArgs
from mooring.plugins.coscheduling.topology.detail import detail_status
from mooring.testing import cluster, node, pod
from mooring.testing.builders import NodeBuilder, PodBuilder
from mooring.testing.world import World
from mooring.workloads import keys
from mooring.workloads.topology_wishes import SELECTOR_ANNOTATION
from plugins.coscheduling.topology.networks import T1, Shape, labels, tree

MUST, PREFER = "MustGather", "PreferGather"
DEFAULT = {
    "networkTopologySpec": [
        {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
        {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["block"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
    ]
}


def labelled(name: str, **its: str) -> NodeBuilder:
    made = node(name).has(cpu=16)
    for key, value in its.items():
        made.label(key, value)
    return made


def world(shape: Shape = T1, **args: Any) -> World:
    args = {"network_topology": ("spine", "block"), **args}
    nodes = [labelled(name, **its) for name, its in labels(shape).items()]
    return cluster(*nodes, args={"Coscheduling": CoschedulingArgs(**args)})


def member(number: int, cpu: int, least: int, *rules: dict[str, Any], index: int | None = None) -> PodBuilder:
    made = pod(f"w{number}").requests(cpu=cpu).annotation(keys.NAME, "train")
    made.annotation(keys.MIN_AVAILABLE, str(least))
    made.annotation(keys.TOPOLOGY_INDEX, str(number if index is None else index))
    return made.annotation(keys.TOPOLOGY_SPEC, json.dumps({"gatherStrategy": rules})) if rules else made


def gang(count: int, cpu: int, *rules: dict[str, Any], least: int | None = None) -> list[PodBuilder]:
    return [member(number, cpu, least or count, *rules) for number in range(count)]


def rule(layer: str, strategy: str = MUST, multiple: int | None = None) -> dict[str, Any]:
    given = {"layer": layer, "strategy": strategy}
    return given if multiple is None else given | {"podCountMultiple": multiple}


def started(there: World, *pods: PodBuilder) -> list[str | None]:
    """The nodes of pods, in their order."""
    there.add(*pods)
    there.run()
    there.check()
    return [there.placements.get(each.build().key) for each in pods]


def thing(api_version: str, kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> Object:
    meta = ObjectMeta(name=name, namespace=namespace)
    return Object(api_version=api_version, kind=kind, metadata=meta, data={"spec": spec})


def told(there: World, event: ObjectAdded | ObjectChanged) -> list[Decision]:
    """What is decided because of an event, two seconds after it."""
    found: list[Decision] = there.engine.handle(event, there.now)
    there.now += 2
    found += there.engine.handle(Tick(), there.now)
    while (decisions := there.engine.schedule(there.now)) is not None:
        found += decisions
        there._perform(decisions)
    return found


def test_nt1_in_the_engine() -> None:
    found = started(world(), *gang(4, 16, rule("spine", PREFER), rule("block", PREFER)))
    assert found == ["node-1", "node-8", "node-2", "node-7"]


def test_nt2_in_the_engine() -> None:
    assert started(world(), *gang(2, 16, rule("block"), rule("spine"))) == ["node-1", "node-8"]


def test_nt3_in_the_engine() -> None:
    assert started(world(), *gang(2, 8, rule("spine", PREFER))) == ["node-1", "node-1"]


def test_q6_members_are_neighbours_by_index_whatever_their_names() -> None:
    pods = [member(number, 16, 4, rule("spine"), index=3 - number) for number in range(4)]
    assert started(world(), *pods) == ["node-7", "node-2", "node-8", "node-1"]


def test_nt4_in_the_engine_and_it_starts_when_room_comes() -> None:
    there = world(enable_preemption=False)
    low = pod("low").requests(cpu=16).running_on("node-1")
    there.add(low, pod("other").requests(cpu=16).running_on("node-4"))
    pods = gang(4, 16, rule("spine"))
    assert started(there, *pods) == [None] * 4
    assert (
        "needs 4 slots in one spine; the best spine, s1, has 3; nodes take no more: 8 Insufficient cpu"
        in there.message(pods[0])
    )
    there.remove(low)
    there.advance(2)
    assert {there.placements.get(each.build().key) for each in pods} == {
        "node-1",
        "node-8",
        "node-2",
        "node-7",
    }


def test_a_gang_is_tried_again_when_a_node_says_where_it_is() -> None:
    there = world({"s1": {"b1": ("n1",)}}, enable_preemption=False)
    there.add(labelled("n2"))
    pods = gang(2, 16, rule("block"))
    assert started(there, *pods) == [None, None]
    there.change(labelled("n2", spine="s1", block="b1"))
    there.advance(2)
    assert {there.placements.get(each.build().key) for each in pods} == {"n1", "n2"}


def test_without_a_wish_a_gang_goes_anywhere() -> None:
    there = world()
    assert None not in started(there, *gang(8, 16))


def test_the_network_can_be_left_out_of_it() -> None:
    there = world(aware_network_topology=False)
    assert None not in started(there, *gang(5, 16, rule("block")))


def test_a_member_that_comes_later_stays_with_the_others() -> None:
    there = world(enable_preemption=False)
    there.add(pod("first").requests(cpu=16).running_on("node-1"))
    pods = gang(2, 16, rule("block"), least=1)
    assert started(there, *pods) == ["node-2", "node-7"]
    late = member(9, 16, 1, rule("block"))
    assert started(there, late) == [None]
    assert "needs 1 more slot in block b2, where its other pods are; it has 0" in there.message(late)
    there.remove(pods[1])
    there.advance(2)
    assert there.placements["default/w9"] == "node-7"


def test_a_member_that_died_is_replaced_where_it_was() -> None:
    there = world(enable_preemption=False)
    pods = gang(8, 4, rule("NodeTopologyLayer", PREFER, 4))
    assert started(there, *pods) == ["node-1"] * 4 + ["node-8"] * 4
    there.remove(pods[6])
    assert started(there, member(9, 4, 8, rule("NodeTopologyLayer", PREFER, 4))) == ["node-8"]


def test_fewer_than_all_when_not_all_fit() -> None:
    found = started(world(enable_preemption=False), *gang(5, 16, rule("spine"), least=3))
    assert found[:3] == ["node-1", "node-8", "node-2"]
    assert found.count(None) in (1, 2)  # the fourth comes after, into what is left of the spine


def test_a_wish_that_makes_no_sense_is_told() -> None:
    there = world()
    pods = gang(2, 1, rule("blok"))
    assert started(there, *pods) == [None, None]
    expected = 'gatherStrategy[0].layer: there is no topology layer "blok". Did you mean "block"?'
    assert expected in there.message(pods[0])


def test_layers_of_the_object_named_default_and_its_status() -> None:
    there = world(network_topology=())
    pods = gang(2, 16, rule("BlockLayer"))
    assert started(there, *pods) == [None, None]
    assert "no cluster network topology" in there.message(pods[0])
    found = thing("scheduling.koordinator.sh/v1alpha1", "ClusterNetworkTopology", "default", DEFAULT)
    writes = [each for each in told(there, ObjectAdded(found)) if isinstance(each, Write)]
    assert [there.placements.get(each.build().key) for each in pods] == ["node-1", "node-8"]
    topology = [each for each in writes if "clusternetworktopologies" in each.kind]
    assert [(each.key, each.sub, each.body) for each in topology] == [
        ("default", "status", {"status": {"detailStatus": detail_status(tree())}})
    ]
    again = told(there, ObjectChanged(thing(found.api_version, found.kind, "other", DEFAULT)))
    there.add(member(5, 1, 1, rule("BlockLayer")).annotation(keys.NAME, "more"))
    while (decisions := there.engine.schedule(there.now)) is not None:
        again += decisions
    assert [each for each in again if isinstance(each, Write) and each.key == "default"] == []


def test_a_constraint_of_a_kai_pod_group() -> None:
    there = world(network_topology=())
    levels = {"levels": [{"nodeLabel": "spine"}, {"nodeLabel": "block"}]}
    told(there, ObjectAdded(thing("kai.scheduler/v1alpha1", "Topology", "net", levels)))
    constraint = {"topology": "net", "requiredTopologyLevel": "block"}
    spec = {"minMember": 2, "topologyConstraint": constraint}
    told(there, ObjectAdded(thing("scheduling.run.ai/v2alpha2", "PodGroup", "train", spec, "default")))
    pods = [pod(f"w{n}").requests(cpu=16).annotation(keys.KAI_POD_GROUP, "train") for n in range(2)]
    assert started(there, *pods) == ["node-1", "node-8"]


def test_a_pod_with_a_selector_goes_where_the_others_are() -> None:
    there = world()
    first = pod("first").requests(cpu=16).annotation(SELECTOR_ANNOTATION, "x").running_on("node-3")
    near = pod("near").requests(cpu=16).annotation(SELECTOR_ANNOTATION, "x")
    there.add(first)
    assert there.schedule(near) == "node-6"


@pytest.mark.parametrize("selector", ["", "x"])
def test_only_pods_with_a_selector_are_scored(selector: str) -> None:
    there = world()
    one = member(0, 1, 1)
    there.add(one.annotation(SELECTOR_ANNOTATION, selector) if selector else one)
    profile = there.engine.profiles["default-scheduler"]
    found = there.engine.hooks.classes[profile.name].of(one.build())
    assert ("Coscheduling" in {form.name for form, _ in found.scorers}) is bool(selector)
    assert ("Coscheduling" in {hook.name for hook in found.pre_scores}) is bool(selector)
    assert found.keeps is not bool(selector)


def test_layers_in_the_arguments_are_checked() -> None:
    with pytest.raises(ArgsError, match=r'networkTopology\[1\].topologyLayer: .*"spine" is listed twice'):
        CoschedulingArgs(network_topology=("spine", "spine"))


def test_the_page_shows_a_configuration_that_is_read() -> None:
    page = (Path(__file__).parents[4] / "docs" / "network-topology.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(apiVersion: kubescheduler.*?)```", page, re.DOTALL)
    found = load_config(blocks[0], "example.yaml", make_registry())
    args = found.profiles[0].args["Coscheduling"]
    assert args == CoschedulingArgs(network_topology=("example.com/spine", "example.com/block"))


def test_entries_in_a_configuration_and_mistakes_at_their_place() -> None:
    entries = "[{topologyLayer: Spine, labelKey: [spine]}, {topologyLayer: Block}]"
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        f"- pluginConfig:\n  - name: Coscheduling\n    args: {{networkTopology: {entries}}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(text, "example.yaml", make_registry())
    assert str(caught.value).startswith("example.yaml:6:")
    assert 'networkTopology[1].labelKey: topology layer "Block" names no label' in str(caught.value)
