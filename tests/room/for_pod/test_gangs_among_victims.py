"""Gangs in the way of a pod, and pods that a policy protects: on any small cluster as the reference does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from engine.stage import BUILT_IN, Stage, node
from mooring.engine.decisions import Bind
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Affinity, LabelSelector, Pod, PodAffinity, PodAffinityTerm
from mooring.plugins.coscheduling import Coscheduling
from mooring.plugins.preemption import DefaultPreemption
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.room.for_pod import coverage, prospects
from plugins.preemption.arena import HIGH, LOW, MID, Arena, answer_of, sized, small_node
from room.for_gang.arena import GANG
from room.for_pod.reference import Guest, House, Verdict, preempt
from room.for_pod.test_random_clusters import as_pod, clusters

GUARDED = "guarded"


class Guard(Plugin):
    """Protects pods that say so."""

    def may_evict(self, pod: Pod | None, victim: Pod) -> bool:
        return GUARDED not in victim.annotations


def notes(gang: str, least: int) -> dict[str, str]:
    return {GANG + "name": gang, GANG + "min-available": str(least)}


def low(name: str, gang: str, least: int, size: int = 300, priority: int = LOW, **more: Any) -> Pod:
    return sized(name, size, priority, annotations=notes(gang, least), **more)


def with_nodes(*names: str) -> Arena:
    return Arena(Coscheduling).nodes(*map(small_node, names))


def test_a_gang_that_would_fall_below_its_minimum_goes_whole() -> None:
    arena = with_nodes("a", "b", "c")
    for number, name in enumerate("ab"):
        arena.running(low(f"low-{number}", "low", 2), name)
    arena.running(sized("important", 500, HIGH), "c")
    found = arena.preempt(sized("p", 300, HIGH))
    assert (found.nominated, sorted(found.victims)) == ("a", ["low-0", "low-1"])


def test_members_above_the_minimum_go_one_by_one() -> None:
    arena = with_nodes("a", "b")
    for number, name in enumerate("ab"):
        arena.running(low(f"low-{number}", "low", 1), name)
    assert arena.preempt(sized("p", 300, HIGH)).victims == ("low-0",)


def test_a_gang_counts_with_all_its_pods() -> None:
    """Two single pods are fewer than a gang of three, of which only one is in the way."""
    arena = with_nodes("a", "b", "c", "d")
    for number, name in enumerate("abc"):
        arena.running(low(f"low-{number}", "low", 3), name)
    arena.running(sized("single-0", 200, LOW), "d")
    arena.running(sized("single-1", 200, LOW), "d")
    found = arena.preempt(sized("p", 500, HIGH))
    assert (found.nominated, sorted(found.victims)) == ("d", ["single-0", "single-1"])


def test_the_most_important_member_counts_wherever_it_is() -> None:
    arena = with_nodes("a", "b", "c")
    arena.running(low("low-0", "low", 2, priority=LOW), "a")
    arena.running(low("low-1", "low", 2, priority=MID + 1), "b")
    arena.running(sized("single", 300, MID), "c")
    assert arena.preempt(sized("p", 300, HIGH)).victims == ("single",)


def test_a_budget_protects_a_gang_through_any_of_its_pods() -> None:
    arena = with_nodes("a", "b", "c")
    arena.running(low("low-0", "low", 2), "a")
    arena.running(low("low-1", "low", 2, labels={"app": "kept"}), "b")
    arena.running(sized("single", 300, MID), "c")
    arena.budget("kept", 0, app="kept")
    assert arena.preempt(sized("p", 300, HIGH)).victims == ("single",)


def test_a_gang_with_a_member_that_must_stay_spares_only_what_it_can() -> None:
    arena = with_nodes("a", "b", "c")
    arena.running(low("low-0", "low", 2), "a")
    arena.running(low("low-1", "low", 2), "b")
    arena.running(low("low-2", "low", 2, priority=HIGH), "c")
    assert arena.preempt(sized("p", 300, HIGH)).victims == ("low-0",)
    assert arena.preempt(sized("q", 300, HIGH)).victims == ()


@pytest.mark.parametrize("exact", [False, True])
def test_a_gang_loses_the_one_it_can_spare_however_important_that_is(exact: bool) -> None:
    """With the large one back, there would be room for neither of the others."""
    arena = Arena(Coscheduling, exact=exact).nodes(small_node("a"))
    arena.running(low("large", "low", 2, size=300, start=1), "a")
    arena.running(low("small-0", "low", 2, size=100, start=2), "a")
    arena.running(low("small-1", "low", 2, size=100, start=3), "a")
    assert arena.preempt(sized("p", 200, HIGH)).victims == ("large",)


@pytest.mark.parametrize("exact", [False, True])
def test_a_budget_inside_a_gang_is_kept_if_another_member_can_go(exact: bool) -> None:
    arena = Arena(Coscheduling, exact=exact).nodes(small_node("a"))
    for number in range(3):
        labels = {"app": "kept"} if number == 2 else {}
        arena.running(low(f"low-{number}", "low", 2, size=150, start=number + 1, labels=labels), "a")
    arena.budget("kept", 0, app="kept")
    assert arena.preempt(sized("p", 200, HIGH)).victims == ("low-1",)


def test_a_gang_with_too_few_pods_anyhow_shields_nobody() -> None:
    arena = with_nodes("a", "b", "c")
    arena.running(low("low-0", "low", 10), "a")
    arena.running(low("low-1", "low", 10), "b")
    arena.running(low("low-2", "low", 10, priority=HIGH), "c")
    assert arena.preempt(sized("p", 300, HIGH)).victims == ("low-0",)


def test_pods_of_the_own_gang_are_not_evicted() -> None:
    arena = with_nodes("a", "b")
    arena.running(low("g-0", "g", 1), "a")
    arena.running(sized("single", 300, MID), "b")
    assert arena.preempt(low("g-1", "g", 1, priority=HIGH)).victims == ("single",)


def test_members_that_are_leaving_are_no_loss() -> None:
    arena = with_nodes("a", "b", "c")
    arena.running(low("low-0", "low", 1, deleting="2024-01-01T00:00:00Z"), "a")
    arena.running(low("low-1", "low", 1), "b")
    arena.running(sized("important", 500, HIGH), "c")
    found = arena.preempt(sized("p", 300, HIGH))
    assert (found.nominated, found.victims) == ("a", ())  # it goes anyhow, and the gang goes on


def test_a_gang_that_goes_takes_its_anti_affinity_along() -> None:
    """The pod fits beside what is left: a member on another node that keeps it away goes with its gang."""
    arena = Arena(Coscheduling, InterPodAffinity)
    zone = {"topology.kubernetes.io/zone": "z"}
    arena.nodes(small_node("a", labels=zone), small_node("b", labels=zone))
    term = PodAffinityTerm(
        label_selector=LabelSelector(match_labels={"app": "p"}), topology_key="topology.kubernetes.io/zone"
    )
    terms = PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    apart = Affinity(pod_anti_affinity=terms)
    arena.running(low("low-0", "low", 2, size=500, affinity=apart), "a")
    arena.running(low("low-1", "low", 2, size=500), "b")
    found = arena.preempt(sized("p", 300, HIGH, labels={"app": "p"}))
    assert (found.nominated, sorted(found.victims)) == ("a", ["low-0", "low-1"])


@pytest.mark.parametrize("exact", [False, True])
def test_a_protected_pod_stays(exact: bool) -> None:
    arena = Arena(Guard, exact=exact).nodes(*map(small_node, "abc"))
    arena.running(sized("kept", 300, LOW, annotations={GUARDED: ""}), "a")
    arena.running(sized("single", 300, MID), "b")
    arena.running(sized("both", 100, LOW, annotations={GUARDED: ""}), "c")
    arena.running(sized("more", 300, MID, start=1), "c")
    assert arena.preempt(sized("p", 400, HIGH)).victims == ("single",)


@st.composite
def with_gangs(draw: Any) -> dict[str, Any]:
    """Some pods belong to gangs, some are protected, or both."""
    cluster: dict[str, Any] = draw(clusters())
    gangs = st.sampled_from(("", "", "x", "y"))
    guarded = st.sampled_from((False, False, False, False, True))
    cluster["houses"] = [
        House(
            house.name,
            house.cpu,
            house.memory,
            house.most,
            [replace(guest, gang=draw(gangs), guarded=draw(guarded)) for guest in house.guests],
            house.coming,
        )
        for house in cluster["houses"]
    ]
    cluster["minimums"] = {name: draw(st.integers(0, 5)) for name in "xy"}
    return cluster


def member(guest: Guest, minimums: dict[str, int]) -> Pod:
    annotations = notes(guest.gang, minimums[guest.gang]) if guest.gang else {}
    return as_pod(guest, annotations=annotations | ({GUARDED: ""} if guest.guarded else {}))


def answered(cluster: dict[str, Any], *, exact: bool) -> Any:
    arena = Arena(
        Coscheduling,
        Guard,
        exact=exact,
        offset=cluster["offset"],
        minCandidateNodesPercentage=cluster["percentage"],
        minCandidateNodesAbsolute=cluster["absolute"],
    )
    for house in cluster["houses"]:
        arena.nodes(node(house.name, house.cpu, house.memory, house.most))
        for guest in house.guests:
            arena.running(member(guest, cluster["minimums"]), house.name)
        for guest in house.coming:
            arena.engine.nominator.nominate(as_pod(guest), house.name)
    for number, budget in enumerate(cluster["budgets"]):
        arena.budget(f"b{number}", budget.allowed, *budget.disrupted, **{budget.key: budget.value})
    decisions = arena.attempt(as_pod(cluster["pod"]))
    arena.engine.check()
    return None if any(isinstance(each, Bind) for each in decisions) else answer_of(decisions)


@settings(max_examples=120, deadline=None)
@given(with_gangs())
def test_gangs_and_protected_pods_as_the_reference(cluster: dict[str, Any]) -> None:
    expected = preempt(**cluster)
    gangs = {guest.name: guest.gang for house in cluster["houses"] for guest in house.guests}
    event(f"gangs among the victims: {any(gangs[name] for name in expected.victims)}")
    for few_budgets, few_rows, exact in ((16, 8, False), (0, 0, False), (0, 0, True)):
        with patch.object(coverage, "FEW", few_budgets), patch.object(prospects, "FEW", few_rows):
            answer = answered(cluster, exact=exact)
        if expected.fits:
            assert answer is None
            continue
        assert answer is not None
        said = answer.said if answer.nominated == "" else ""
        assert Verdict(False, answer.nominated, frozenset(answer.victims), said) == expected


def test_the_pod_itself_is_asked_for() -> None:
    """`may_evict` is told who would get the room."""
    asked = []

    class Asked(Plugin):
        def may_evict(self, pod: Pod | None, victim: Pod) -> bool:
            asked.append((None if pod is None else pod.name, victim.name))
            return True

    arena = Arena(Asked).nodes(small_node("a"))
    arena.running(sized("low", 300, LOW), "a")
    arena.running(sized("as important", 100, HIGH), "a")
    assert arena.preempt(sized("p", 300, HIGH)).victims == ("low",)
    assert asked == [("p", "low")]


def test_gangs_of_another_profile_are_known() -> None:
    profiles = "profiles:\n- schedulerName: default-scheduler\n- schedulerName: other\n"
    stage = Stage(DefaultPreemption, Coscheduling, base=BUILT_IN, text=profiles)
    stage.nodes(small_node("a"), small_node("b"))
    for number, name in enumerate("ab"):
        stage.running(low(f"low-{number}", "low", 2, scheduler_name="other"), name)
    stage.add(sized("p", 300, HIGH))
    assert sorted(answer_of(stage.cycle() or []).victims) == ["low-0", "low-1"]
