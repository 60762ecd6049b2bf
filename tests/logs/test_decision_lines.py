"""A line for every decision."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from engine.stage import BUILT_IN, Stage, bad, erring, node, pod
from mooring.engine.decisions import Bind, Decision, Evict
from mooring.engine.events import BindFailed, Bound
from mooring.framework.api.writes import Write
from mooring.logs import V2, V3, V10
from mooring.logs.decisions import DecisionLog
from mooring.plugins.coscheduling import Coscheduling
from mooring.plugins.preemption import DefaultPreemption
from mooring.workloads import keys

Line = tuple[str, dict[str, Any]]


class Logged:
    """An engine with its log, at some level."""

    def __init__(self, caplog: pytest.LogCaptureFixture, level: int, stage: Stage) -> None:
        caplog.set_level(level, "mooring.scheduler")
        self._caplog = caplog
        self.stage = stage
        self.log = DecisionLog(stage.engine)

    def all(self) -> list[Line]:
        """Schedules everything; returns what was logged meanwhile."""
        self._caplog.clear()
        while (decisions := self.stage.engine.schedule(self.stage.now)) is not None:
            for decision in decisions:
                self.carry_out(decision)
        return self.lines()

    def lines(self) -> list[Line]:
        return [
            (each.message, vars(each)["fields"])
            for each in self._caplog.records
            if each.name == "mooring.scheduler"
        ]

    def carry_out(self, decision: Decision) -> None:
        self.log.decided(decision)
        if isinstance(decision, Bind):
            self.log.heard(Bound(decision.pod, decision.node))
            self.stage.bound(decision)

    def __call__(self, made: Any) -> list[Line]:
        self.stage.add(made)
        return self.all()


def test_bound(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, V2, Stage().nodes("a", "b", node("small", cpu="1m")))
    for name in ("first", "second", "third", "fourth"):
        ((message, about),) = logged(made := pod(name))
        assert message == "Successfully bound pod to node"
        assert about["pod"] == made
        assert about["node"] in ("a", "b")
        assert (about["evaluatedNodes"], about["feasibleNodes"]) == (3, 2)


def test_waiting(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, V2, Stage().nodes(node("small", cpu="1")))
    ((message, about),) = logged(pod("big", cpu="2"))
    assert message == "Unable to schedule pod; no fit; waiting"
    assert about["err"] == "0/1 nodes are available: 1 Insufficient cpu."


def test_no_nodes(caplog: pytest.LogCaptureFixture) -> None:
    ((message, _),) = Logged(caplog, V2, Stage())(pod("web"))
    assert message == "Unable to schedule pod; no nodes are registered to the cluster; waiting"


def test_errors_are_logged_at_any_verbosity(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, logging.INFO, Stage(erring()).nodes("a"))
    ((message, about),) = logged(bad("web"))
    assert message == "Error scheduling pod; retrying"
    assert 'running PreFilter plugin "Erring"' in about["err"]


def test_nothing_is_said_of_decisions_by_default(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, logging.INFO, Stage().nodes("a"))
    assert logged(pod("web")) == []
    assert logged(pod("big", cpu="99")) == []
    assert logged.stage.engine.placer.count_nodes is False


def test_victims(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(base=(*BUILT_IN, DefaultPreemption)).nodes(node("a", cpu="1"))
    stage.running(low := pod("low", priority=0), "a")
    found = Logged(caplog, V2, stage)(pod("high", priority=10))
    ((_, about),) = [line for line in found if line[0] == "Preemptor Pod preempted victim Pod"]
    assert (about["preemptor"], about["victim"].key, about["node"]) == ("default/high", low.key, "a")


def test_only_its_own_node_is_counted_for_a_nominated_pod(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, V2, Stage().nodes("a", "b"))
    ((message, about),) = logged(pod("high", nominated="b"))
    assert (message, about["node"]) == ("Successfully bound pod to node", "b")
    assert (about["evaluatedNodes"], about["feasibleNodes"]) == (1, 1)


def test_scores_of_nodes(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage().nodes(*(f"n{number}" for number in range(7)))
    found = Logged(caplog, V10, stage)(pod("web"))
    parts = [about for message, about in found if message == "Plugin scored node for pod"]
    totals = {a["node"]: a["score"] for m, a in found if m == "Calculated node's final score for pod"}
    assert len(totals) == 7
    for name, total in totals.items():
        assert sum(about["score"] for about in parts if about["node"] == name) == total


def test_top_scores_and_filters_on_demand(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, logging.INFO, Stage().nodes("a", "b", node("c", cpu="8")))
    logged.log.top_scores, logged.log.dump_filters = 2, True
    ((message, about),) = logged(pod("web"))
    assert message == "Top scores of nodes for pod"
    head, rule, best, *others = about["scores"].splitlines()
    assert head.startswith("| # | Pod | Node | Score | ")
    assert rule.startswith("| --- |")
    assert best.startswith("| 0 | default/web | c | ")
    assert len(others) == 1
    ((message, about),) = logged(pod("big", cpu="99"))
    assert message == "Failed to filter for Pod"
    assert (about["failedPlugin"], about["reason"], about["nodes"]) == (
        "NodeResourcesFit",
        "Insufficient cpu",
        3,
    )


def test_a_bind_that_fails_leaves_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, V2, Stage().nodes("a"))
    logged(pod("first"))
    decision = logged.stage.try_pod(pod("web"))
    logged.log.decided(decision)
    assert logged.log._binding
    logged.log.heard(BindFailed(decision.pod, "a", "conflict"))
    assert not logged.log._binding


@pytest.mark.parametrize(
    ("verb", "message"),
    [("create", "Creating object"), ("patch", "Patching object"), ("delete", "Deleting object")],
)
def test_writes(caplog: pytest.LogCaptureFixture, verb: Any, message: str) -> None:
    logged = Logged(caplog, V3, Stage())
    logged.log.decided(Write(verb, "scheduling.x-k8s.io/v1alpha1/podgroups", "default/gang", {}, "status"))
    (record,) = caplog.records
    assert record.message == message
    assert vars(record)["fields"] == {
        "kind": "scheduling.x-k8s.io/v1alpha1/podgroups",
        "object": "default/gang",
        "subresource": "status",
    }


def test_evictions_for_a_reason_of_the_pods_own(caplog: pytest.LogCaptureFixture) -> None:
    logged = Logged(caplog, V2, Stage())
    made = pod("v")
    logged.log.decided(Evict(made, "", "QuotaExceeded", "too much", node="n1"))
    (record,) = caplog.records
    assert record.message == "Evicting pod"
    about = vars(record)["fields"]
    assert (about["pod"], about["node"], about["reason"]) == (made, "n1", "QuotaExceeded")


def test_a_gang_that_waits_is_one_line_an_attempt(caplog: pytest.LogCaptureFixture) -> None:
    notes = {keys.NAME: "train", keys.MIN_AVAILABLE: "40"}
    stage = Stage(Coscheduling).nodes("a")
    logged = Logged(caplog, V2, stage)
    members = [pod(f"w{i}", annotations=notes) for i in range(40)]
    stage.add(*members[:39])
    assert logged.all() == []
    for decision in stage.tick(1.0):
        logged.log.decided(decision)
    ((message, about),) = logged.lines()
    assert message == "Pod is held; waiting"
    assert (about["pods"], about["reason"]) == (39, "HeldBack")
    assert about["message"] == "gang default/train: needs 40 pods; 39 are there, 1 is missing"
    ((message, about),) = logged(members[39])
    assert (message, about["pods"]) == ("Unable to schedule pod; no fit; waiting", 40)
    assert about["err"] == "gang default/train: 4 of 40 can be placed; 36 lack cpu"
