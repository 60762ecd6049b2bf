"""Where Koordinator's code does not do what is meant, what is meant is done."""

from __future__ import annotations

import pytest

from mooring.framework.api.events import Hint
from mooring.model.objects import Pod
from plugins.coscheduling.hand import CYCLE, GANG, Hand, changed, labelled, member, pod_group

A_AND_B = '["default/a","default/b"]'


def test_q1_a_gang_belongs_to_the_group_it_names_now() -> None:
    hand = Hand()
    for name in "ab":
        hand.put(pod_group(name, minMember=1))
    a, b = labelled("pa", "a"), labelled("pb", "b")
    hand.see(a, b)
    hand.gate(a)
    hand.permit(a)
    hand.bind(a)
    assert hand.gang("default/a").group.satisfied
    for name in "ab":
        hand.put(pod_group(name, minMember=1, annotations={GANG + "groups": A_AND_B}))
    group = hand.gang("default/a").group
    assert group is hand.gang("default/b").group
    assert (group.key, group.satisfied) == ("default/a,default/b", False)
    assert sorted(hand.plugin.gangs.groups) == ["default/a,default/b"]
    assert not hand.waits(b)


def test_q1_the_one_that_stood_for_the_old_group_does_not_stand_for_the_new_one() -> None:
    hand = Hand()
    for name in "ab":
        hand.put(pod_group(name, minMember=1))
    a, b = labelled("pa", "a"), labelled("pb", "b")
    hand.see(a, b)
    assert [hand.gate(a), hand.gate(b)] == ["", ""]
    for name in "ab":
        hand.put(pod_group(name, minMember=1, annotations={GANG + "groups": A_AND_B}))
    assert hand.gate(b) == ""
    assert hand.gate(a).startswith("gang group default/a,default/b: default/pb is tried")


def test_q2_members_of_a_non_strict_gang_do_not_stop_the_others() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=2, mode="NonStrict") for i in range(3)]
    hand.see(*pods)
    hand.permit(pods[0])
    hand.plugin.after_post_filter(CYCLE, pods[1], {}, None)
    assert hand.rejected == {}
    assert not hand.waits(pods[2])
    assert hand.allowed == ["p0"]


def test_q18_all_wait_as_long_as_the_most_patient() -> None:
    hand = Hand()
    a = member("pa", "a", 1, groups=A_AND_B, waiting="30s")
    b = member("pb", "b", 2, groups=A_AND_B, waiting="2m")
    hand.see(a, b)
    status = hand.permit(a)
    assert status is not None
    assert status.timeout_s == 120.0


def test_q19_pod_groups_and_the_pod_itself_wake_it() -> None:
    hand = Hand()
    waiting = labelled("p", "g")
    hand.see(waiting)
    hints = {interest.resource: interest.hint for interest in hand.plugin.events()}
    mine, other = pod_group("g", minMember=1), pod_group("other", minMember=1)
    for found, wanted in ((mine, Hint.QUEUE), (other, Hint.SKIP)):
        assert hints["PodGroup"](waiting, None, found) is wanted  # type: ignore[misc]
        assert hints["PodGroup"](waiting, found, None) is wanted  # type: ignore[misc]
    own = hints["UnschedulablePod"]
    assert own(waiting, waiting, waiting) is Hint.QUEUE  # type: ignore[misc]
    assert own(waiting, None, labelled("q", "g")) is Hint.SKIP  # type: ignore[misc]


def test_q19_pods_of_the_gang_wake_each_other() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=3) for i in range(3)]
    hand.see(*pods[:2])
    for each in pods[:2]:
        hand.gate(each)
    assert hand.activated == []
    hand.see(pods[2].on_node("n"))
    assert hand.activated == ["p0"]


def test_q20_the_first_that_is_bound_starts_the_gang() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=3) for i in range(3)]
    hand.see(*pods)
    for each in pods:
        hand.permit(each)
    hand.bind(pods[0])
    assert hand.gang().group.satisfied
    hand.unreserve(pods[1])
    assert hand.gate(pods[1]) == ""
    assert hand.plugin.group(pods[1]) is None


def test_q24_pods_that_have_ended_do_not_count() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=2) for i in range(2)]
    hand.see(*pods, member("done", least=2, phase="Succeeded", node_name="n"))
    assert sorted(hand.gang().members) == [each.uid for each in pods]
    assert hand.gate(pods[0]) == ""
    hand.see(member("p1", least=2, phase="Failed"))
    assert hand.gate(pods[0]) == "gang default/g: needs 2 pods; 1 is there, 1 is missing"


def test_pods_with_scheduling_gates_are_not_collected() -> None:
    hand = Hand()
    first, gated = member("p0"), member("p1", gates=["wait"])
    hand.see(first, gated)
    short = "gang default/g: needs 2 pods; 1 is there, 1 is missing; 1 more has scheduling gates"
    assert hand.gate(first) == short
    hand.see(member("p1"))
    assert hand.activated == ["p0"]


def test_pods_of_another_scheduler_are_not_collected_but_count_once_bound() -> None:
    hand = Hand()
    first, other = member("p0"), member("p1", scheduler_name="other")
    hand.see(first, other)
    assert hand.gate(first) == "gang default/g: needs 2 pods; 1 is there, 1 is missing"
    hand.see(other.on_node("n"))
    assert len(hand.gang().bound) == 1
    assert hand.gate(first) == ""


def test_pods_that_are_being_deleted_do_not_count() -> None:
    hand = Hand()
    pods = [member("p0"), member("p1")]
    hand.see(*pods)
    hand.see(changed(pods[1], deletion_timestamp="2026-01-01T00:00:00Z"))
    assert hand.gate(pods[0]) == "gang default/g: needs 2 pods; 1 is there, 1 is missing"


def test_q1_who_leaves_a_group_does_not_stand_for_it_any_more() -> None:
    hand = Hand()
    for name in "ab":
        hand.put(pod_group(name, minMember=1, annotations={GANG + "groups": A_AND_B}))
    a, b = labelled("pa", "a"), labelled("pb", "b")
    hand.see(a, b)
    assert [hand.gate(a) == "", hand.gate(b) == ""] == [True, False]
    hand.put(pod_group("a", minMember=1))
    assert hand.gate(b) == "gang group default/a,default/b: gang default/a does not name the same gangs"
    hand.put(pod_group("b", minMember=1))
    assert hand.activated == ["pb"]
    assert hand.gate(b) == ""


@pytest.mark.parametrize("listed", ['["evil/x", "good/train"]', '["good/train"]'])
def test_nobody_is_drawn_into_a_group_unasked(listed: str) -> None:
    """A gang that others name and that does not name them starts, and stays, whatever becomes of theirs."""

    def gang(namespace: str, name: str, **more: str) -> list[Pod]:
        return [
            changed(member(f"{name}-{number}", name, 2, **more), namespace=namespace) for number in range(2)
        ]

    for evil_is_first in (False, True):
        hand = Hand()
        good, evil = gang("good", "train"), gang("evil", "x", groups=listed)
        for pods in (evil, good) if evil_is_first else (good, evil):
            hand.see(*pods)
        assert [hand.gate(pod) == "" for pod in good].count(True) == 1
        assert "good/train" in hand.gate(evil[0])
        group = hand.plugin.gangs.members[good[0].uid].gang.group
        assert [gang.id for gang in group.gangs()] == ["good/train"]
