"""What happens while extenders are asked who makes room for a pod."""

from __future__ import annotations

import msgspec
import pytest

from engine.stage import node, pod
from extenders.crowd import ask, crowded, left, low, outcome, preempting, preemptor
from extenders.talk import answer
from mooring.engine.decisions import Bind


def test_a_victim_that_went_is_not_evicted() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    world.delete(low("a1", "1").on_node("a"))
    assert outcome(answer(world, question, left(a=["a1", "a2", "a3"])))[:2] == ("a", ["a2", "a3"])


def test_when_room_came_free_nobody_is_evicted() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    world.delete(low("b1", "4").on_node("b"))
    (bind,) = answer(world, question, left(a=["a1", "a2", "a3"], b=["b1"]))
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_when_extenders_filter_it_is_tried_again_instead() -> None:
    """Whether the extender would have the node that fits by now, nobody knows."""
    world = crowded(preempting(filter_verb="filter"))
    question = ask(world, wanted := preemptor())
    assert question.verb == "preempt"
    world.delete(low("b1", "4").on_node("b"))
    world.now = 1.0
    nominated, evicted, _ = outcome(answer(world, question, left(b=["b1"])))
    assert (nominated, evicted) == (None, [])
    assert world.where(wanted) == "backoff"


def test_a_node_that_went_is_not_taken() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    world.delete(node("b"))
    said = left(a=["a1", "a2", "a3"], b=["b1"])
    assert outcome(answer(world, question, said))[:2] == ("a", ["a1", "a2", "a3"])
    world = crowded(preempting())
    question = ask(world, preemptor())
    world.delete(node("b"))
    assert outcome(answer(world, question, left(b=["b1"])))[:2] == (None, [])


def test_a_node_that_came_back_with_other_pods_is_looked_at_as_it_is() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    world.delete(node("b"))
    world.delete(low("b1", "4").on_node("b"))
    world.nodes("b")
    world.running(low("b2", "3", priority=99), "b")
    assert outcome(answer(world, question, left(b=["b1"])))[:2] == (None, [])
    assert world.holds(low("b2", "3")) == "b"


def test_a_node_where_it_no_longer_helps_is_not_taken() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    world.delete(low("b1", "4").on_node("b"))
    world.running(low("b2", "2", priority=99), "b")
    said = left(b=["b1"])
    found = outcome(answer(world, question, said))
    assert found[:2] == (None, [])
    assert found[2].endswith("preemption: no candidate node for preemption")


def test_a_victim_that_goes_by_itself_is_left_to_go() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    world.change(low("b1", "4", deleting="2024-01-01T00:00:00Z").on_node("b"))
    assert outcome(answer(world, question, left(b=["b1"])))[:2] == ("b", [])


def test_two_pods_may_be_asked_about_at_once() -> None:
    world = crowded(preempting())
    first = ask(world, preemptor())
    second = ask(world, pod("q", "4", priority=10))
    assert outcome(answer(world, second, left(b=["b1"])))[:2] == ("b", ["b1"])
    assert outcome(answer(world, first, left(b=["b1"])))[:2] == (None, [])  # another is to come there first


@pytest.mark.parametrize("how", ["deleted", "terminating", "bound"])
def test_a_pod_that_no_longer_waits(how: str) -> None:
    world = crowded(preempting())
    question = ask(world, wanted := preemptor())
    if how == "deleted":
        world.delete(wanted)
    elif how == "bound":
        world.running(wanted, "a")
    else:
        world.change(preemptor(deleting="2024-01-01T00:00:00Z"))
    assert answer(world, question, left(b=["b1"])) == []
    assert world.where(wanted) == ""
    assert world.holds(low("b1", "4")) == "b"
    assert not world.engine.extenders.consulting  # type: ignore[union-attr]


def test_an_answer_nobody_waits_for() -> None:
    world = crowded(preempting(), preempting())
    question = ask(world, preemptor())
    stale = msgspec.structs.replace(question, number=question.number + 7)
    assert answer(world, stale, left(b=["b1"])) == []
    other = msgspec.structs.replace(question, extender=1)
    assert answer(world, other, left(b=["b1"])) == []
    (second,) = answer(world, question, left(b=["b1"]))
    assert answer(world, question, left(b=["b1"])) == []
    assert outcome(answer(world, second, left(b=["b1"])))[0] == "b"
