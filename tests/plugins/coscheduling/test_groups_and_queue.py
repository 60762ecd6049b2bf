"""One member stands in the queue for all, and they are tried in their order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.framework.api.endpoints import EndpointRequest
from mooring.framework.api.grouping import Group
from mooring.framework.api.status import SKIP, Status
from mooring.framework.metrics import families as measures
from mooring.framework.metrics.meter import Meter
from mooring.model.objects import Pod
from plugins.coscheduling.hand import CYCLE, Hand, changed, labelled, member, pod, pod_group

A_AND_B = '["default/b","default/a"]'


def group_of(hand: Hand, pod: Pod) -> Group:
    found = hand.plugin.group(pod)
    assert isinstance(found, Group)
    return found


def test_members_come_by_gang_index_priority_and_age() -> None:
    hand = Hand()
    pods = [
        member("young", "a", 1, groups=A_AND_B, created="2026-01-02T00:00:00Z"),
        member("old", "a", 1, groups=A_AND_B, created="2026-01-01T00:00:00Z"),
        member("urgent", "a", 1, groups=A_AND_B, priority=5),
        member("second", "a", 1, groups=A_AND_B, index=2),
        member("first", "a", 1, groups=A_AND_B, index=0),
        member("mistaken", "b", 1, groups=A_AND_B, index="x"),
        member("b", "b", 1, groups=A_AND_B),
    ]
    hand.see(*pods)
    group = group_of(hand, pods[0])
    assert [each.name for each in group.members] == ["b", "first", "second", "urgent", "old", "young"]
    assert (group.key, group.needed) == ("default/a,default/b", 2)
    assert group.title == "gang group default/a,default/b"
    assert [gang.id for gang in hand.plugin.gangs.groups[group.key].gangs()] == ["default/b", "default/a"]


def test_another_stands_in_when_the_first_goes() -> None:
    hand = Hand()
    pods = [member(f"p{i}") for i in range(3)]
    hand.see(*pods)
    assert [hand.gate(each) == "" for each in pods] == [True, False, False]
    hand.gone(pods[0])
    assert hand.activated == ["p1"]
    assert [hand.gate(each) == "" for each in pods[1:]] == [True, False]


@pytest.mark.parametrize("how", ["bound", "ended", "deleting", "another gang"])
def test_another_stands_in_however_the_first_leaves(how: str) -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=1) for i in range(2)]
    hand.see(*pods)
    for each in pods:
        hand.gate(each)
    left = {
        "bound": pods[0].on_node("n"),
        "ended": member("p0", least=1, phase="Failed"),
        "deleting": changed(pods[0], deletion_timestamp="2026-01-01T00:00:00Z"),
        "another gang": member("p0", "other"),
    }
    hand.see(left[how])
    assert hand.activated[-1:] == ["p1"]
    assert hand.gate(pods[1]) == ""


def test_the_most_important_stands_in() -> None:
    hand = Hand()
    pods = [member("p0"), member("p1"), member("p2", priority=9)]
    hand.see(*pods)
    for each in pods:
        hand.gate(each)
    hand.gone(pods[0])
    assert hand.activated == ["p2"]


def test_after_an_attempt_somebody_else_may_stand() -> None:
    hand = Hand()
    pods = [member(f"p{i}") for i in range(2)]
    hand.see(*pods)
    for each in pods:
        hand.gate(each)
    assert {each.name for each in group_of(hand, pods[0]).members} == {"p0", "p1"}
    assert [hand.gate(each) == "" for each in reversed(pods)] == [True, False]


def test_a_gang_that_has_become_too_small_is_refused_and_tried_when_it_is_not() -> None:
    hand = Hand()
    pods = [member(f"p{i}") for i in range(2)]
    hand.see(*pods)
    hand.gate(pods[0])
    hand.gone(pods[1])
    refused = hand.plugin.group(pods[0])
    assert isinstance(refused, Status)
    assert refused.message == "gang default/g: needs 2 pods; 1 is there, 1 is missing"
    assert hand.plugin.pre_filter(CYCLE, pods[0]) == refused
    hand.see(member("p2", node_name="n"))
    assert hand.activated == ["p0"]
    assert hand.plugin.pre_filter(CYCLE, pods[0]) is SKIP


def test_a_minimum_that_is_lowered_lets_the_gang_go() -> None:
    hand = Hand()
    hand.put(pod_group(minMember=3))
    pods = [labelled("p0"), labelled("p1")]
    hand.see(*pods)
    assert hand.gate(pods[0]) != ""
    hand.put(pod_group(minMember=2))
    assert hand.activated == ["p0"]
    assert hand.gate(pods[0]) == ""
    assert group_of(hand, pods[0]).needed == 2


def test_members_of_a_group_that_has_started_are_woken_and_go_alone() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=1) for i in range(3)]
    hand.see(*pods)
    for each in pods:
        hand.gate(each)
    hand.permit(pods[0])
    hand.bind(pods[0])
    assert hand.activated[:2] == ["p1", "p2"]
    assert [hand.gate(each) for each in pods[1:]] == ["", ""]


def test_pods_judged_outside_wait_for_nobody_in_the_queue() -> None:
    hand = Hand()
    pods = [member(f"p{i}") for i in range(2)]
    hand.outside = {"p0", "p1"}
    hand.see(*pods)
    assert [hand.gate(each) for each in pods] == ["", ""]
    assert hand.plugin.group(pods[0]) is None
    assert hand.waits(pods[0])
    assert hand.activated == ["p1"]


def test_a_gang_that_is_named_and_not_there() -> None:
    hand = Hand()
    first = member("p0", "a", 1, groups='["default/a","default/z"]')
    hand.see(first)
    assert hand.gate(first) == "gang group default/a,default/z: gang default/z is not there"
    hand.see(labelled("z", "z"))
    assert hand.gate(first) == (
        "gang group default/a,default/z: gang default/z: nothing says how many pods it needs"
    )


def test_gangs_and_groups_go_with_their_last_pod() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=1) for i in range(2)]
    hand.see(*pods)
    hand.permit(pods[0])
    hand.bind(*pods)
    for each in pods:
        hand.gone(each)
    table = hand.plugin.gangs
    assert (table.gangs, table.groups, table.members) == ({}, {}, {})
    hand.see(pods[0])
    assert not hand.gang().group.satisfied


class Queued(msgspec.Struct):
    pod: Pod
    timestamp: float


def test_the_queue_may_be_sorted_by_gangs() -> None:
    hand = Hand()
    sub = {"koordinator.sh/priority": "7"}
    pods = {
        "urgent": pod("urgent", priority=5),
        "sub": pod("sub", labels=sub),
        "b1": member("b1", "b", 1, created="1970-01-01T00:00:05Z"),
        "a2": member("a2", "a", 1, created="1970-01-01T00:00:05Z"),
        "a1": member("a1", "a", 1, created="1970-01-01T00:00:08Z"),
        "plain": pod("plain"),
    }
    hand.see(*pods.values())
    stamps: dict[str, Any] = {"plain": 6.0}
    queued = {name: Queued(each, stamps.get(name, 100.0)) for name, each in pods.items()}
    order = sorted(queued, key=lambda name: hand.plugin.sort_key(queued[name]))
    assert order == ["urgent", "sub", "a1", "a2", "b1", "plain"]
    assert hand.plugin.less(queued["urgent"], queued["plain"])
    assert hand.plugin.order_of(pods["a1"]) == (5.0, "default/a")
    assert hand.plugin.order_of(pods["plain"]) is None


def test_a_gang_that_is_ready_and_does_not_start_is_told_of_once() -> None:
    hand = Hand()
    hand.meter = meter = Meter(lambda: 0.0)
    pods = [member(f"p{i}", waiting="60s") for i in range(2)]
    hand.see(*pods)
    assert dict(meter.counted(measures.WAITING_GANG_GROUPS)) == {(): 1}
    hand.follow_up(59.0)
    assert (hand.wake_at, hand.reports) == (60.0, [])
    hand.follow_up(60.0)
    hand.follow_up(600.0)
    assert hand.reports == [("p0", "gang default/g has had all its pods for 1m0s and could not start")]
    assert dict(meter.counted(measures.GANGS_TIMED_OUT)) == {(): 1}
    for each in pods:
        hand.permit(each)
    assert dict(meter.counted(measures.WAITING_GANG_GROUPS)) == {(): 0}
    (_, samples), = meter.sampled_series(measures.GANG_START_SECONDS)  # fmt: skip
    assert (sum(samples.counts), samples.sum) == (1, 600.0)


def test_what_people_see() -> None:
    hand = Hand()
    hand.see(member("p0", least=1), member("p1", least=1, node_name="n"))
    shown = hand.plugin.endpoints()["gang/:namespace/:name"](
        EndpointRequest({"namespace": "default", "name": "g"})
    )
    assert (shown["name"], shown["waitTime"], shown["gangFrom"]) == ("default/g", "10m0s", "PodAnnotation")
    assert (shown["pendingChildren"], shown["boundChildren"]) == (["default/p0"], ["default/p1"])
    assert shown["onceResourceSatisfied"] is True
    assert list(hand.plugin.endpoints()["gangs"](EndpointRequest())) == ["default/g"]
    assert (
        hand.plugin.endpoints()["gang/:namespace/:name"](EndpointRequest({"namespace": "x", "name": "g"}))
        is None
    )
