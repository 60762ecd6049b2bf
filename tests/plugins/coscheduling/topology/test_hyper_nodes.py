"""Required topology in the words of Volcano and KAI: it holds, or nothing is placed and that is told."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.engine.events import ObjectAdded
from mooring.errors import ManifestError
from mooring.model.objects import Object, ObjectMeta
from mooring.plugins.coscheduling.args import CoschedulingArgs
from mooring.plugins.coscheduling.topology.hyper_nodes import HyperNodes, from_hyper_nodes
from mooring.testing import cluster, node, pod
from mooring.testing.world import World
from mooring.workloads import keys

NODE_NAMES = [f"n{number}" for number in range(8)]


def thing(api_version: str, kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> Object:
    meta = ObjectMeta(name=name, namespace=namespace)
    return Object(api_version=api_version, kind=kind, metadata=meta, data={"spec": spec})


def hyper_node(name: str, tier: int, *members: dict[str, Any], tier_name: str = "") -> Object:
    spec = {"tier": tier, "tierName": tier_name, "members": list(members)}
    return thing("topology.volcano.sh/v1alpha1", "HyperNode", name, spec)


def exact(name: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


# two switches of two nodes each under s4, one of two under s5; n6 and n7 are in none
NETWORK = (
    hyper_node("s0", 1, exact("n0"), exact("n1"), tier_name="rack"),
    hyper_node(
        "s1", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": "^n[23]$"}}}, tier_name="rack"
    ),
    hyper_node("s2", 1, {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"switch": "s2"}}}}),
    hyper_node("s4", 2, exact("s0", "HyperNode"), exact("s1", "HyperNode"), tier_name="spine"),
    hyper_node("s5", 2, exact("s2", "HyperNode"), tier_name="spine"),
)


def world(*objects: Object) -> World:
    nodes = [node(name).has(cpu=4) for name in NODE_NAMES]
    for number in (4, 5):
        nodes[number].label("switch", "s2")
    there = cluster(*nodes, args={"Coscheduling": CoschedulingArgs(enable_preemption=False)})
    for each in objects:
        there.engine.handle(ObjectAdded(each), there.now)
    return there


def volcano(there: World, count: int, **spec: Any) -> list[str | None]:
    group = thing(
        "scheduling.volcano.sh/v1beta1", "PodGroup", "train", {"minMember": count, **spec}, "default"
    )
    there.engine.handle(ObjectAdded(group), there.now)
    pods = [pod(f"w{n}").requests(cpu=4).annotation(keys.VOLCANO_POD_GROUP, "train") for n in range(count)]
    there.add(*pods)
    there.run()
    there.check()
    return sorted(there.placements.get(each.build().key, "") for each in pods)


def why(there: World) -> str:
    return there.message(pod("w0"))


def hard(**said: Any) -> dict[str, Any]:
    return {"mode": "hard", **said}


@pytest.mark.parametrize(
    ("count", "said", "expected"),
    [
        (2, hard(highestTierAllowed=1), ["n4", "n5"]),
        (2, {"highestTierAllowed": 1}, ["n4", "n5"]),  # hard is the default
        (2, hard(highestTierName="rack"), ["n4", "n5"]),
        (4, hard(highestTierAllowed=2), ["n0", "n1", "n2", "n3"]),
        (4, hard(highestTierName="spine"), ["n0", "n1", "n2", "n3"]),
        (6, hard(highestTierAllowed=3), ["n0", "n1", "n2", "n3", "n4", "n5"]),
        (3, hard(highestTierAllowed=1), [""] * 3),
        (5, hard(highestTierAllowed=2), [""] * 5),
        (8, {"mode": "soft", "highestTierAllowed": 1}, NODE_NAMES),
        (8, hard(highestTierAllowed=3), NODE_NAMES),
    ],
)
def test_all_pods_are_in_one_hyper_node_of_the_tier(
    count: int, said: dict[str, Any], expected: list[str]
) -> None:
    found = volcano(world(*NETWORK), count, networkTopology=said)
    assert len(found) == len(expected)
    if count == 6:
        assert all(found)
    else:
        assert found == expected


def test_a_gang_that_must_be_close_is_not_placed_where_nothing_says_what_is() -> None:
    there = world()
    assert volcano(there, 2, networkTopology=hard(highestTierAllowed=1)) == ["", ""]
    assert "spec.networkTopology.highestTierAllowed: there are no HyperNodes" in why(there)
    assert all(volcano(world(), 2, networkTopology={"mode": "soft"}))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"networkTopology": {"mode": "herd"}}, "must be hard or soft, not 'herd'. Did you mean \"hard\"?"),
        ({"networkTopology": hard(highestTierAllowed="1")}, "must be a number of a tier"),
        ({"networkTopology": hard(highestTierAllowed=0)}, "there is no HyperNode of tier 0 or lower"),
        ({"networkTopology": hard(highestTierName="rak")}, 'Did you mean "rack"?'),
        (
            {"subGroupPolicy": [{"name": "a", "networkTopology": hard(highestTierAllowed=1)}]},
            "spec.subGroupPolicy[0].networkTopology: is hard, and Mooring plans for a PodGroup as a whole",
        ),
        (
            {"topologyAffinity": {"subGroupAntiAffinity": {"required": [{"subGroups": ["a"]}]}}},
            "spec.topologyAffinity.subGroupAntiAffinity.required: is required",
        ),
    ],
)
def test_what_cannot_hold_is_told_and_nothing_is_placed(spec: dict[str, Any], said: str) -> None:
    there = world(*NETWORK)
    assert volcano(there, 2, **spec) == ["", ""]
    assert said in why(there)


def layout(*objects: Object) -> HyperNodes:
    return from_hyper_nodes(objects)


def test_a_node_has_a_domain_of_its_own_where_a_tier_is_missing() -> None:
    found = layout(
        hyper_node("top", 3, exact("leaf", "HyperNode")), hyper_node("leaf", 1, exact("a")), *NETWORK
    )
    assert found.path("a", {}) == ("top", "leaf", "leaf")
    assert found.path("n0", {}) == ("s4", "s4", "s0")
    assert found.path("elsewhere", {}) == ("elsewhere",) * 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (hyper_node("x", -1), "HyperNode x: spec.tier: must be a number"),
        (
            hyper_node("x", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": "n["}}}),
            "HyperNode x: spec.members[0].selector.regexMatch.pattern",
        ),
        (
            hyper_node("x", 1, {"type": "Node", "selector": {"labelMatch": {"matchLabels": 3}}}),
            "HyperNode x: spec.members[0].selector.labelMatch",
        ),
    ],
)
def test_hyper_nodes_that_cannot_be_read(wrong: Object, said: str) -> None:
    with pytest.raises(ManifestError) as error:
        layout(wrong)
    assert said in str(error.value)


# KAI


def kai(*groups: dict[str, Any], **spec: Any) -> World:
    nodes = [
        node(f"n{n}").has(cpu=4).label("rack", f"r{n // 2}").label("row", f"o{n // 4}") for n in range(8)
    ]
    there = cluster(*nodes, args={"Coscheduling": CoschedulingArgs(enable_preemption=False)})
    levels = {"levels": [{"nodeLabel": "row"}, {"nodeLabel": "rack"}]}
    group = {"minMember": 2, "subGroups": list(groups), **spec}
    for each in (
        thing("kai.scheduler/v1alpha1", "Topology", "net", levels),
        thing("scheduling.run.ai/v2alpha2", "PodGroup", "train", group, "default"),
    ):
        there.engine.handle(ObjectAdded(each), there.now)
    return there


def placed(there: World, *parts: str) -> list[str]:
    pods = [
        pod(f"w{n}").requests(cpu=4).annotation(keys.KAI_POD_GROUP, "train").label(keys.KAI_SUB_GROUP, part)
        for n, part in enumerate(parts)
    ]
    there.add(*pods)
    there.run()
    return [there.placements.get(each.build().key, "") for each in pods]


def required(level: str) -> dict[str, Any]:
    return {"topology": "net", "requiredTopologyLevel": level}


def test_the_constraint_of_the_only_sub_group_is_the_gangs() -> None:
    there = kai({"name": "w", "minMember": 2, "topologyConstraint": required("rack")})
    assert placed(there, "w", "w") == ["n0", "n1"]


def test_the_constraint_of_a_sub_group_that_is_above_all_others_is_the_gangs() -> None:
    top = {"name": "top", "topologyConstraint": required("row")}
    there = kai(
        top, {"name": "a", "parent": "top", "minMember": 2}, {"name": "b", "parent": "top", "minMember": 2}
    )
    found = placed(there, "a", "a", "b", "b")
    assert {each[1] in "0123" for each in found} == {True} or {each[1] in "4567" for each in found} == {True}


def test_a_constraint_that_holds_anyway_is_no_reason_to_wait() -> None:
    parts = [{"name": name, "minMember": 1, "topologyConstraint": required("rack")} for name in "ab"]
    there = kai(*parts, topologyConstraint=required("rack"))
    assert placed(there, "a", "b") == ["n0", "n1"]


def test_a_required_constraint_of_one_of_several_sub_groups_is_refused() -> None:
    there = kai(
        {"name": "a", "minMember": 1, "topologyConstraint": required("rack")}, {"name": "b", "minMember": 1}
    )
    assert placed(there, "a", "b") == ["", ""]
    assert "spec.subGroups[0].topologyConstraint: is required, and Mooring plans for a PodGroup" in why(there)
    preferred = {"topology": "net", "preferredTopologyLevel": "rack"}
    there = kai({"name": "a", "minMember": 1, "topologyConstraint": preferred}, {"name": "b", "minMember": 1})
    assert all(placed(there, "a", "b"))
