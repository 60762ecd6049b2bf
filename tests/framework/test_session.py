"""Hooks of a session: how the answers of several become one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooring.cluster.view import ClusterView
from mooring.errors import PluginFailed
from mooring.framework.api.session import (
    HOOKS,
    LARGEST,
    Combine,
    HookTable,
    Job,
    Session,
    Task,
    alone,
    session_of,
)
from mooring.framework.api.status import Code, Status, unschedulable

NO = unschedulable("no").by("Plugin")
KINDS = {combine: [kind for kind, how in HOOKS.items() if how.combine is combine] for combine in Combine}


def saying(*answers: Any) -> tuple[HookTable, list[Any], Callable[..., Any]]:
    """Asks a table whose hooks give these answers, for every kind; notes who was asked."""
    asked: list[Any] = []

    def ask(kind: str) -> Any:
        table = HookTable()
        asked.clear()
        for answer in answers:
            table.add(kind, lambda *given, answer=answer: asked.append(answer) or answer, "Plugin")
        return table.ask(kind, "argument")

    return HookTable(), asked, ask


COMBINED: dict[str, tuple[Combine, tuple[Any, ...], Any, int]] = {
    "the first opinion decides": (Combine.FIRST_NON_ZERO, (0, -1, 1), -1, 2),
    "no opinion is a tie": (Combine.FIRST_NON_ZERO, (0, 0), 0, 2),
    "nobody compares": (Combine.FIRST_NON_ZERO, (), 0, 0),
    "all agree": (Combine.ALL, (None, True, Status(), np.True_), None, 4),
    "the first to disagree speaks": (Combine.ALL, (None, NO, unschedulable("later")), NO, 2),
    "nobody objects": (Combine.ALL, (), None, 0),
    "added up": (Combine.SUM, (1, 20, -3), 18, 3),
    "fractions too": (Combine.SUM, (1, 0.5, np.int64(2)), 3.5, 3),
    "nothing to add": (Combine.SUM, (), 0, 0),
    "no sum is out of range": (Combine.SUM, (LARGEST, LARGEST), LARGEST, 2),
    "nor below it": (Combine.SUM, (-LARGEST, -1.0), -LARGEST, 2),
    "all of them together": (Combine.UNION, ({"a"}, ["b", "a"], ()), {"a", "b"}, 3),
    "nobody to add": (Combine.UNION, (), set(), 0),
    "the first alone": (Combine.FIRST, ("x", "y"), "x", 1),
    "the first alone, even when it has nothing": (Combine.FIRST, (None, "y"), None, 1),
    "nobody first": (Combine.FIRST, (), None, 0),
    "told": (Combine.NOTIFY, ("x", "y"), None, 2),
}


@pytest.mark.parametrize(("how", "answers", "combined", "heard"), COMBINED.values(), ids=COMBINED)
def test_answers_combine(how: Combine, answers: tuple[Any, ...], combined: Any, heard: int) -> None:
    _, asked, ask = saying(*answers)
    assert KINDS[how]
    for kind in KINDS[how]:
        assert ask(kind) == combined, kind
        assert len(asked) == heard


def test_every_way_of_combining_is_used() -> None:
    assert {how for how, *_ in COMBINED.values()} == set(Combine) == {kind.combine for kind in HOOKS.values()}


def test_hooks_are_given_the_arguments_in_the_order_of_registration() -> None:
    table, heard = HookTable(), []
    for name in ("first", "second"):
        table.add("allocate", lambda *given, name=name: heard.append((name, given)))
    table.ask("allocate", 1, "b")
    assert heard == [("first", (1, "b")), ("second", (1, "b"))]


def test_a_table_knows_which_kinds_it_has() -> None:
    table = HookTable()
    assert not table.has("predicate")
    table.add("predicate", lambda *_: None)
    assert table.has("predicate")
    assert not table.has("node_order")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(KeyError):
        HookTable().add("prediction", lambda: None)


def test_a_listener_that_fails_is_logged_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    table, told = HookTable(), []

    def broken(task: str) -> None:
        raise ValueError("lost count")

    for hook in (told.append, broken, told.append):
        table.add("deallocate", hook, "Plugin")
    with caplog.at_level(logging.ERROR, "mooring.plugins"):
        table.ask("deallocate", "task")
    assert told == ["task", "task"]
    assert [record.getMessage() for record in caplog.records] == ["plugin Plugin failed at deallocate"]


def test_one_who_is_asked_and_fails_fails_the_asking() -> None:
    table = HookTable()
    table.add("predicate", lambda *_: 1 / 0, "Plugin")
    with pytest.raises(PluginFailed, match='"Plugin": ZeroDivisionError'):
        table.ask("predicate")


@pytest.mark.parametrize("kind", KINDS[Combine.ALL])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (False, ""),
        (np.False_, ""),
        ("", ""),
        ("no room", "no room"),
        (ValueError("too full"), "ValueError: too full"),
    ],
    ids=["false", "numpy's", "no words", "words", "error"],
)
def test_whoever_says_no_is_named(kind: str, answer: Any, why: str) -> None:
    table = HookTable()
    table.add(kind, lambda *_: True, "Easy")
    table.add(kind, lambda *_: answer, "Picky")
    assert table.ask(kind) == unschedulable(why or HOOKS[kind].no).by("Picky")


NO_ANSWERS: dict[Combine, list[Any]] = {
    Combine.FIRST_NON_ZERO: [None, True, "less", float("nan"), float("inf"), 10**30, object()],
    Combine.SUM: [None, True, "high", float("nan"), float("inf"), -(10**30), np.array([1, 2])],
    Combine.ALL: [0, 1, 1.5, object(), [], np.array([True, True]), Status(7), Status(Code.WAIT)],
    Combine.UNION: [None, 7, "abc", object(), [[]]],
}


@pytest.mark.parametrize("how", NO_ANSWERS, ids=lambda how: how.value)
def test_what_is_no_answer_is_its_plugins_failure(how: Combine) -> None:
    for kind in KINDS[how]:
        for answer in NO_ANSWERS[how]:
            table = HookTable()
            table.add(kind, lambda *_, answer=answer: answer, "Plugin")
            with pytest.raises(PluginFailed, match=f'running {kind} of plugin "Plugin"'):
                table.ask(kind)


def test_a_hook_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="'high' is no hook"):
        HookTable().add("node_order", "high")  # type: ignore[arg-type]


def test_hooks_are_registered_when_a_session_opens(view: ClusterView) -> None:
    session = Session(view, (), now=0.0)
    with session.registering("Plugin"):
        session.add_predicate(lambda *_: None)
    with pytest.raises(RuntimeError):
        session.add_predicate(lambda *_: None)


def test_a_session_registers_each_kind(view: ClusterView, pod: Callable[..., Any]) -> None:
    task = Task(pod())
    session = Session(view, (Job("j", (task,)),), now=5.0)
    session._registering = "Plugin"
    adders = [name for name in dir(session) if name.startswith("add_") and name != "add_event_handler"]
    for adder in adders:
        assert not session.hooks.has(adder.removeprefix("add_"))
        getattr(session, adder)(lambda *_: None)
        assert session.hooks.has(adder.removeprefix("add_"))
    assert len(adders) == 9
    assert (session.now, session.jobs[0].tasks, session.cluster) == (5.0, (task,), view)


def test_jobs_join_as_they_are_tried(view: ClusterView, pod: Callable[..., Any]) -> None:
    one, two, three = (pod(name) for name in ("one", "two", "three"))
    first = alone(one)
    session = session_of(view, first, 5.0)
    gang = Job("gang", (Task(two), Task(three)))
    session.join(gang)
    assert session.jobs == (first, gang)
    assert [session.job_of(each) for each in (one, two, three)] == [first, gang, gang]
    session.join(again := alone(one))
    assert session.jobs[0] is session.job_of(one) is again
    assert len(session.jobs) == 2


def test_a_pod_that_never_joined_is_a_job_of_its_own(view: ClusterView, pod: Callable[..., Any]) -> None:
    stranger = pod("stranger")
    assert Session(view, (), now=0.0).job_of(stranger) == Job(stranger.key, (Task(stranger),))


def test_event_handlers_are_told_of_their_side_only(view: ClusterView, pod: Callable[..., Any]) -> None:
    session, taken, given = Session(view, (), now=0.0), [], []
    with session.registering("Plugin"):
        session.add_event_handler(allocate=taken.append)
        session.add_event_handler(deallocate=given.append)
    session.hooks.ask("allocate", "one")
    session.hooks.ask("deallocate", "two")
    assert (taken, given) == (["one"], ["two"])


def test_hooks_end_with_their_session(view: ClusterView) -> None:
    first = Session(view, (), now=0.0)
    with first.registering("Plugin"):
        first.add_node_order(lambda task, node: 1)
    assert not Session(view, (), now=1.0).hooks.has("node_order")


def test_a_hook_that_nobody_will_ask_is_refused(view: ClusterView, pod: Callable[..., Any]) -> None:
    session = session_of(view, alone(pod()), 0.0)
    adders = {
        name.removeprefix("add_"): getattr(session, name) for name in dir(session) if name.startswith("add_")
    }
    refused = set()
    with session.registering("Plugin"):
        for kind, add in adders.items():
            try:
                add(lambda *_: None)
            except ValueError as error:
                assert f"add_{kind} registers a hook that nobody asks" in str(error)
                refused.add(kind)
    assert refused == {"queue_order", "job_order", "task_order", "gpu_order", "reclaimable", "preemptable"}
