"""Gangs that are found partly bound: the rest is tried for a while, then places are given back."""

from __future__ import annotations

import pytest

from mooring.framework.api.grouping import Group
from mooring.model.objects import Pod
from plugins.coscheduling.hand import Hand, changed, member

NOW = 1_000_000.0  # 1970-01-12T13:46:40Z
RECENTLY, LONG_AGO = "1970-01-12T13:45:00Z", "1970-01-12T13:30:00Z"


def found(started: str | None, bound: int = 2, **more: str) -> tuple[Hand, list[Pod]]:
    """Four pods of a gang of four, so many of them bound."""
    hand = Hand()
    hand.time = NOW
    pods = [member(f"p{i}", least=4, **more) for i in range(bound, 4)]
    there = [member(f"p{i}", least=4, node_name="n", started=started, **more) for i in range(bound)]
    hand.see(*there, *pods)
    return hand, pods


def tried(hand: Hand, pod: Pod) -> Group:
    assert hand.gate(pod) == ""
    group = hand.plugin.group(pod)
    assert isinstance(group, Group)
    return group


@pytest.mark.parametrize("started", [RECENTLY, None])
def test_only_the_rest_is_needed(started: str | None) -> None:
    hand, pods = found(started)
    group = tried(hand, pods[0])
    assert ([each.name for each in group.members], group.needed) == (["p2", "p3"], 2)
    assert hand.waits(pods[0])
    assert not hand.waits(pods[1])


def test_places_are_given_back_when_the_rest_does_not_come() -> None:
    hand, pods = found(RECENTLY)
    tried(hand, pods[0])
    hand.follow_up(NOW + 599)
    assert hand.wake_at == NOW + 600
    assert hand.evicted == {}
    hand.follow_up(NOW + 600)
    assert sorted(hand.evicted) == ["p0", "p1"]
    assert hand.evicted["p0"] == (
        "GangIncomplete: gang default/g: only 2 of the 4 members it needs are bound, and the others found no "
        "place within 10m0s: its places are given back"
    )


def test_once_they_are_gone_all_are_needed_again() -> None:
    hand, pods = found(RECENTLY)
    hand.follow_up(NOW)
    hand.follow_up(NOW + 600)
    for i in range(2):
        leaving = changed(member(f"p{i}", least=4, node_name="n"), deletion_timestamp="x")
        hand.see(leaving)
        hand.gone(leaving)
    again = [member(f"again{i}", least=4) for i in range(2)]
    hand.see(*again)
    assert tried(hand, pods[0]).needed == 4


def test_those_that_cannot_be_evicted_are_told_again() -> None:
    hand, _ = found(RECENTLY)
    hand.follow_up(NOW)
    hand.follow_up(NOW + 600)
    hand.evicted.clear()
    hand.follow_up(NOW + 1200)
    assert sorted(hand.evicted) == ["p0", "p1"]


def test_the_rest_that_comes_ends_it() -> None:
    hand, pods = found(RECENTLY)
    for each in pods:
        hand.permit(each)
    hand.bind(*pods)
    hand.follow_up(NOW + 6000)
    assert hand.evicted == {}
    assert hand.gang().group.satisfied


def test_members_that_have_run_for_long_have_started() -> None:
    hand, pods = found(LONG_AGO)
    assert [hand.gate(each) for each in pods] == ["", ""]
    assert hand.plugin.group(pods[0]) is None
    hand.follow_up(NOW + 6000)
    assert hand.evicted == {}


def test_a_gang_that_was_whole_once_may_lose_members() -> None:
    hand, pods = found(RECENTLY, bound=4)
    assert pods == []
    hand.gone(member("p0", least=4))
    late = member("late", least=4)
    hand.see(late)
    assert hand.gate(late) == ""
    assert hand.plugin.group(late) is None
    hand.follow_up(NOW + 6000)
    assert hand.evicted == {}


def test_members_that_are_not_strict_keep_their_places() -> None:
    hand, pods = found(RECENTLY, mode="NonStrict")
    assert hand.gate(pods[0]) == ""
    hand.follow_up(NOW + 6000)
    assert hand.evicted == {}


def test_the_waiting_time_is_the_gangs() -> None:
    hand, _ = found(RECENTLY, waiting="110s")
    hand.follow_up(NOW + 109)
    assert hand.evicted == {}
    hand.follow_up(NOW + 110)
    assert len(hand.evicted) == 2


def test_only_waiting_members_cannot_be_joined() -> None:
    hand, pods = found(RECENTLY, policy="only-waiting")
    assert tried(hand, pods[0]).needed == 4


def test_who_does_not_decide_evicts_nobody() -> None:
    hand, _ = found(RECENTLY)
    assert hand.wake_at is None
    hand.time = NOW + 6000
    hand.see(member("p9", least=4))
    assert hand.evicted == {}
