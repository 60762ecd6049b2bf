"""Prioritizing by extenders: what is asked, and how their scores count."""

from __future__ import annotations

import pytest

from engine.stage import BARE, Stage, made, node, pod
from extenders.talk import answer, extender, park, prioritizer, questions, scores, sent, stage
from mooring.engine.decisions import Bind, Consult, Decision
from mooring.engine.events import Consulted

FAVOURS_A = made(
    "FavoursA",
    filter=lambda self, cycle, pod, node: None,
    score=lambda self, cycle, pod, node: 100 if node.name == "a" else 0,
)


def chosen(decided: list[Decision]) -> str:
    (bind,) = decided
    assert isinstance(bind, Bind), bind
    return bind.node


def test_the_best_of_the_extender_is_taken() -> None:
    world = stage(prioritizer(), base=BARE)
    question = park(world, pod("p"))
    assert (question.verb, sent(question)["NodeNames"]) == ("prioritize", ["a", "b", "c"])
    assert chosen(answer(world, question, scores(a=1, b=3, c=2))) == "b"


def test_asked_about_what_the_filters_leave() -> None:
    world = stage(extender(prioritize_verb="prioritize", weight=1))
    (question,) = answer(world, park(world, pod("p")), {"NodeNames": ["b", "c"]})
    assert isinstance(question, Consult)
    assert (question.verb, sent(question)["NodeNames"]) == ("prioritize", ["b", "c"])
    assert chosen(answer(world, question, scores(a=10, b=1, c=2))) == "c"


@pytest.mark.parametrize(
    ("weight", "score", "expected"),
    [
        pytest.param(1, 9, "a", id="90 against 100"),
        pytest.param(1, 11, "b", id="110 against 100"),
        pytest.param(3, 4, "b", id="120 against 100"),
        pytest.param(3, 3, "a", id="90 with a weight"),
        pytest.param(1, 2**62, "b", id="far out of range"),
        pytest.param(2**31, -(2**62), "a", id="far below"),
    ],
)
def test_scores_are_brought_to_the_scale_of_plugins(weight: int, score: int, expected: str) -> None:
    world = Stage(FAVOURS_A, base=BARE, extenders=(prioritizer(weight),)).nodes("a", "b")
    assert chosen(answer(world, park(world, pod("p")), scores(b=score))) == expected


def test_totals_hold_both_parts() -> None:
    world = stage(prioritizer(2), base=BARE, nodes=("a", "b"), keep_scores=True)
    answer(world, park(world, pod("p")), scores(a=3, b=5))
    assert world.engine.scores["default/p"] == {"a": 60, "b": 100}


def test_all_are_asked_at_once_and_added_up() -> None:
    world = stage(prioritizer(1), prioritizer(2), base=BARE, nodes=("a", "b"), keep_scores=True)
    first, second = questions(world, pod("p"))
    assert (first.extender, second.extender) == (0, 1)
    assert answer(world, second, scores(a=1, b=1)) == []
    assert answer(world, second, scores(a=9, b=9)) == []  # said twice, heard once
    answer(world, first, scores(a=1, b=4))
    assert world.engine.scores["default/p"] == {"a": 30, "b": 60}


@pytest.mark.parametrize("said", [None, {"Error": "no"}, [{"Host": 1}], "nonsense"])
def test_who_fails_to_prioritize_has_no_say(said: object) -> None:
    world = stage(prioritizer(), prioritizer(), base=BARE)
    first, second = questions(world, pod("p"))
    answer(world, first, said)
    assert chosen(answer(world, second, scores(c=1))) == "c"


def test_an_unreachable_one_has_no_say() -> None:
    world = stage(prioritizer(), base=BARE, nodes=("a", "b"))
    assert chosen(answer(world, park(world, pod("p")), error="refused")) in "ab"


def test_a_single_node_is_not_prioritized() -> None:
    world = stage(prioritizer(), nodes=("a", node("small", cpu="500m")))
    assert world.place(pod("p")) == "a"


def test_a_single_node_left_by_filters_is_not_prioritized() -> None:
    world = stage(extender(prioritize_verb="prioritize", weight=1))
    assert chosen(answer(world, park(world, pod("p")), {"NodeNames": ["b"]})) == "b"


def test_unknown_hosts_do_not_count() -> None:
    world = stage(prioritizer(), base=BARE, nodes=("a", "b"))
    assert chosen(answer(world, park(world, pod("p")), scores(x=10, b=1))) == "b"


def test_an_answer_to_nobody_is_ignored() -> None:
    world = stage(prioritizer())
    assert world.engine.handle(Consulted(pod("p"), 0, "prioritize", 1, b"[]"), 0.0) == []
