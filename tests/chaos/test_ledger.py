"""The ledger tells each thing that must not happen, and nothing else."""

from __future__ import annotations

from typing import Any

from chaos.ledger import LATE_SECONDS
from chaos.story import Story
from chaos.workload import ZONE
from e2e.api import Object
from e2e.gangs import members
from e2e.nodes import HOSTNAME, node
from e2e.workloads import pod


def in_zone(name: str, zone: str, **words: Any) -> Object:
    return node(name, cpu=2, labels={ZONE: zone}, **words)


def apart(name: str, key: str) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(name, labels={"app": "web"}, affinity=rule)


def spread(name: str) -> Object:
    rule = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    rule["labelSelector"] = {"matchLabels": {"app": "web"}}
    return pod(name, labels={"app": "web"}, topologySpreadConstraints=[rule])


# room


def test_room_that_is_just_enough_is_fine() -> None:
    story = Story(node("one", cpu=2))
    story.pod(pod("a", cpu="1"), "one")
    story.pod(pod("b", cpu="1"), "one")
    assert story.wrong == []
    assert len(story.ledger.made) == len(story.ledger.bound) == 2


def test_more_than_a_node_has_is_told() -> None:
    story = Story(node("one", cpu=2))
    story.pod(pod("a", cpu="1500m"), "one")
    story.pod(pod("b", cpu="600m"), "one")
    (said,) = story.wrong
    assert "chaos/b on one: 2.1 cpu taken of 2" in said


def test_too_many_pods_are_told() -> None:
    story = Story(node("one", pods=1))
    story.pod(pod("a"), "one")
    story.pod(pod("b"), "one")
    assert "2 pods taken of 1" in story.wrong[0]


def test_room_is_free_once_a_pod_is_gone_or_done_and_not_before() -> None:
    story = Story(node("one", cpu=1), node("two", cpu=1), node("three", cpu=1))
    for name, where in (("a", "one"), ("b", "two"), ("c", "three")):
        story.pod(pod(name, cpu="1"), where)
    story.gone("a")
    story.phase("b", "Succeeded")
    story.deleting("c")
    story.pod(pod("d", cpu="1"), "one")
    story.pod(pod("e", cpu="1"), "two")
    assert story.wrong == []
    story.pod(pod("f", cpu="1"), "three")
    assert "chaos/f on three: 2 cpu taken of 1" in story.wrong[0]


def test_a_port_taken_twice_is_told() -> None:
    story = Story(node("one"), node("two"))
    story.pod(pod("a", ports=(80,)), "one")
    story.pod(pod("b", ports=(80,)), "two")
    assert story.wrong == []
    story.pod(pod("c", ports=(80,)), "one")
    assert "2 pods have host port ('TCP', 80)" in story.wrong[0]


# once


def test_a_pod_that_moves_is_told() -> None:
    story = Story(node("one"), node("two"))
    story.pod(pod("a"), "one")
    story.bind("a", "two")
    assert "chaos/a went from one to 'two'" in story.wrong[0]


def test_a_pod_that_loses_its_node_and_gets_it_again_is_told_twice() -> None:
    story = Story(node("one"))
    story.pod(pod("a"), "one")
    story.bind("a", "")
    story.bind("a", "one")
    assert ["went from one to ''" in story.wrong[0], "bound a second time" in story.wrong[1]] == [True, True]


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    story = Story(node("one"), node("two"))
    story.pod(pod("a"), "one")
    story.gone("a")
    story.pod(pod("a"), "two")
    assert story.wrong == []


def test_a_node_that_is_not_there_is_told() -> None:
    story = Story(node("one"))
    story.pod(pod("a"), "other")
    assert "there is no such node" in story.wrong[0]


def test_a_node_that_went_while_the_bind_was_on_its_way_is_fine() -> None:
    story = Story(node("one"), node("two"))
    story.node_gone("one")
    story.pod(pod("a"), "one")
    assert story.wrong == []


# what nodes say


def test_a_taint_a_cordon_and_a_selector_are_told() -> None:
    story = Story(
        node("tainted", taints=["a=b:NoSchedule"]), node("cordoned", unschedulable=True), node("plain")
    )
    story.pod(pod("a"), "tainted")
    story.pod(pod("b"), "cordoned")
    story.pod(pod("c", nodeSelector={"disk": "ssd"}), "plain")
    assert [said.rpartition(": ")[2] for said in story.wrong] == [
        "node(s) had untolerated taint(s)",
        "node(s) were unschedulable",
        "node(s) didn't match Pod's node affinity/selector",
    ]


def test_a_taint_of_a_moment_ago_is_excused_and_an_old_one_is_not() -> None:
    story = Story(node("one"))
    story.now += 2 * LATE_SECONDS
    story.node(node("one", taints=["a=b:NoSchedule"]))
    story.now += LATE_SECONDS / 2
    story.pod(pod("a"), "one")
    assert story.wrong == []
    story.now += LATE_SECONDS
    story.pod(pod("b"), "one")
    assert "untolerated" in story.wrong[0]


# who may be with whom


def test_pods_that_must_be_apart_are_told_on_one_node_and_in_one_zone() -> None:
    story = Story(in_zone("a1", "a"), in_zone("a2", "a"), in_zone("b1", "b"))
    story.pod(apart("a", HOSTNAME), "a1")
    story.pod(apart("b", HOSTNAME), "a2")
    assert story.wrong == []
    story.pod(apart("c", HOSTNAME), "a1")
    assert "anti-affinity" in story.wrong[0]
    story.pod(apart("d", ZONE), "b1")
    assert len(story.wrong) == 1
    story.pod(pod("e", labels={"app": "web"}), "b1")  # it says nothing, but another one minds it
    assert "existing pods anti-affinity" in story.wrong[1]


def test_a_zone_that_is_too_full_is_told() -> None:
    story = Story(in_zone("a1", "a"), in_zone("b1", "b"), in_zone("c1", "c"))
    for name, where in (("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "a1")):
        story.pod(spread(name), where)
    assert story.wrong == []
    story.pod(spread("e"), "a1")
    assert "3 in a, and 1 elsewhere: more than 1 apart" in story.wrong[0]


def test_binds_that_overtake_each_other_are_fine() -> None:
    """The second pod goes to zone b and is decided first, but its bind comes later."""
    story = Story(in_zone("a1", "a"), in_zone("b1", "b"))
    for name in ("a", "b", "c"):
        story.pod(spread(name))
    story.bind("a", "a1")
    story.bind("c", "a1")
    story.bind("b", "b1")
    assert story.wrong == []


def test_a_pod_that_left_a_moment_ago_counts_and_one_that_left_long_ago_does_not() -> None:
    story = Story(in_zone("a1", "a"), in_zone("b1", "b"))
    story.pod(spread("a"), "a1")
    story.pod(spread("b"), "b1")
    story.deleting("b")
    story.gone("b")
    story.pod(spread("c"), "a1")
    assert story.wrong == []
    story.gone("c")
    story.now += LATE_SECONDS + 1
    story.pod(spread("d"), "a1")
    assert "2 in a, and 0 elsewhere" in story.wrong[0]


# gangs


def test_a_gang_in_parts_is_told_and_a_whole_one_is_not() -> None:
    story = Story(node("one", cpu=8))
    for each in members("annotations", "train", range(3), 3):
        story.pod(each)
    assert story.ledger.gangs_below(set()) == []
    story.bind("train-0", "one")
    story.bind("train-1", "one")
    assert story.ledger.gangs_below(set()) == ["gang train: 2 of at least 3 are bound"]
    assert not story.ledger.gangs["train"].started
    story.bind("train-2", "one")
    assert story.ledger.gangs_below(set()) == []
    assert story.ledger.gangs["train"].started


def test_a_gang_that_loses_a_member_is_told_unless_it_was_taken_away_on_purpose() -> None:
    story = Story(node("one", cpu=8))
    for each in members("annotations", "train", range(3), 3):
        story.pod(each, "one")
    story.gone("train-1")
    assert story.ledger.gangs_below(set()) == ["gang train: 2 of at least 3 are bound"]
    assert story.ledger.gangs_below({"chaos/train-1"}) == []


def test_a_gang_that_was_evicted_as_a_whole_is_fine() -> None:
    story = Story(node("one", cpu=8))
    for each in members("annotations", "train", range(3), 3):
        story.pod(each)
    story.bind("train-0", "one")
    story.gone("train-0")
    assert story.ledger.gangs_below(set()) == []
