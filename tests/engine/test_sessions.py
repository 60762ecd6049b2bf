"""Session hooks in a profile that decides a pod at a time."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from mooring.engine.decisions import Bind
from mooring.framework.api.status import Status, unresolvable, unschedulable


def opening(name: str, register: Any, close: Any = None) -> type:
    members: dict[str, Any] = {"on_session_open": lambda self, ssn: register(ssn)}
    if close:
        members["on_session_close"] = lambda self, ssn: close(ssn)
    return made(name, **members)


def test_a_pod_is_a_job_of_one_task() -> None:
    seen: list[Any] = []
    stage = Stage(opening("Looks", seen.append)).nodes("n")
    stage.now = 7.0
    stage.place(p := pod("p"))
    (session,) = seen
    assert session.now == 7.0
    assert [(job.name, [task.pod for task in job.tasks]) for job in session.jobs] == [("default/p", [p])]
    assert session.cluster is stage.engine.view


@pytest.mark.parametrize("answer", [unschedulable("not there"), False], ids=["with a reason", "without"])
def test_predicates_reject_nodes(answer: Any) -> None:
    def register(ssn: Any) -> None:
        ssn.add_predicate(lambda task, job, node: answer if node.name == "n" else None)

    stage = Stage(opening("Picky", register)).nodes(node("n", "64"), "m")
    assert stage.place(pod("p", "2")) == "m"
    reason = "not there" if answer else "node(s) were rejected by a session predicate"
    message = stage.wait(pod("q", "3")).message
    assert message == f"0/2 nodes are available: 1 Insufficient cpu, 1 {reason}."


@pytest.mark.parametrize("answer", [None, True, Status()], ids=["none", "true", "success"])
def test_predicates_agree(answer: Any) -> None:
    stage = Stage(opening("Easy", lambda ssn: ssn.add_predicate(lambda *a: answer))).nodes("n")
    assert stage.place(pod("p")) == "n"


@pytest.mark.parametrize(
    ("answer", "what"),
    [(unresolvable("no quota"), "no quota"), (False, "rejected by a session")],
    ids=["with a reason", "without"],
)
def test_pre_predicates_reject_the_pod(answer: Any, what: str) -> None:
    stage = Stage(opening("Quota", lambda ssn: ssn.add_pre_predicate(lambda task, job: answer))).nodes("n")
    refusal = stage.wait(pod("p"))
    assert refusal.message == f"0/1 nodes are available: {what}."


def test_node_orders_are_added_to_the_scores() -> None:
    def register(ssn: Any) -> None:
        ssn.add_node_order(lambda task, node: 5000 if node.name in "mo" else 0)
        ssn.add_node_order(lambda task, node: 5000 if node.name in "no" else 0)

    stage = Stage(opening("Likes", register), keep_scores=True).nodes(*"mno")
    assert stage.place(pod("p")) == "o"
    scores = stage.engine.scores["default/p"]
    assert scores["o"] - scores["m"] == 5000
    assert scores["m"] == scores["n"]


def test_event_handlers_hear_of_places_taken_and_given_back() -> None:
    heard: list[str] = []

    def register(ssn: Any) -> None:
        ssn.add_event_handler(
            allocate=lambda task: heard.append(f"+{task.pod.name}@{task.node_name}"),
            deallocate=lambda task: heard.append(f"-{task.pod.name}@{task.node_name}"),
        )

    no = made("No", reserve=lambda self, cycle, pod, node_name: unschedulable("no") if pod.labels else None)
    stage = Stage(opening("Hears", register), no).nodes("n")
    stage.place(pod("p"))
    stage.wait(pod("q", labels={"no": "1"}))
    assert heard == ["+p@n", "+q@n", "-q@n"]


def test_hooks_end_with_their_session() -> None:
    def register(ssn: Any) -> None:
        if ssn.jobs[0].tasks[0].pod.name == "p":
            ssn.add_predicate(lambda task, job, node: unschedulable("only once"))

    stage = Stage(opening("Once", register)).nodes("n")
    stage.wait(pod("p"))
    assert stage.cycle() is None
    assert stage.place(pod("q")) == "n"


def fails(*args: Any) -> Any:
    raise RuntimeError("oh dear")


@pytest.mark.parametrize(
    ("register", "named"),
    [
        pytest.param(fails, "Bad", id="opening"),
        pytest.param(lambda ssn: ssn.add_predicate(fails), "Bad", id="predicate"),
        pytest.param(lambda ssn: ssn.add_pre_predicate(fails), "Bad", id="pre_predicate"),
        pytest.param(lambda ssn: ssn.add_node_order(fails), "Bad", id="node_order"),
        pytest.param(lambda ssn: ssn.add_node_order(lambda task, node: "high"), "Bad", id="no number"),
    ],
)
def test_a_hook_that_fails_costs_its_pod_one_cycle(register: Any, named: str) -> None:
    def maybe(ssn: Any) -> None:
        if ssn.jobs[0].tasks[0].pod.labels:
            register(ssn)

    stage = Stage(opening("Bad", maybe)).nodes("n", "m")
    refusal = stage.wait(p := pod("p", labels={"bad": "1"}))
    assert refusal.reason == "SchedulerError"
    assert f'"{named}"' in refusal.message
    assert stage.holds(p) == ""
    assert stage.cycle() is None
    stage.place(pod("q"))


@pytest.mark.parametrize("when", ["closing", "told"])
def test_a_failure_that_comes_too_late_changes_nothing(when: str) -> None:
    register = (lambda ssn: ssn.add_event_handler(allocate=fails)) if when == "told" else (lambda ssn: None)
    stage = Stage(opening("Bad", register, fails if when == "closing" else None)).nodes("n")
    stage.add(p := pod("p"))
    decisions = stage.cycle()
    assert decisions is not None
    (bind,) = decisions
    assert isinstance(bind, Bind)
    assert (stage.holds(p), stage.where(p)) == ("n", "")


def test_a_rejected_pod_keeps_its_reason_when_closing_fails() -> None:
    stage = Stage(opening("Bad", lambda ssn: None, fails)).nodes("n")
    assert stage.wait(pod("p", "8")).message == "0/1 nodes are available: 1 Insufficient cpu."
