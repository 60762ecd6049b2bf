"""What a session said of nodes is told as it was said, and nobody is asked again."""

from __future__ import annotations

from typing import Any

import pytest

from engine.gang_world import gang, members, names
from engine.stage import Stage, made, node, pod
from mooring.engine import story as stories
from mooring.engine.decisions import Bind, Wait
from mooring.engine.placement import heard
from mooring.engine.story import Rejection, Story
from mooring.framework.api.status import unschedulable


def staged(*more: Any, **hooks: Any) -> Stage:
    """A stage whose plugin registers these hooks in each session."""

    def opens(self: Any, ssn: Any) -> None:
        for kind, hook in hooks.items():
            getattr(ssn, f"add_{kind}")(hook)

    return Stage(made("Says", on_session_open=opens), *more, keep_scores=True)


def told(stage: Stage, name: str) -> Story:
    stage.cycle()  # the round is over
    story = stage.engine.story(f"default/{name}")
    assert story is not None
    assert story.nodes
    return story


def not_on(*rejected: str) -> Any:
    return lambda task, job, node: unschedulable("not there") if node.name in rejected else None


def test_predicates_are_told() -> None:
    stage = staged(predicate=not_on("b", "c")).nodes("a", "b", "c", node("small", "100m"))
    stage.place(pod("p"))
    story = told(stage, "p")
    assert (story.node, story.feasible, story.remarks) == ("a", 1, ())
    assert set(story.rejections) == {
        Rejection("Says", "not there", 2),
        Rejection("NodeResourcesFit", "Insufficient cpu", 1),
    }
    assert [each.node for each in story.best] == ["a"]


def test_a_pod_that_no_predicate_lets_go_anywhere_is_told_so() -> None:
    stage = staged(predicate=not_on("a", "b")).nodes("a", "b")
    stage.wait(pod("p"))
    story = told(stage, "p")
    assert (story.feasible, story.rejections) == (0, (Rejection("Says", "not there", 2),))


def test_a_pod_that_a_session_refuses_is_told_so() -> None:
    stage = staged(pre_predicate=lambda task, job: unschedulable("not now")).nodes("a", "b")
    stage.wait(pod("p"))
    story = told(stage, "p")
    assert (story.feasible, story.rejections) == (0, (Rejection("Says", "not now", 2),))


@pytest.mark.parametrize("factor", [1000, 0.5])
def test_node_orders_are_part_of_the_totals(factor: float) -> None:
    stage = staged(node_order=lambda task, node: "cab".index(node.name) * factor).nodes("a", "b", "c")
    chosen = stage.place(pod("p"))
    story = told(stage, "p")
    assert story.best[0].node == chosen == "b"
    assert {each.node: each.total for each in story.best} == stage.engine.scores["default/p"]
    assert {each.node: each.parts["mooring/session"] for each in story.best} == {
        "a": factor,
        "b": 2 * factor,
        "c": 0,
    }
    for each in story.best:
        assert sum(each.parts.values()) == each.total


def test_node_orders_are_kept_for_the_last_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stories, "ORDERS_KEPT", 2)
    stage = staged(node_order=lambda task, node: 1).nodes("a", "b")
    for number in range(3):
        stage.place(pod(f"p{number}", "100m"))
    story = told(stage, "p0")
    assert (story.feasible, story.best) == (2, ())
    assert story.remarks == ("how a session ordered the nodes is known of the last decisions only",)
    assert len(told(stage, "p2").best) == len(told(stage, "p1").best) == 2


def test_reasons_of_all_kinds_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard, "MOST_DISTINCT", 2)
    stage = staged(predicate=lambda task, job, node: unschedulable(f"not on {node.name}")).nodes(*"abcd")
    stage.wait(pod("p"))
    assert sorted((each.plugin, each.nodes) for each in told(stage, "p").rejections) == [
        ("", 2),
        ("Says", 1),
        ("Says", 1),
    ]


def test_trials_of_evictions_say_nothing_of_the_decision() -> None:
    """A predicate that lets a node pass once a pod is gone has rejected it."""
    stage = staged(
        predicate=lambda task, job, node: unschedulable("busy") if list(node.pods) else None
    ).nodes("a")
    stage.running(pod("low", "100m", priority=-5), "a")
    stage.wait(pod("p"))
    assert told(stage, "p").rejections == (Rejection("Says", "busy", 1),)


@pytest.mark.parametrize("room", [1, 2])
def test_each_member_of_a_gang_is_told_what_was_said_of_it(room: int) -> None:
    """Also when the gang does not start."""

    def one_a_node(task: Any, job: Any, node: Any) -> Any:
        return unschedulable("one is enough") if list(node.pods) else None

    stage = staged(gang(2), predicate=one_a_node).nodes(*"ab"[:room])
    stage.add(*members(2))
    assert names(stage.cycle(), Bind if room == 2 else Wait) == ["p0", "p1"]
    assert told(stage, "p0").rejections == ()
    story = told(stage, "p1")
    assert (story.feasible, story.rejections) == (room - 1, (Rejection("Says", "one is enough", 1),))


def test_what_is_said_of_a_node_with_nominated_pods_on_it_is_told() -> None:
    stage = staged(predicate=lambda task, job, node: unschedulable("busy") if list(node.pods) else None)
    stage.nodes("a")
    stage.engine.nominator.nominate(pod("vip", "100m", priority=10), "a")
    stage.wait(pod("p", "100m"))
    story = told(stage, "p")
    assert (story.feasible, story.rejections) == (0, (Rejection("Says", "busy", 1),))
