"""Preemption as kube-scheduler does it: the choice of a node, victims, budgets, messages, eligibility."""

from __future__ import annotations

import pytest

from engine.stage import node, pod
from mooring.model.objects import Pod, PodCondition
from plugins.preemption.arena import (
    DISRUPTED,
    HIGH,
    LARGE,
    LOW,
    MEDIUM,
    MID,
    NEGATIVE,
    SMALL,
    VERY_HIGH,
    VERY_LARGE,
    Arena,
    sized,
    small_node,
    with_condition,
)

BOTH_WAYS = pytest.mark.parametrize("exact", [False, True], ids=["arrays", "filters"])


def choose(nodes: dict[str, list[Pod]], preemptor: Pod, *, exact: bool) -> str | None:
    """The node chosen when every victim of every node has to go."""
    arena = Arena(exact=exact)
    for name, pods in nodes.items():
        arena.nodes(small_node(name))
        for each in pods:
            arena.running(each, name)
    return arena.preempt(preemptor).nominated


def crowd(name: str, *priorities: int, start: int = 0) -> list[Pod]:
    """Pods that share a node out among them."""
    size = VERY_LARGE // len(priorities)
    return [sized(f"{name}-{i}", size, p, start=start) for i, p in enumerate(priorities)]


def node_with(exact: bool, *pods: Pod) -> Arena:
    arena = Arena(exact=exact).nodes(small_node("n"))
    for each in pods:
        arena.running(each, "n")
    return arena


@BOTH_WAYS
@pytest.mark.parametrize(
    ("nodes", "priority", "expected"),
    [
        pytest.param({"n1": (MID, MID), "n2": (MID, LOW), "n3": (LOW, LOW)}, HIGH, "n3", id="V1"),
        pytest.param({"n1": (MID, MID), "n2": (MID, LOW), "n3": (MID, MID)}, HIGH, "n2", id="V2"),
        pytest.param(
            {"n1": (MID, NEGATIVE, MID, NEGATIVE), "n2": (MID, NEGATIVE), "n3": (MID, NEGATIVE, LOW)},
            HIGH,
            "n2",
            id="V3",
        ),
        pytest.param(
            {"n1": (MID, NEGATIVE, NEGATIVE), "n2": (MID, NEGATIVE), "n3": (MID, NEGATIVE, LOW)},
            HIGH,
            "n2",
            id="V4",
        ),
        pytest.param(
            {
                "n1": (MID, LOW, LOW),
                "n2": (HIGH,),
                "n3": (MID, LOW, LOW, LOW),
                "n4": (MID, MID, MID, NEGATIVE),
            },
            VERY_HIGH,
            "n1",
            id="V5",
        ),
    ],
)
def test_choice(nodes: dict[str, tuple[int, ...]], priority: int, expected: str, exact: bool) -> None:
    there = {name: crowd(name, *priorities) for name, priorities in nodes.items()}
    assert choose(there, sized("p", VERY_LARGE, priority), exact=exact) == expected


@BOTH_WAYS
def test_V6_the_victims_that_started_last(exact: bool) -> None:
    days = {"n1": 2, "n2": 3, "n3": 1}
    there = {name: crowd(name, MID, MID, start=day) for name, day in days.items()}
    assert choose(there, sized("p", VERY_LARGE, HIGH), exact=exact) == "n2"


@BOTH_WAYS
def test_V7_only_victims_of_the_highest_priority_are_compared_by_start(exact: bool) -> None:
    there = {
        "n1": [sized("a", 250, MID, start=1), sized("b", 250, LOW, start=9)],
        "n2": [sized("c", 250, MID, start=2), sized("d", 250, LOW, start=3)],
    }
    assert choose(there, sized("p", VERY_LARGE, HIGH), exact=exact) == "n2"


@BOTH_WAYS
def test_V7_fewer_violations_beat_everything(exact: bool) -> None:
    arena = Arena(exact=exact).nodes(small_node("n1"), small_node("n2"))
    arena.running(sized("a", VERY_LARGE, LOW, labels={"app": "a"}), "n1")
    for each in crowd("b", MID, MID, MID):
        arena.running(each, "n2")
    arena.budget("a", 0, app="a")
    assert arena.preempt(sized("p", VERY_LARGE, HIGH)).nominated == "n2"


@BOTH_WAYS
@pytest.mark.parametrize(
    ("pods", "victims"),
    [
        pytest.param([sized("low", SMALL, LOW), sized("mid", LARGE, MID)], {"mid"}, id="V8"),
        pytest.param(
            [
                sized("mid small", SMALL, MID),
                sized("low small", SMALL, LOW),
                sized("mid medium", MEDIUM, MID),
                sized("high small", SMALL, HIGH),
            ],
            {"low small", "mid medium"},
            id="V9",
        ),
        pytest.param(
            [
                sized("low 5", SMALL, LOW, start=5),
                sized("low 4", SMALL, LOW, start=4),
                sized("mid medium", MEDIUM, MID, start=3),
                sized("high", SMALL, HIGH, start=2),
            ],
            {"mid medium", "low 5"},
            id="V9 by start",
        ),
    ],
)
def test_victims(pods: list[Pod], victims: set[str], exact: bool) -> None:
    arena = node_with(exact, *pods)
    assert set(arena.preempt(sized("p", LARGE, HIGH)).victims) == victims


@BOTH_WAYS
def test_V10_nobody_is_less_important(exact: bool) -> None:
    arena = node_with(exact, sized("a", MEDIUM, MID), sized("b", LARGE, HIGH))
    answer = arena.preempt(sized("p", LARGE, MID))
    assert answer.said == (
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    assert answer.victims == ()


@BOTH_WAYS
def test_V11_not_enough_even_without_the_less_important(exact: bool) -> None:
    arena = node_with(exact, sized("a", SMALL, LOW), sized("b", LARGE, HIGH))
    answer = arena.preempt(sized("p", LARGE, MID))
    assert answer.said == "preemption: 0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."


def violations(exact: bool, allowed: int, *disrupted: str, covered: str = "app", **labels: str) -> str | None:
    """The node chosen between one with two covered victims and one with a single, more important one.

    So the first is chosen only when no budget is violated there.
    """
    arena = Arena(exact=exact).nodes(small_node("covered"), small_node("other"))
    for name in ("a", "b"):
        arena.running(sized(name, 250, LOW, labels=labels), "covered")
    arena.running(sized("c", VERY_LARGE, MID), "other")
    arena.budget("budget", allowed, *disrupted, **({covered: "x"} if covered else {}))
    return arena.preempt(sized("p", VERY_LARGE, HIGH)).nominated


@BOTH_WAYS
@pytest.mark.parametrize(
    ("allowed", "disrupted", "covered", "labels", "chosen"),
    [
        pytest.param(1, (), "app", {"app": "x"}, "other", id="V12"),
        pytest.param(2, (), "app", {"app": "x"}, "covered", id="V12 enough allowed"),
        pytest.param(1, ("a",), "app", {"app": "x"}, "covered", id="V13"),
        pytest.param(0, (), "", {"app": "x"}, "covered", id="V14 empty selector"),
        pytest.param(0, (), "app", {}, "covered", id="V14 no labels"),
    ],
)
def test_budgets(
    allowed: int, disrupted: tuple[str, ...], covered: str, labels: dict[str, str], chosen: str, exact: bool
) -> None:
    assert violations(exact, allowed, *disrupted, covered=covered, **labels) == chosen


@BOTH_WAYS
def test_V15_enough_candidates_end_the_search(exact: bool) -> None:
    """Two of five nodes are enough; the third would be better."""
    arena = Arena(exact=exact, offset=1, minCandidateNodesPercentage=40, minCandidateNodesAbsolute=1).nodes(
        *(small_node(f"n{i}") for i in range(5))
    )
    for i, priority in enumerate((LOW, MID, MID - 1, LOW, LOW)):
        arena.running(sized(f"v{i}", VERY_LARGE, priority), f"n{i}")
    assert arena.preempt(sized("p", VERY_LARGE, HIGH)).nominated == "n2"


@BOTH_WAYS
def test_V16_the_search_goes_on_until_a_budget_holds(exact: bool) -> None:
    arena = Arena(exact=exact, minCandidateNodesPercentage=0, minCandidateNodesAbsolute=2).nodes(
        *(small_node(f"n{i}") for i in range(5))
    )
    for i in range(5):
        arena.running(sized(f"v{i}", VERY_LARGE, LOW if i < 3 else MID, labels={"n": str(i)}), f"n{i}")
    for i in range(3):
        arena.budget(f"b{i}", 0, n=str(i))
    assert arena.preempt(sized("p", VERY_LARGE, HIGH)).nominated == "n3"


HELPLESS = "Preemption is not helpful for scheduling"
NOBODY = "No preemption victims found for incoming pod"


@BOTH_WAYS
@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param([(500, [(300, MID)])], f"1 {NOBODY}", id="V17"),
        pytest.param([(100, [])], f"1 {HELPLESS}", id="V18"),
        pytest.param([(500, [(100, LOW), (300, HIGH)])] * 2, "2 Insufficient cpu", id="V19"),
        pytest.param(
            [(500, [(100, LOW), (300, HIGH)]), (500, [(300, MID)]), (500, [(400, HIGH)])],
            f"1 Insufficient cpu, 2 {NOBODY}",
            id="V20",
        ),
        pytest.param(
            [(500, [(100, LOW), (300, HIGH)])] * 2 + [(100, [])] * 2,
            f"2 Insufficient cpu, 2 {HELPLESS}",
            id="V21",
        ),
    ],
)
def test_messages(nodes: list[tuple[int, list[tuple[int, int]]]], expected: str, exact: bool) -> None:
    arena = Arena(exact=exact)
    for number, (cpu, pods) in enumerate(nodes):
        arena.nodes(node(f"n{number}", f"{cpu}m"))
        for each, (size, priority) in enumerate(pods):
            arena.running(pod(f"v{number}-{each}", f"{size}m", priority=priority), f"n{number}")
    answer = arena.preempt(pod("p", f"{LARGE}m", priority=MID))
    assert answer.said == f"preemption: 0/{len(nodes)} nodes are available: {expected}."
    assert answer.nominated == ""


# who may preempt


def victim_leaving(condition: PodCondition | None) -> Arena:
    """A pod that is nominated to a node on which a less important pod is terminating."""
    leaving = sized("leaving", LARGE, LOW, deleting="2024-01-01T00:00:00Z")
    arena = Arena().nodes(small_node("n"))
    arena.running(with_condition(leaving, condition) if condition else leaving, "n")
    arena.running(sized("other", MEDIUM, LOW), "n")
    return arena


def test_V22_a_node_that_is_beyond_help_does_not_hold_a_pod_back() -> None:
    arena = victim_leaving(DISRUPTED)
    arena.nodes(small_node("m"))
    arena.change(small_node("n", unschedulable=True))
    arena.running(sized("there", VERY_LARGE, LOW), "m")
    assert arena.preempt(sized("p", LARGE, HIGH, nominated="n")).nominated == "m"


def test_V23_a_pod_that_never_preempts() -> None:
    arena = Arena().nodes(small_node("n"))
    arena.running(sized("v", VERY_LARGE, LOW), "n")
    answer = arena.preempt(sized("p", LARGE, HIGH, preemption_policy="Never", nominated="n"))
    assert answer.said == "preemption: not eligible due to preemptionPolicy=Never."
    assert (answer.nominated, answer.victims) == (None, ())


def test_V24_a_victim_is_still_terminating() -> None:
    answer = victim_leaving(DISRUPTED).preempt(sized("p", LARGE, HIGH, nominated="n"))
    assert answer.said == "preemption: not eligible due to a terminating pod on the nominated node."
    assert (answer.nominated, answer.victims) == (None, ())


def test_V25_a_pod_that_terminates_for_another_reason_holds_nobody_back() -> None:
    answer = victim_leaving(None).preempt(sized("p", VERY_LARGE, HIGH, nominated="n"))
    assert answer.nominated == "n"
    assert answer.victims == ("other",)  # the other one is on its way out already
