"""A run ends whatever a policy answers, and says so when it was given up."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.status import unschedulable, wait
from mooring.framework.api.writes import Write
from mooring.sim.result import Result, to_data
from mooring.sim.simulation import Simulation
from sim.test_simulation import node, pod, read


def run(*plugins: type, text: str) -> Result:
    stage = Stage(*plugins)
    result = Simulation(stage.engine, read(text)).run()
    stage.engine.check()
    return result


@pytest.mark.parametrize("seconds", [0, -3, float("-inf")])
def test_no_time_to_wait_at_permit(seconds: float) -> None:
    no = made("Bad", permit=lambda self, cycle, pod, node_name: wait(seconds))
    result = run(no, text=node("n") + pod("a") + pod("b"))
    assert result.summary.pending == 2
    assert "at plugin Bad" in result.pending["default/a"].message
    assert result.stopped == ""


def test_pods_that_are_never_done() -> None:
    """Something to write after every look: time does not go on."""

    def follow_up(self: Any) -> None:
        self.handle.report(self.seen, "still here")

    def pod_seen(self: Any, pod: Any) -> None:
        self.seen = pod

    bad = made("Bad", follow_up=follow_up, pod_seen=pod_seen, filter=lambda *a: unschedulable("no"))
    result = run(bad, text=node("n") + pod("a"))
    assert result.stopped.startswith("stopped: at 0 s pods are tried over and over")
    assert to_data(result)["stopped"] == result.stopped
    assert result.summary.pending == 1


def test_a_way_out_that_never_gets_anywhere() -> None:
    """Evicts whoever is there, for a pod that is no more important: they take turns for ever."""

    def post_filter(self: Any, cycle: Any, pod: Any, statuses: Any) -> Any:
        there = [other for view in self.handle.cluster.nodes for other in view.pods if not other.terminating]
        return PostFilterResult("", tuple(there[:1]))

    text = node("n") + (
        "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {replicas: 4, selector: "
        "{matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, "
        "resources: {requests: {cpu: 1}}}]}}}}\n---\n"
    )
    result = run(made("Bad", post_filter=post_filter), text=text)
    assert "over and over" in result.stopped


def test_a_policy_that_writes_whenever_a_pod_is_tried() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Any) -> Any:
        self.count = getattr(self, "count", 0) + 1
        body = {"metadata": {"annotations": {"tried": str(self.count)}}}
        self.handle.write(Write("patch", "Pod", pod.key, body))
        return unschedulable("no")

    result = run(made("Bad", pre_filter=pre_filter), text=node("n") + pod("a"))
    assert "over and over" in result.stopped
