"""Pods that are promised room on a node."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stage import Stage, made, node, pod
from mooring.engine.engine import Engine
from mooring.engine.placement import verdicts
from mooring.engine.placement.around_nominated import AmongNominated
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import SKIP, Code, Status
from mooring.model.objects import Pod, PodStatus


@pytest.mark.parametrize(
    ("priority", "placed"), [(9, False), (10, False), (11, True)], ids=["lower", "same", "higher"]
)
def test_room_is_kept_from_pods_of_no_higher_priority(priority: int, placed: bool) -> None:
    stage = Stage().nodes("n")
    stage.engine.nominator.nominate(pod("vip", "3", priority=10), "n")
    decision = stage.try_pod(pod("p", "2", priority=priority))
    assert (type(decision).__name__ == "Bind") is placed


def test_a_pod_goes_where_there_is_room_beside_the_nominated() -> None:
    stage = Stage().nodes("n", "m")
    stage.engine.nominator.nominate(pod("vip", "3", priority=10), "n")
    assert [stage.place(pod(f"p{i}", "2")) for i in range(2)] == ["m", "m"]
    assert stage.wait(pod("p3", "2")).message == "0/2 nodes are available: 2 Insufficient cpu."
    assert stage.place(pod("small", "1")) == "n"


def test_rows_are_kept_free_in_a_crowd_of_nominations() -> None:
    """So many that the kept evaluation is made anew while nominated pods are tried."""
    stage = Stage().nodes(*(f"n{i}" for i in range(30)))
    for i in range(2):
        stage.place(pod(f"warm{i}", "100m"))
    for i in range(30):
        stage.engine.nominator.nominate(pod(f"vip{i}", "3950m", priority=10), f"n{i}")
    stage.wait(pod("p", "100m"))


def test_a_pod_tries_the_node_it_is_nominated_to_first() -> None:
    stage = Stage().nodes(node("busy"), node("free", "64", "64Gi"))
    stage.running(pod("r", "2"), "busy")
    assert stage.place(pod("p", nominated="busy")) == "busy"


def test_a_pod_goes_elsewhere_when_its_node_has_no_room() -> None:
    stage = Stage().nodes("full", "free")
    stage.running(pod("r", "4"), "full")
    assert stage.place(pod("p", nominated="full")) == "free"
    assert stage.place(pod("q", nominated="gone")) == "free"


def test_a_pod_does_not_take_room_from_another_on_its_own_node() -> None:
    stage = Stage().nodes("n", "m")
    stage.engine.nominator.nominate(pod("vip", "3", priority=10), "n")
    assert stage.place(pod("p", "2", nominated="n")) == "m"


def test_a_nomination_ends_with_a_place() -> None:
    stage = Stage().nodes("n", "m")
    stage.place(pod("p", "3", nominated="n", priority=5))
    assert not stage.engine.nominator
    assert stage.place(pod("q", "3")) == "m"


def test_a_nomination_ends_with_a_refusal_when_nobody_helps() -> None:
    stage = Stage().nodes("n")
    assert stage.wait(pod("p", "8", nominated="n")).nominated == ""
    assert not stage.engine.nominator


def test_a_post_filter_nominates_and_evicts() -> None:
    victim = pod("victim", "3", priority=-1)

    def post_filter(self: Any, cycle: Any, pod: Pod, statuses: Any) -> Any:
        return PostFilterResult("n", (victim,))

    stage = Stage(made("Preempts", post_filter=post_filter)).nodes("n")
    stage.running(victim, "n")
    stage.add(p := pod("p", "3", priority=5))
    decisions = stage.cycle()
    assert decisions is not None
    evict, refusal = decisions
    assert (evict.pod, evict.by, evict.reason) == (victim, "default/p", "PreemptionByScheduler")
    assert evict.message == "default-scheduler: preempting to accommodate a higher priority pod"
    assert refusal.nominated == "n"
    assert stage.engine.nominator.node_of(p.uid) == "n"
    stage.now = 5.0
    stage.delete(victim)
    stage.add(pod("rival", "3", priority=4))
    assert stage.all() == {"p": "n"}


def test_a_post_filter_may_leave_the_nomination_alone() -> None:
    stage = Stage(made("Shrugs", post_filter=lambda self, cycle, pod, statuses: None)).nodes("n")
    assert stage.wait(p := pod("p", "8", nominated="n")).nominated is None
    assert stage.engine.nominator.node_of(p.uid) == "n"


@pytest.mark.parametrize("how", ["deleted", "cleared"])
def test_the_end_of_a_nomination_wakes_those_it_kept_out(how: str) -> None:
    stage = Stage(made("Shrugs", post_filter=lambda self, cycle, pod, statuses: None)).nodes("n")
    stage.add(vip := pod("vip", "8", nominated="n", priority=10))
    stage.cycle()
    stage.wait(low := pod("low", "1"))
    stage.now = 5.0
    if how == "deleted":
        stage.delete(vip)
    else:
        stage.change(msgspec.structs.replace(vip, status=PodStatus()))
    assert stage.where(low) == "active"
    assert stage.all() == {"low": "n"}


def test_plugins_hear_of_pods_that_are_put_on_a_node_for_the_moment() -> None:
    heard: list[str] = []

    def add_pod(self: Any, cycle: Any, pod: Pod, added: Pod, node: Any) -> None:
        heard.append(f"{added.name} on {node.name}")
        cycle.write("crowd", cycle.read("crowd", 0) + 1)

    def look(self: Any, cycle: Any, pod: Pod, node: Any) -> None:
        heard.append(f"{node.pod_count} on {node.name}, {cycle.read('crowd', 0)} heard of")

    counts = made("Counts", pre_filter=lambda self, cycle, pod: None, filter=look, add_pod=add_pod)
    skips = made("Skips", pre_filter=lambda self, cycle, pod: SKIP, add_pod=lambda *a: heard.append("wrong"))
    stage = Stage(counts, skips).nodes("n")
    stage.engine.nominator.nominate(pod("vip", "1"), "n")
    assert stage.place(pod("p", "1")) == "n"
    assert sorted(heard) == ["0 on n, 0 heard of", "1 on n, 1 heard of", "vip on n"]


def test_plugins_can_ask_who_is_nominated() -> None:
    stage = Stage(made("Asks", filter=lambda self, cycle, pod, node: None)).nodes("n")
    stage.engine.nominator.nominate(vip := pod("vip"), "n")
    handle = stage.plugin("Asks").handle
    assert handle.nominated("n") == [vip]
    assert handle.nominated("m") == []


# what is remembered of nodes that others are nominated to

NAMES = ("n0", "n1", "n2")
CHANGES = st.lists(
    st.one_of(
        st.tuples(
            st.just("nominate"), st.integers(0, 3), st.sampled_from(NAMES), st.sampled_from((0, 5, 10))
        ),
        st.tuples(st.just("withdraw"), st.integers(0, 3), st.none(), st.none()),
        st.tuples(st.just("run"), st.integers(0, 3), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("end"), st.integers(0, 3), st.none(), st.none()),
        st.tuples(st.just("resize"), st.none(), st.sampled_from(NAMES), st.sampled_from((2, 4, 6))),
        st.tuples(st.just("rejoin"), st.none(), st.sampled_from(NAMES), st.none()),
    ),
    max_size=30,
)


def apply(stage: Stage, what: str, number: int | None, name: str | None, value: int | None) -> None:
    nominator = stage.engine.nominator
    match what:
        case "nominate":
            nominator.nominate(pod(f"vip{number}", str(number), priority=value), name or "")
        case "withdraw":
            nominator.remove(f"vip{number}")
        case "run":
            stage.running(pod(f"r{number}", "1"), name or "")
        case "end":
            stage.delete(pod(f"r{number}", "1").on_node("n0"))
        case "resize":
            stage.change(node(name or "", str(value)))
        case "rejoin":
            stage.delete(node(name or ""))
            stage.nodes(name or "")


@patch.object(verdicts, "REPAIR_SHARE", 0)  # however many nodes changed, what is known is repaired
@settings(max_examples=100, deadline=None)
@given(CHANGES)
def test_what_is_remembered_is_what_would_be_found(changes: list[Any]) -> None:
    stage = Stage().nodes(*NAMES)
    engine = stage.engine
    subjects = [pod(f"p{priority}", "2", priority=priority) for priority in (0, 5)]
    subjects.append(pod("vip1", "2", priority=5))  # may be nominated itself
    for change in changes:
        apply(stage, *change)
        for subject in subjects:
            pod_class = engine.hooks.classes["default-scheduler"].of(subject)
            cycle = Cycle("default-scheduler", 0.0)
            fresh = AmongNominated(engine.cluster, engine.view, engine.nominator, engine.placer.full)
            expected = fresh.statuses(pod_class, cycle, subject)
            assert engine.placer._among_nominated.statuses(pod_class, cycle, subject) == expected
            assert expected == {
                engine.cluster.nodes.rows[name]: status
                for name in NAMES
                if (status := _alone(engine, pod_class, cycle, subject, name)) is not None
            }
            alone = engine.placer.verdicts.of(pod_class, cycle, subject)
            verdict = engine.placer._among_nominated.verdict(pod_class, cycle, subject, alone)
            nodes = engine.cluster.nodes
            asked = engine.placer.full.statuses(pod_class, cycle, subject, nodes.alive[: nodes.high].copy())
            statuses = {**asked, **expected}
            assert verdict.statuses == statuses
            assert verdict.counts == Counter(statuses.values())
            helps = {row for row, status in statuses.items() if status.code is Code.UNSCHEDULABLE}
            assert set(verdict.resolvable.nonzero()[0].tolist()) == helps


def test_another_nomination_to_the_same_node_is_looked_at_anew() -> None:
    stage = Stage().nodes("n")
    engine, subject = stage.engine, pod("p", "2")
    found = []
    for cpu in ("1", "3", "2", "4"):
        engine.nominator.nominate(pod("vip", cpu, priority=1), "n")
        pod_class = engine.hooks.classes["default-scheduler"].of(subject)
        cycle = Cycle("default-scheduler", 0.0)
        found.append(bool(engine.placer._among_nominated.statuses(pod_class, cycle, subject)))
    assert found == [False, True, False, True]


def _alone(engine: Engine, pod_class: Any, cycle: Cycle, subject: Pod, name: str) -> Status | None:
    """The status of one node with those nominated to it."""
    others = [
        each
        for each in engine.nominator.on(name)
        if each.uid != subject.uid and each.priority >= subject.priority
    ]
    if not others:
        return None
    statement = engine.cluster.statement()
    try:
        for other in others:
            statement.take(other, name)
        row = engine.cluster.nodes.rows[name]
        return engine.placer.full.status(pod_class, cycle, subject, row)
    finally:
        statement.roll_back()
