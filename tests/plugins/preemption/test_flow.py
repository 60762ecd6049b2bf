"""From the attempt that finds victims to the place: who waits for what, and what becomes of the others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.stage import made
from mooring.cluster.pods import Hold
from mooring.engine.decisions import Bind, Evict, Nominate, Wait
from mooring.engine.events import EvictFailed
from mooring.framework.api.status import wait
from mooring.model.objects import (
    Affinity,
    LabelSelector,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodStatus,
    TopologySpreadConstraint,
)
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread
from plugins.preemption.arena import (
    DISRUPTED,
    HIGH,
    LARGE,
    LOW,
    MID,
    VERY_LARGE,
    Arena,
    answer_of,
    cleared,
    sized,
    small_node,
    with_condition,
)

TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."
GATED = "waiting for the preemption for this pod to be finished"


def leaving(pod: Pod) -> Pod:
    """The pod as the API server shows it once its eviction has begun."""
    meta = msgspec.structs.replace(pod.metadata, deletion_timestamp="2024-01-02T00:00:00Z")
    return with_condition(msgspec.structs.replace(pod, metadata=meta), DISRUPTED)


def two_victims() -> tuple[Arena, list[Pod], Pod]:
    """A pod has just preempted both pods of a node."""
    arena = Arena().nodes(small_node("n"))
    victims = [arena.running(sized(name, 250, LOW), "n") for name in ("a", "b")]
    preemptor = sized("p", VERY_LARGE, HIGH)
    answer = arena.preempt(preemptor)
    assert (answer.nominated, set(answer.victims), answer.said) == ("n", {"a", "b"}, "")
    return arena, victims, preemptor


def test_evictions_say_what_the_condition_and_the_event_need() -> None:
    arena = Arena().nodes(small_node("n"))
    victim = arena.running(sized("v", LARGE, LOW), "n")
    preemptor = sized("p", VERY_LARGE, HIGH)
    evict, refusal = arena.attempt(preemptor)
    assert evict == Evict(
        victim,
        "default/p",
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority pod",
        "n",
        preemptor,
    )
    assert isinstance(refusal, Wait)
    assert refusal.message == "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."
    assert refusal.plugins == ("NodeResourcesFit",)


def test_the_pod_gets_its_place_when_the_last_victim_has_gone() -> None:
    arena, victims, preemptor = two_victims()
    assert arena.where(preemptor) == "unschedulable"
    for victim in victims:
        arena.change(leaving(victim))
    assert arena.cycle() is None
    arena.now = 5.0
    arena.delete(victims[0])
    decisions = arena.cycle()
    assert decisions is not None
    assert answer_of(decisions).said == TERMINATING
    assert answer_of(decisions).nominated is None
    assert arena.engine.nominator.node_of(preemptor.uid) == "n"
    arena.now = 10.0
    arena.delete(victims[1])
    assert arena.all() == {"p": "n"}


def test_room_on_a_node_that_is_cordoned_meanwhile_is_given_up() -> None:
    arena, victims, _ = two_victims()
    for victim in victims:
        arena.change(leaving(victim))
    arena.change(small_node("n", unschedulable=True))
    for victim in victims:
        arena.delete(victim)
    arena.tick(1000.0)
    assert arena.all() == {}


def test_a_nomination_to_a_node_that_does_not_take_the_pod_is_no_place() -> None:
    """What is known of nodes from the preemptor before it says so, and is not passed over."""
    arena = Arena().nodes(small_node("full"), small_node("cordoned", unschedulable=True))
    arena.running(sized("v", LARGE, LOW), "full")
    assert arena.preempt(sized("p", VERY_LARGE, HIGH)).nominated == "full"
    wanted = sized("q", VERY_LARGE, HIGH, nominated="cordoned")
    assert not any(isinstance(decision, Bind) for decision in arena.attempt(wanted))


def test_nodes_that_are_alike_are_not_when_a_budget_names_a_pod() -> None:
    """It is disrupted already, so that evicting it again violates nothing."""
    arena = Arena().nodes(small_node("a"), small_node("b"))
    for name in ("a", "b"):
        arena.running(sized(f"on-{name}", LARGE, LOW, labels={"app": "web"}), name)
    arena.budget("web", 0, "on-b", app="web")
    answer = arena.preempt(sized("p", VERY_LARGE, HIGH))
    assert (answer.nominated, answer.victims) == ("b", ("on-b",))


def test_the_pod_is_held_back_until_its_victims_terminate() -> None:
    arena, victims, preemptor = two_victims()
    arena.now = 5.0
    arena.delete(victims[0])
    assert arena.cycle() is None
    assert arena.queued(preemptor).gating_message == GATED
    arena.tick(1000.0)
    assert arena.cycle() is None
    arena.delete(victims[1])
    assert arena.all() == {"p": "n"}


def test_a_rival_does_not_get_the_room_that_was_made() -> None:
    arena, victims, _ = two_victims()
    arena.now = 5.0
    for victim in victims:
        arena.delete(victim)
    arena.add(rival := sized("rival", LARGE, MID))
    assert arena.all() == {"p": "n"}
    assert arena.where(rival) == "unschedulable"


def test_an_eviction_that_fails_is_taken_back_and_the_pod_looks_again() -> None:
    arena, victims, preemptor = two_victims()
    arena.now = 5.0
    for victim in victims:
        arena.engine.handle(EvictFailed(victim, preemptor.key, "no"), arena.now)
    assert arena.where(preemptor) == "active"
    decisions = arena.cycle()
    assert decisions is not None
    assert set(answer_of(decisions).victims) == {"a", "b"}


def test_victims_on_their_way_out_are_not_evicted_again() -> None:
    arena = Arena().nodes(small_node("n"))
    arena.running(sized("going", 250, LOW, deleting="2024-01-02T00:00:00Z"), "n")
    arena.running(sized("staying", 250, LOW), "n")
    answer = arena.preempt(sized("p", VERY_LARGE, HIGH))
    assert (answer.nominated, answer.victims) == ("n", ("staying",))


def test_a_second_pod_counts_on_the_room_of_the_first() -> None:
    """The first takes the victims it needs; the second, as important, takes others."""
    arena = Arena().nodes(small_node("n"))
    for name in ("a", "b", "c", "d", "e"):
        arena.running(sized(name, 100, LOW), "n")
    first = arena.preempt(sized("p", 200, HIGH))
    second = arena.preempt(sized("q", 200, HIGH))
    assert len(first.victims) == 2
    assert len(set(first.victims) | set(second.victims)) == 4


def test_less_important_pods_lose_their_nomination_and_look_again() -> None:
    arena = Arena().nodes(small_node("n"))
    arena.running(sized("v", VERY_LARGE, LOW), "n")
    overtaken = sized("overtaken", VERY_LARGE, MID)
    assert arena.preempt(overtaken).nominated == "n"
    decisions = arena.attempt(sized("p", VERY_LARGE, HIGH))
    assert cleared(decisions) == ["overtaken"]
    assert [type(decision) for decision in decisions] == [Nominate, Wait]  # the victim is going already
    assert arena.engine.nominator.node_of(overtaken.uid) == ""


def test_a_nomination_that_no_longer_helps_is_cleared() -> None:
    arena = Arena().nodes(small_node("n"))
    arena.running(sized("v", VERY_LARGE, HIGH), "n")
    assert arena.preempt(sized("p", LARGE, MID, nominated="n")).nominated == ""
    assert not arena.engine.nominator


def waits_at_permit(names: set[str]) -> type:
    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        return wait(60.0) if pod.name in names else None

    return made("Permits", permit=permit)


def test_a_victim_that_waits_at_permit_loses_its_place_at_once() -> None:
    arena = Arena(waits_at_permit({"v"})).nodes(small_node("n"))
    arena.add(victim := sized("v", LARGE, LOW))
    arena.cycle()
    assert arena.holds(victim) == "n"
    evict, mine, others = arena.attempt(preemptor := sized("p", VERY_LARGE, HIGH))
    assert isinstance(evict, Evict)
    assert (evict.pod, evict.node, evict.in_memory) == (victim, "n", True)
    assert isinstance(mine, Wait)
    assert (mine.pod, mine.nominated) == (preemptor, "n")
    assert isinstance(others, Wait)
    assert (others.pod, others.reason) == (victim, "SchedulerError")
    assert others.message == "waiting on permit for pod: preempted"
    assert arena.holds(victim) == ""
    assert arena.where(victim) == "error_backoff"
    found = arena.cycle()
    assert found is not None
    assert isinstance(found[0], Bind)
    assert (found[0].pod.name, found[0].node) == ("p", "n")


def being_bound() -> tuple[Arena, Bind, Pod]:
    """A pod is being bound when a more important one needs its place."""
    arena = Arena().nodes(small_node("n"))
    bind = arena.try_pod(victim := sized("v", LARGE, LOW))
    assert isinstance(bind, Bind)
    evict, mine = arena.attempt(preemptor := sized("p", VERY_LARGE, HIGH))
    assert isinstance(evict, Evict)
    assert (evict.pod, evict.node, evict.in_memory) == (victim, "n", False)
    assert isinstance(mine, Wait)
    assert arena.engine.nominator.node_of(preemptor.uid) == "n"
    return arena, bind, preemptor


def test_a_victim_whose_bind_is_called_off_is_tried_again() -> None:
    arena, bind, preemptor = being_bound()
    arena.now = 5.0
    (wait,) = arena.bind_failed(bind, "preempted")
    assert isinstance(wait, Wait)
    assert (wait.pod, wait.reason, wait.message) == (bind.pod, "SchedulerError", "preempted")
    assert arena.where(bind.pod) == "error_backoff"
    assert arena.all() == {"p": "n"}
    assert arena.where(preemptor) == ""


def test_a_victim_whose_bind_went_through_is_waited_for() -> None:
    arena, bind, preemptor = being_bound()
    arena.now = 5.0
    arena.bound(bind)
    assert arena.cycle() is None
    assert arena.where(preemptor) == "unschedulable"
    arena.change(leaving(bind.pod.on_node("n")))
    arena.delete(bind.pod.on_node("n"))
    assert arena.all() == {"p": "n"}


def test_a_victim_that_could_not_be_evicted_is_still_being_bound() -> None:
    arena, bind, preemptor = being_bound()
    arena.now = 5.0
    arena.engine.handle(EvictFailed(bind.pod, preemptor.key, "no"), arena.now)
    assert arena.where(preemptor) == "active"
    assert arena.engine.cluster.pods.by_uid[bind.pod.uid].hold is Hold.ASSUMED
    arena.bound(bind)
    assert arena.engine.cluster.pods.by_uid[bind.pod.uid].hold is Hold.BOUND
    arena.engine.check()


def test_one_failed_eviction_of_several_has_the_pod_look_again() -> None:
    arena, victims, preemptor = two_victims()
    arena.now = 5.0
    arena.delete(victims[0])
    assert arena.cycle() is None
    arena.engine.handle(EvictFailed(victims[1], preemptor.key, "the server is away"), arena.now)
    assert arena.where(preemptor) == "active"
    decisions = arena.cycle()
    assert decisions is not None
    assert answer_of(decisions).victims == ("b",)
    assert answer_of(decisions).nominated == "n"


def test_a_report_of_an_eviction_that_failed_may_come_too_late() -> None:
    arena, victims, preemptor = two_victims()
    arena.now = 5.0
    for victim in victims:
        arena.delete(victim)
    assert arena.all() == {"p": "n"}
    assert arena.engine.handle(EvictFailed(victims[1], preemptor.key, "no"), arena.now) == []
    assert arena.cycle() is None
    arena.engine.check()


def test_a_transformed_pod_is_tried_as_the_filters_see_it() -> None:
    def before_pre_filter(self: Any, cycle: Any, pod: Pod) -> Pod:
        return msgspec.structs.replace(pod, spec=sized("x", VERY_LARGE, HIGH).spec)

    arena = Arena(made("Swells", before_pre_filter=before_pre_filter)).nodes(small_node("n"))
    for name in ("a", "b"):
        arena.running(sized(name, 250, LOW), "n")
    assert set(arena.preempt(sized("p", 1, HIGH)).victims) == {"a", "b"}


def test_a_filter_that_fails_on_trial_says_so() -> None:
    def filter_(self: Any, cycle: Any, pod: Pod, node: Any) -> None:
        if not node.pods:
            raise RuntimeError("boom")

    arena = Arena(made("Bad", filter=filter_)).nodes(small_node("n"))
    arena.running(sized("v", VERY_LARGE, LOW), "n")
    answer = arena.preempt(sized("p", LARGE, HIGH))
    assert answer.said == 'preemption: running "Bad" filter plugin: RuntimeError: boom'
    assert answer.nominated is None
    assert arena.holds(sized("v", VERY_LARGE, LOW)) == "n"


def test_a_nominated_pod_that_is_shown_without_its_node_keeps_it() -> None:
    """The API server's echo may be older than the nomination."""
    arena, _, preemptor = two_victims()
    arena.change(msgspec.structs.replace(preemptor, status=PodStatus()))
    assert arena.engine.nominator.node_of(preemptor.uid) == "n"


# victims that other filters look at

ZONE = "topology.kubernetes.io/zone"
BLUE = LabelSelector(match_labels={"color": "blue"})


def spread_over_zones() -> dict[str, Any]:
    constraint = TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule", label_selector=BLUE
    )
    return {"topology_spread_constraints": (constraint,)}


def apart() -> dict[str, Any]:
    term = PodAffinityTerm(label_selector=BLUE, topology_key=ZONE)
    return {
        "affinity": Affinity(
            pod_anti_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
        )
    }


@pytest.mark.parametrize("rule", [spread_over_zones(), apart()], ids=["spread", "apart"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_pod_that_is_in_the_way_for_another_reason_goes(rule: dict[str, Any], exact: bool) -> None:
    """Node a is full of pods, of which the blue one has to go; in b there is no less important pod."""
    arena = Arena(PodTopologySpread, InterPodAffinity, exact=exact)
    arena.nodes(small_node("a", labels={ZONE: "a"}), small_node("b", labels={ZONE: "b"}))
    arena.running(sized("blue", 100, MID, labels={"color": "blue"}), "a")
    for number in range(4):
        arena.running(sized(f"plain-{number}", 100, LOW), "a")
    arena.running(sized("vip", VERY_LARGE, HIGH), "b")
    answer = arena.preempt(sized("p", 100, HIGH, labels={"color": "blue"}, **rule))
    assert (answer.nominated, answer.victims) == ("a", ("blue",))


def test_a_pod_that_is_in_nobodys_way_stays() -> None:
    """Only free resources are missing: the arrays decide, and the other filters are asked once."""
    arena = Arena(PodTopologySpread, InterPodAffinity)
    arena.nodes(small_node("a", labels={ZONE: "a"}), small_node("b", labels={ZONE: "b"}))
    arena.running(sized("blue", 100, MID, labels={"color": "blue"}), "a")
    arena.running(sized("plain-a", 400, LOW), "a")
    for number in range(5):
        arena.running(sized(f"plain-{number}", 100, LOW), "b")
    wanted = sized("p", 300, HIGH, labels={"color": "blue"}, **spread_over_zones())
    answer = arena.preempt(wanted)
    assert (answer.nominated, len(answer.victims)) == ("b", 3)
