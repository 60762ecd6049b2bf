"""Pre-filters: skipping, rejecting, narrowing."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import BARE, Stage, made, node, pod
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import SKIP, error, pending, unresolvable, unschedulable, wait
from mooring.plugins.node_resources_fit import NodeResourcesFit


def answering(name: str, answer: Any, asked: list[str] | None = None) -> type:
    def pre_filter(self: Any, cycle: Any, pod: Any) -> Any:
        if asked is not None:
            asked.append(name)
        return answer

    return made(name, pre_filter=pre_filter)


def test_a_plugin_that_skips_does_not_filter() -> None:
    lazy = made(
        "Lazy",
        pre_filter=lambda self, cycle, pod: SKIP if pod.labels.get("skip") else None,
        filter=lambda self, cycle, pod, node: unschedulable("no"),
    )
    stage = Stage(lazy).nodes("n")
    stage.wait(pod("p"))
    assert stage.place(pod("q", labels={"skip": "1"})) == "n"


def test_a_plugin_that_pre_filters_some_signatures_is_asked_about_those_only() -> None:
    asked: list[str] = []

    def pre_filter(self: Any, cycle: Any, pod: Any) -> Any:
        asked.append(pod.name)
        return unschedulable("no")

    picky = made(
        "Picky",
        scope=Scope.STATIC,
        sign=lambda self, pod: pod.labels.get("ask", "no"),
        pre_filters=lambda self, sign: sign == "yes",
        pre_filter=pre_filter,
    )
    stage = Stage(picky).nodes("n")
    assert stage.place(pod("p")) == "n"
    assert stage.wait(pod("q", labels={"ask": "yes"})).plugins == ("Picky",)
    assert stage.place(pod("r")) == "n"
    assert asked == ["q"]


def test_the_others_still_run_after_a_rejection_and_the_last_one_shows() -> None:
    asked: list[str] = []
    plugins = [
        answering("A", unschedulable("first"), asked),
        answering("B", None, asked),
        answering("C", unschedulable("second"), asked),
    ]
    refusal = Stage(*plugins, base=BARE).nodes("n").wait(pod("p"))
    assert asked == ["A", "B", "C"]
    assert refusal.message == "0/1 nodes are available: second."
    assert refusal.plugins == ("C",)


def test_an_unresolvable_rejection_stops_at_once() -> None:
    asked: list[str] = []
    plugins = [
        answering("A", unschedulable("first"), asked),
        answering("B", unresolvable("never"), asked),
        answering("C", unschedulable("second"), asked),
    ]
    refusal = Stage(*plugins, base=BARE).nodes("n").wait(pod("p"))
    assert asked == ["A", "B"]
    assert refusal.message == "0/1 nodes are available: never."
    assert refusal.plugins == ("B",)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (error("broken"), "broken"),
        (pending("later"), "returned PENDING: later"),
        (wait(1), "returned WAIT: Wait"),
        (7, "returned 7, which is neither a Status nor None"),
    ],
    ids=["error", "pending", "wait", "nonsense"],
)
def test_anything_else_is_an_error(answer: Any, what: str) -> None:
    refusal = Stage(answering("A", answer), base=BARE).nodes("n").wait(pod("p"))
    assert refusal.reason == "SchedulerError"
    assert refusal.message == f'running PreFilter plugin "A": {what}'


def test_names_narrow_down() -> None:
    stage = Stage(answering("A", {"x", "y"}), answering("B", frozenset({"y", "z"}))).nodes(*"xyz")
    assert stage.place(pod("p")) == "y"


def test_nodes_that_are_left_out_count_in_the_message() -> None:
    stage = Stage(answering("B", {"y", "x"}), answering("A", {"y"})).nodes(*"xyz")
    refusal = stage.wait(pod("p", "8"))
    assert refusal.message == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [A B]."
    )
    assert refusal.plugins == ("A", "B", "NodeResourcesFit")


def test_names_of_no_node_are_dropped() -> None:
    stage = Stage(answering("A", {"nowhere"})).nodes(*"xy")
    refusal = stage.wait(pod("p"))
    assert refusal.message == "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [A]."
    assert refusal.plugins == ("A",)


@pytest.mark.parametrize(
    ("answers", "message", "plugins"),
    [
        pytest.param([("A", set())], "node(s) didn't satisfy plugin A", ("A",), id="one"),
        pytest.param(
            [("B", {"x"}), ("A", {"y"})],
            "node(s) didn't satisfy plugin(s) [A B] simultaneously",
            ("A", "B"),
            id="two",
        ),
    ],
)
def test_no_name_left(answers: Any, message: str, plugins: tuple[str, ...]) -> None:
    stage = Stage(*(answering(name, answer) for name, answer in answers), base=BARE).nodes(*"xy")
    refusal = stage.wait(pod("p"))
    assert refusal.message == f"0/2 nodes are available: {message}."
    assert refusal.plugins == plugins


def test_a_verdict_on_all_nodes_is_not_given_to_a_pod_that_may_go_to_some() -> None:
    narrow = made("Narrow", pre_filter=lambda self, cycle, pod: {"x"} if pod.name == "narrow" else None)
    stage = Stage(narrow).nodes(*"xy")
    assert stage.wait(pod("wide", "8")).message == "0/2 nodes are available: 2 Insufficient cpu."
    assert stage.wait(pod("narrow", "8")).message == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [Narrow]."
    )


def test_a_pod_may_name_a_node_that_came_after_its_class_was_evaluated() -> None:
    narrow = made("Narrow", pre_filter=lambda self, cycle, pod: {pod.name})
    stage = Stage(narrow, base=(*BARE, NodeResourcesFit)).nodes("x")
    assert [stage.place(pod("x", "100m", uid=str(i))) for i in range(3)] == ["x"] * 3
    stage.nodes(node("late", "50m"))
    refusal = stage.wait(pod("late", "100m"))
    assert refusal.message.startswith("0/2 nodes are available: 1 Insufficient cpu")
