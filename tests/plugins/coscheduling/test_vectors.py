"""Koordinator's own test cases: the gate, permit, failures, declarations, annotations before the bind."""

from __future__ import annotations

import pytest

from mooring.framework.api.status import Code, wait
from mooring.workloads.declared import MatchPolicy
from plugins.coscheduling.hand import CYCLE, GANG, Hand, labelled, member, pod, pod_group

ONCE, ONLY, BOTH = "once-satisfied", "only-waiting", "waiting-and-running"


def test_cg1_a_plain_pod_passes() -> None:
    assert Hand().gate(pod("plain")) == ""


def test_cg2_a_pod_group_that_is_not_there() -> None:
    hand = Hand()
    waiting = labelled("pod2", "wenshiqi222", namespace="gangA_ns")
    hand.see(waiting)
    assert hand.gate(waiting) == (
        "gang gangA_ns/wenshiqi222: nothing says how many pods it needs; there is no PodGroup of that name, "
        "and no pod has the annotation gang.scheduling.koordinator.sh/min-available"
    )


def test_cg3_two_of_four() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=4) for i in range(2)]
    hand.see(*pods)
    assert [hand.gate(each) for each in pods] == [
        "gang default/g: needs 4 pods; 2 are there, 2 are missing"
    ] * 2


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
def test_cg4_four_of_four(mode: str) -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=4, total=5, mode=mode) for i in range(4)]
    hand.see(*pods)
    assert hand.gate(pods[0]) == ""


def test_cg5_one_stands_for_all() -> None:
    hand = Hand()
    pods = [member(f"pod9-{i}", "ganga", 4, namespace="ganga_ns") for i in range(1, 6)]
    hand.see(*pods)
    assert hand.gate(pods[3]) == ""
    said = "gang ganga_ns/ganga: ganga_ns/pod9-4 is tried for all of its pods"
    assert hand.gate(pods[4]) == said
    assert hand.gate(pods[3]) == ""


def test_cg6_a_group_that_has_started() -> None:
    hand = Hand()
    first, late = member("first", least=4), member("late", least=4)
    hand.see(first, *(member(f"p{i}", least=4) for i in range(3)))
    hand.permit(first)
    hand.bind(first)
    for i in range(3):
        hand.gone(member(f"p{i}", least=4))
    hand.see(late)
    assert hand.gate(late) == ""


def test_cp1_a_plain_pod_is_let_go() -> None:
    assert Hand().permit(pod("plain")) is None


def test_cp2_a_gang_nobody_has_described() -> None:
    hand = Hand()
    waiting = labelled("p")
    hand.see(waiting)
    assert hand.permit(waiting) == wait(0.0)


def test_cp3_and_4_the_third_lets_all_go() -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=3, waiting="90s") for i in range(3)]
    hand.see(*pods)
    hand.permit(pods[0])
    second = hand.permit(pods[1])
    assert second is not None
    assert (second.code, second.timeout_s) == (Code.WAIT, 90.0)
    assert hand.permit(pods[2]) is None
    assert sorted(hand.allowed) == ["p0", "p1"]


@pytest.mark.parametrize(("policy", "waits"), [(ONCE, False), (ONLY, True)])
def test_cp5_a_late_member_of_a_group_that_has_started(policy: str, waits: bool) -> None:
    hand = Hand()
    pods = [member(f"p{i}", policy=policy) for i in range(3)]
    hand.see(*pods)
    hand.permit(pods[0])
    hand.permit(pods[1])
    hand.bind(*pods[:2])
    assert hand.waits(pods[2]) is waits


@pytest.mark.parametrize(("policy", "waits"), [(ONLY, True), (BOTH, False)])
def test_cp6_two_hold_places_and_one_is_bound(policy: str, waits: bool) -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=3, policy=policy) for i in range(3)]
    hand.see(pods[0].on_node("n"), *pods[1:])
    assert hand.waits(pods[1])
    assert hand.waits(pods[2]) is waits


def test_cp7_a_group_waits_for_all_its_gangs() -> None:
    hand = Hand()
    groups = '["default/c","default/d"]'
    pods = [member(f"{gang}{i}", gang, groups=groups) for gang in "cd" for i in range(2)]
    hand.see(*pods)
    assert [hand.waits(each) for each in pods[:3]] == [True, True, True]


def test_cp8_a_group_whose_gangs_are_all_there() -> None:
    hand = Hand()
    groups = '["default/e","default/f"]'
    pods = [member(f"e{i}", "e", 2, groups=groups) for i in range(2)]
    pods += [member(f"f{i}", "f", 3, groups=groups) for i in range(3)]
    hand.see(*pods)
    assert [hand.waits(each) for each in pods] == [True, True, True, True, False]
    assert sorted(hand.allowed) == ["e0", "e1", "f0", "f1"]


@pytest.mark.parametrize(("policy", "rejected"), [(ONCE, []), (ONLY, ["p1"])])
def test_cf1_and_2_a_member_fails_after_the_group_has_started(policy: str, rejected: list[str]) -> None:
    hand = Hand()
    pods = [member(f"p{i}", policy=policy) for i in range(3)]
    hand.see(*pods)
    hand.permit(pods[0])
    hand.gangs.bound(pods[0].uid)
    hand.plugin.pod_bound(pods[0], "n")
    hand.permit(pods[1])
    hand.plugin.after_post_filter(CYCLE, pods[2], {}, None)
    assert sorted(hand.rejected) == rejected


@pytest.mark.parametrize(("mode", "rejected"), [("Strict", ["p0", "p1"]), ("NonStrict", [])])
def test_cf3_a_member_fails_while_others_wait(mode: str, rejected: list[str]) -> None:
    hand = Hand()
    pods = [member(f"p{i}", least=3, mode=mode) for i in range(3)]
    hand.see(*pods)
    hand.permit(pods[0])
    hand.permit(pods[1])
    hand.plugin.after_post_filter(CYCLE, pods[2], {}, None)
    assert sorted(hand.rejected) == rejected
    said = "gang default/g: default/p2 found no place, so the others gave theirs back"
    assert set(hand.rejected.values()) == ({said} if rejected else set())
    assert len(hand.gang().pending) == (3 if rejected else 1)


def test_cc1_a_minimum_that_is_no_number() -> None:
    hand = Hand()
    hand.see(member("p0", least="xxx"))
    assert hand.gang().terms is None
    hand.see(member("p1", least=2))
    assert hand.gang().terms.least == 2


@pytest.mark.parametrize("waiting", ["0", "-20s", "abc", ""])
def test_cc2_values_that_make_no_sense_fall_back(waiting: str) -> None:
    hand = Hand()
    hand.see(member("p0", least=3, total=1, mode="foo", waiting=waiting, policy="bar"))
    gang = hand.gang()
    assert (gang.terms.total, gang.strict, gang.wait_s) == (3, True, 600.0)
    assert gang.policy is MatchPolicy.ONCE_SATISFIED


@pytest.mark.parametrize("groups", ["ganga,gangx", "[a,b]"])
def test_cc3_groups_that_are_no_list_of_words(groups: str) -> None:
    hand = Hand()
    hand.see(member("p0", groups=groups))
    assert hand.gang().group.gang_keys == ("default/g",)


def test_later_pods_do_not_change_a_gang() -> None:
    hand = Hand()
    hand.see(member("p0", least=3), member("p1", least=5, mode="NonStrict"))
    assert (hand.gang().terms.least, hand.gang().strict) == (3, True)


def annotations(group: str, count: str) -> dict[str, str]:
    return {
        f"{prefix}.koordinator.sh/bind-gang-{what}": value
        for prefix in ("internal.scheduling", "scheduling")
        for what, value in (("group-id", group), ("member-count", count))
    }


def test_cb1_those_who_start_together_are_told() -> None:
    hand = Hand()
    pods = [member(f"p{i}") for i in range(2)]
    hand.see(*pods)
    for each in pods:
        hand.permit(each)
    for each in pods:
        assert hand.plugin.pre_bind_patch(CYCLE, each, "n") == {
            "metadata": {"annotations": annotations("default/g", "2")}
        }
    assert hand.plugin.pre_bind_patch(CYCLE, pod("plain"), "n") is None


def test_cb2_a_third_that_comes_later_is_not_counted() -> None:
    hand = Hand()
    pods = [member(f"p{i}", total=3) for i in range(3)]
    hand.see(*pods)
    for each in pods:
        hand.permit(each)
    found = [hand.plugin.pre_bind_patch(CYCLE, each, "n") for each in pods]
    assert found[0] == found[1] == {"metadata": {"annotations": annotations("default/g", "2")}}
    assert found[2] is None


def test_what_was_told_before_is_taken_back() -> None:
    hand = Hand()
    told = pod("plain", annotations=annotations("default/old", "3") | {GANG + "mode": "x"})
    assert hand.plugin.pre_bind_patch(CYCLE, told, "n") == {
        "metadata": {"annotations": dict.fromkeys(annotations("", ""))}
    }


def test_those_who_started_are_forgotten_with_the_last_that_is_bound() -> None:
    hand = Hand()
    pods = [member(f"p{i}", policy=ONLY) for i in range(4)]
    hand.see(*pods)
    for each in pods[:2]:
        hand.permit(each)
    hand.bind(*pods[:2])
    assert hand.gang().group.starters == frozenset()
    for each in pods[2:]:
        hand.permit(each)
    assert hand.gang().group.starters == {each.uid for each in pods[2:]}


def test_a_gang_that_is_gone() -> None:
    hand = Hand()
    gone = member("p0")
    status = hand.permit(gone)
    assert status is not None
    assert (status.code, status.message) == (Code.UNSCHEDULABLE, "its gang is not there any more")


def test_a_pod_group_has_the_same_words() -> None:
    hand = Hand()
    hand.put(pod_group(minMember=2, scheduleTimeoutSeconds=30, annotations={GANG + "mode": "NonStrict"}))
    gang = hand.gang()
    assert (gang.terms.least, gang.wait_s, gang.strict, gang.by_object) == (2, 30.0, False, True)
