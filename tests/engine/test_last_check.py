"""Whatever plugins answer, nobody takes a place that does not fit, or that the filters did not let pass."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, changed, made, node, pod
from mooring.engine.placement.placing import Choice
from mooring.framework.api.scope import Scope
from mooring.model.objects import Pod

LARGE = pod("x", "64").spec.containers
SMALL = pod("x", "1").spec.containers


def scoring(before_score: Any) -> Stage:
    """Nodes n, m and o take a pod; `full` does not; `gone` is no more."""
    plugin = made("Bad", before_score=before_score, score=lambda *a: 0)
    stage = Stage(plugin).nodes("n", "m", "o", node("full", "1"), "gone")
    stage.running(pod("there", "1"), "full")
    stage.delete(node("gone"))
    return stage


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda stage, pod, nodes: (pod, []), "returned no nodes"),
        (lambda stage, pod, nodes: (pod, [stage.engine.view.node("full")]), "does not take the pod"),
        (lambda stage, pod, nodes: (pod, [*nodes, stage.engine.view.view(4)]), "does not take the pod"),
        (lambda stage, pod, nodes: (pod, Stage().nodes("n").engine.view.nodes), "does not take the pod"),
        (lambda stage, other, nodes: (pod("other"), nodes), "which is another pod"),
        (lambda stage, pod, nodes: (pod, None), "which is not a pod and nodes"),
        (lambda stage, pod, nodes: (pod, (n for n in nodes)), "which is not a pod and nodes"),
    ],
    ids=["no nodes", "refused", "gone", "another cluster's", "another pod", "none", "generator"],
)
def test_before_score_names_nodes_that_take_the_pod(answer: Any, text: str) -> None:
    stage = scoring(lambda self, cycle, pod, nodes: answer(stage, pod, nodes))
    refusal = stage.wait(p := pod("p"))
    assert text in refusal.message
    assert (refusal.plugins, stage.holds(p), stage.where(p)) == (("Bad",), "", "error_backoff")


@pytest.mark.parametrize("scope", [Scope.ROW, Scope.CLUSTER])
def test_a_pod_that_is_resized_must_fit(scope: Scope) -> None:
    def grow(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        return changed(pod, containers=LARGE) if pod.labels else None

    stage = Stage(made("Bad", scope=scope, resize_pod=grow, filter=lambda *a: None)).nodes("n", "m")
    refusal = stage.wait(p := pod("p", labels={"grow": "1"}))
    assert 'running resize_pod of plugin "Bad": lets pod default/p take a place on node' in refusal.message
    assert "Insufficient cpu" in refusal.message
    assert (refusal.plugins, stage.holds(p)) == (("Bad",), "")
    stage.place(pod("q"))


def test_a_pod_that_filters_saw_smaller_than_it_is_must_fit() -> None:
    def lie(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return changed(pod, containers=SMALL), node

    stage = Stage(made("Bad", before_filter=lie, filter=lambda *a: None)).nodes("n", "m")
    refusal = stage.wait(p := pod("p", "6"))
    assert 'running before_filter of plugin "Bad": lets pod default/p take a place' in refusal.message
    assert (refusal.plugins, stage.holds(p)) == (("Bad",), "")
    assert stage.place(pod("q"))


@pytest.mark.parametrize("which", ["another", "another cluster's"])
def test_before_filter_shows_the_node_it_was_asked_about(which: str) -> None:
    def swap(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        view = stage.engine.view if which == "another" else Stage().nodes("n", "m").engine.view
        return pod, view.node("m")

    stage = Stage(made("Bad", before_filter=swap, filter=lambda *a: None)).nodes("n", "m")
    assert "which is another node" in stage.wait(pod("p")).message


@pytest.mark.parametrize("point", ["before_pre_filter", "resize_pod"])
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"containers": pod("x", "-4").spec.containers}, "is negative"),
        ({"containers": 7}, 'of plugin "Bad"'),
        ({"node_selector": {"a": object()}}, 'of plugin "Bad"'),
    ],
    ids=["negative", "no containers", "no selector"],
)
def test_a_changed_pod_is_one_that_could_have_come(point: str, fields: Any, text: str) -> None:
    def change(self: Any, cycle: Any, pod: Pod, *rest: Any) -> Any:
        return changed(pod, **fields) if pod.labels else None

    stage = Stage(made("Bad", **{point: change}, filter=lambda *a: None)).nodes("n", "m")
    refusal = stage.wait(p := pod("p", labels={"bad": "1"}))
    assert text in refusal.message
    assert (refusal.plugins, stage.holds(p)) == (("Bad",), "")
    stage.place(pod("q"))


def test_find_one_node_keeps_to_what_others_left() -> None:
    narrow = made("Narrow", pre_filter=lambda self, cycle, pod: {"n"})
    finds = made("Bad", find_one_node=lambda self, cycle, pod, names: "m", filter=lambda *a: None)
    refusal = Stage(narrow, finds).nodes("n", "m").wait(pod("p"))
    assert "returned 'm', which is none of the nodes that are left" in refusal.message


def test_a_profile_that_does_not_count_takes_what_it_likes() -> None:
    text = "profiles:\n- plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}\n"
    assert Stage(text=text).nodes("n").place(pod("p", "64")) == "n"


def test_what_is_kept_and_wrong_is_found_in_time(caplog: pytest.LogCaptureFixture) -> None:
    """As if the evaluation that is kept had missed a pod."""
    stage = Stage().nodes("n")
    stage.running(pod("there", "4"), "n")
    stage.engine.placer.place = lambda *about: Choice(0)  # type: ignore[method-assign]
    refusal = stage.wait(p := pod("p", "1"))
    assert refusal.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert (refusal.plugins, stage.holds(p)) == (("NodeResourcesFit",), "")
    assert "what is kept of default/p is wrong" in caplog.text
