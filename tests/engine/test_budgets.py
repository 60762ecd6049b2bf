"""Policies have so much time for a pod; those that take more are named, left out or set aside."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from engine.stage import Stage, made, pod
from mooring.cluster.books.book import Book
from mooring.engine.decisions import Bind, Wait
from mooring.errors import ApiError, OverBudget, PointTimedOut
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, Action, Hint, Interest
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import unschedulable
from mooring.framework.metrics.families import OVER_BUDGET, SET_ASIDE
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.budget import Budgets
from mooring.model.objects import OwnerReference, Pod

SLOW = {"slow": "1"}
NODES = [f"n{number}" for number in range(100)]


class Time:
    """A clock that only policies move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Timed:
    """A stage whose policies are timed."""

    def __init__(self, *plugins: type[Plugin], time: Time, text: str = "", nodes: Any = NODES) -> None:
        self.time = time
        self.meter = Meter(time)
        self.stage = Stage(*plugins, text=text, budgets=Budgets(time, self.meter)).nodes(*nodes)

    def try_pod(self, name: str, slow: bool = False) -> Any:
        return self.stage.try_pod(pod(name, "10m", labels=SLOW if slow else {}))

    def counted(self, family: Any) -> dict[tuple[str, ...], int]:
        return dict(self.meter.counted(family))


def slow_at(point: str, time: Time, seconds: float, **more: Any) -> type[Plugin]:
    """Takes so long whenever it is asked about a slow pod."""

    def method(self: Any, *arguments: Any) -> Any:
        subject = next((a for a in arguments if hasattr(a, "labels") and hasattr(a, "spec")), None)
        if subject is not None and subject.labels.get("slow"):
            time.now += seconds
            self.asked = getattr(self, "asked", 0) + 1
        return {"score": 100, "sign": 1}.get(point)

    return made("Slow", **{"filter": lambda self, *a: None, **more, point: method})


@pytest.mark.parametrize("scope", [Scope.CLUSTER, Scope.ROW, Scope.STATIC])
def test_a_loop_over_nodes_ends_when_the_time_is_over(scope: Scope) -> None:
    """A policy that takes 5 ms a node on 3,000 nodes must not take 15 s a pod."""
    timed = Timed(slow_at("filter", time := Time(), 0.05, scope=scope), time=time)
    refusal = timed.try_pod("p", slow=True)
    assert (refusal.reason, refusal.plugins) == ("SchedulerError", ("Slow",))
    assert 'running "Slow" filter plugin: over budget: took 1.' in refusal.message
    assert "nodes asked" in refusal.message
    assert time.now - 1000.0 < 2.0
    assert timed.counted(OVER_BUDGET) == {("Slow", "Filter", "default-scheduler"): 1}
    assert isinstance(timed.try_pod("q"), Bind)


@pytest.mark.parametrize("point", ["pre_filter", "reserve", "permit", "before_pre_filter", "sign"])
def test_one_call_that_takes_too_long_counts_with_its_answer(
    point: str, caplog: pytest.LogCaptureFixture
) -> None:
    timed = Timed(slow_at(point, time := Time(), 1.5), time=time, nodes=["n"])
    decisions = [type(timed.try_pod(f"p{number}", slow=True)) for number in range(3)]
    if point in ("reserve", "permit"):
        assert decisions == [Bind, Bind, Bind]
    assert "plugin Slow of profile default-scheduler is over its budget" in caplog.text
    assert sum(timed.counted(OVER_BUDGET).values()) == 3


def test_opening_a_session_takes_nothing_of_the_time_for_its_first_pod() -> None:
    time = Time()

    def takes_long(self: Any, *about: Any) -> None:
        time.now += 0.8

    slow = made("Slow", on_session_open=takes_long, pre_filter=takes_long, on_session_close=takes_long)
    timed = Timed(slow, time=time, nodes=["n"])
    assert isinstance(timed.try_pod("p"), Bind)
    assert timed.stage.cycle() is None
    assert timed.counted(OVER_BUDGET) == {}


@pytest.mark.parametrize("kind", ["pre_predicate", "predicate", "node_order"])
def test_hooks_of_a_session_have_no_more_time_than_points(kind: str) -> None:
    time = Time()

    def takes_long(*about: Any) -> int | None:
        time.now += 1.1
        return 1 if kind == "node_order" else None

    slow = made("Slow", on_session_open=lambda self, ssn: getattr(ssn, f"add_{kind}")(takes_long))
    timed = Timed(slow, time=time, nodes=["n", "m", "o"])
    for number in range(3):
        timed.try_pod(f"p{number}")
    began = time.now
    refused = timed.try_pod("q")
    assert (refused.reason, refused.plugins, time.now) == ("SchedulerError", ("Slow",), began)
    assert "set aside" in refused.message


@pytest.mark.parametrize("kind", ["allocate", "deallocate"])
def test_handlers_have_no_more_time_than_other_hooks(kind: str) -> None:
    """What they keep must add up, so nobody is placed in a round in which they are not told."""
    time, heard = Time(), list[str]()

    def takes_long(task: Any) -> None:
        time.now += 3
        heard.append(task.pod.name)

    slow = made("Slow", on_session_open=lambda self, ssn: ssn.add_event_handler(**{kind: takes_long}))
    timed = Timed(slow, time=time, nodes=["n"])
    for number in range(3):
        bind = timed.try_pod(f"p{number}")
        assert isinstance(bind, Bind)
        timed.stage.bind_failed(bind)
    began = time.now
    for number in range(3):
        refused = timed.try_pod(f"q{number}")
        assert (refused.reason, refused.plugins, time.now) == ("SchedulerError", ("Slow",), began)
        assert "set aside" in refused.message
    assert heard == [f"p{number}" for number in range(3)]
    assert sum(timed.counted(SET_ASIDE).values()) > 0
    time.now += 60.0
    timed.stage.now = 2.0
    assert isinstance(timed.try_pod("r"), Bind)


def handlers_told(seconds: float) -> tuple[Timed, list[str]]:
    """A plugin whose handlers take so long, and what it hears."""
    time, heard = Time(), list[str]()

    def told(sign: str) -> Any:
        def takes_long(task: Any) -> None:
            time.now += seconds
            heard.append(f"{sign}{task.pod.name}")

        return takes_long

    def opens(self: Any, ssn: Any) -> None:
        heard.append("open")
        ssn.add_event_handler(told("+"), told("-"))
        ssn.add_predicate(lambda task, job, node: None)

    return Timed(made("Slow", on_session_open=opens), time=time, nodes=["n"]), heard


def test_who_is_not_told_all_is_not_asked_either_and_its_round_is_over() -> None:
    timed, heard = handlers_told(0.6)
    pods = timed.stage.engine.cluster
    timed.try_pod("p")
    timed.stage.engine._parts.deciding = True  # several places in one attempt
    for _ in range(2):
        with pods.statement() as statement:
            statement.give_back("p")
            statement.take(pod("p"), "n")
    timed.stage.engine._parts.deciding = False
    assert heard == ["open", "+p", "-p"]  # and then it had taken 1.2 s
    (session,) = (each.session for each in timed.stage.engine._parts.rounds.open.values())
    with pytest.raises(OverBudget):
        session.hooks.ask("predicate", None, None, None)
    assert isinstance(timed.try_pod("q"), Bind)
    assert heard[3:] == ["open", "+q"]


def test_handlers_have_their_time_for_each_thing_that_is_told_beside_attempts() -> None:
    timed, heard = handlers_told(0.6)
    timed.try_pod("p")
    for number in range(5):
        timed.stage.running(pod(f"q{number}", "10m"), "n")
    assert heard == ["open", "+p", *(f"+q{number}" for number in range(5))]
    assert timed.counted(OVER_BUDGET) == {}


@pytest.mark.parametrize("scope", [Scope.CLUSTER, Scope.ROW])
def test_who_goes_on_like_that_is_set_aside_and_tried_again(scope: Scope) -> None:
    timed = Timed(slow_at("filter", time := Time(), 0.05, scope=scope), time=time)
    for number in range(3):
        assert "took 1" in timed.try_pod(f"p{number}", slow=True).message
    plugin = timed.stage.plugin("Slow")
    asked, before = plugin.asked, time.now
    for number in range(10):
        text = timed.try_pod(f"q{number}", slow=True).message
        assert text.endswith("set aside for now, as it goes on taking more than 1 s for a pod")
    assert (plugin.asked, time.now) == (asked, before)
    assert sum(timed.counted(SET_ASIDE).values()) >= 10
    time.now += 60.0
    assert "took 1" in timed.try_pod("r", slow=True).message


def test_one_that_recovers_is_as_good_as_ever() -> None:
    timed = Timed(slow_at("filter", time := Time(), 0.05), time=time)
    for number in range(4):
        timed.try_pod(f"p{number}", slow=True)
    time.now += 60.0
    for number in range(8):
        assert isinstance(timed.try_pod(f"q{number}"), Bind)


def test_pods_it_is_quick_about_go_on_meanwhile() -> None:
    """Those of an owner it has been quick about: it is set aside for others."""

    def owned(name: str, owner: str, slow: bool) -> Pod:

        made = pod(name, "10m", labels=SLOW if slow else {})
        by = OwnerReference(kind="ReplicaSet", name=owner, uid=owner, controller=True)
        return msgspec.structs.replace(
            made, metadata=msgspec.structs.replace(made.metadata, owner_references=(by,))
        )

    def filter_(self: Any, cycle: Any, pod: Pod, node: Any) -> None:
        time.now += 0.05 if pod.labels.get("slow") else 0.00001

    time = Time()
    timed = Timed(made("Slow", filter=filter_), time=time)
    assert isinstance(timed.stage.try_pod(owned("a", "good", slow=False)), Bind)
    for number in range(5):
        assert isinstance(timed.stage.try_pod(owned(f"p{number}", "bad", slow=True)), Wait)
        assert isinstance(timed.stage.try_pod(owned(f"q{number}", "good", slow=False)), Bind)
    assert isinstance(timed.stage.try_pod(owned("x", "new", slow=False)), Wait)  # nobody knows yet
    time.now += 20.0
    assert isinstance(timed.stage.try_pod(owned("y", "new", slow=False)), Bind)


@pytest.mark.parametrize("scope", [Scope.CLUSTER, Scope.ROW, Scope.STATIC])
@pytest.mark.parametrize("point", ["score", "pre_score"])
def test_a_score_that_takes_too_long_is_left_out(point: str, scope: Scope) -> None:
    seconds = 0.05 if point == "score" else 1.5
    more = {"score": lambda self, *a: 0} if point == "pre_score" else {}
    timed = Timed(slow_at(point, time := Time(), seconds, scope=scope, **more), time=time)
    for number in range(10):
        assert isinstance(timed.try_pod(f"p{number}", slow=True), Bind)
    assert time.now - 1000.0 < 6.0
    if point == "score":
        story = timed.stage.engine.story("default/p0")
        assert story is not None
        assert 'plugin "Slow" failed with: over budget: took 1' in story.left_out["Slow"]
        story = timed.stage.engine.story("default/p9")
        assert story is not None
        assert "set aside" in story.left_out["Slow"]


@pytest.mark.parametrize("scope", [Scope.CLUSTER, Scope.ROW, Scope.STATIC])
def test_so_is_one_that_takes_too_long_to_normalise(scope: Scope) -> None:
    def normalize(self: Any, values: list[int]) -> list[int]:
        time.now += 1.5
        return values

    time = Time()
    score = lambda self, cycle, pod, node: int(node.name[1:]) % 7  # noqa: E731
    timed = Timed(made("Slow", score=score, normalize=normalize, scope=scope), time=time)
    for number in range(10):
        assert isinstance(timed.try_pod(f"p{number}"), Bind)
    assert time.now - 1000.0 < 6.0
    assert bool(timed.counted(SET_ASIDE)) is (scope is Scope.CLUSTER)  # else what it said is known


def test_hints_about_one_change_share_their_time(caplog: pytest.LogCaptureFixture) -> None:
    """50 ms for each of the pods that wait: after 1 s the others are woken without being asked about."""

    def hint(pod: Pod, old: Any, new: Any) -> Hint:
        time.now += 0.05
        return Hint.SKIP

    time = Time()
    events = lambda self: [Interest(NODE, Action.ADD, hint)]  # noqa: E731
    timed = Timed(made("Slow", filter=lambda self, *a: unschedulable("no"), events=events), time=time)
    for number in range(100):
        timed.try_pod(f"p{number}")
    before = time.now
    timed.stage.nodes("another")
    assert 1.0 < time.now - before < 1.2
    assert "plugin Slow of profile default-scheduler is over its budget at events" in caplog.text
    for number in range(10):
        timed.stage.nodes(f"more-{number}")
    assert time.now - before < 4.0
    assert sum(timed.counted(SET_ASIDE).values()) > 0


@pytest.mark.parametrize("point", ["sort_key", "less"])
def test_who_takes_too_long_to_sort_is_not_asked(point: str) -> None:
    def sort(self: Any, *queued: Any) -> Any:
        time.now += 1.5
        return 0

    time = Time()
    text = """profiles:
- plugins: {queueSort: {enabled: [{name: Slow}], disabled: [{name: "*"}]}}
"""
    timed = Timed(made("Slow", **{point: sort}), time=time, text=text, nodes=["n"])
    for number in range(20):
        timed.stage.add(pod(f"p{number}", "10m"))
    assert len(timed.stage.all()) == 20
    assert time.now - 1000.0 < 6.0
    assert timed.counted(OVER_BUDGET)


@pytest.mark.parametrize("how", ["at once", "in a step", "awaiting"])
def test_a_binding_may_await_but_not_work_for_long(how: str, caplog: pytest.LogCaptureFixture) -> None:
    def at_once(self: Any, *arguments: Any) -> None:
        time.now += 1.5

    async def in_a_step(self: Any, *arguments: Any) -> None:
        await asyncio.sleep(0)
        time.now += 1.5
        await asyncio.sleep(0)

    async def awaiting(self: Any, *arguments: Any) -> None:
        loop = asyncio.get_running_loop()
        others = loop.create_future()
        loop.call_soon(others_take_long, others)
        with pytest.raises(ApiError):  # what is raised in it reaches it
            await others

    def others_take_long(others: asyncio.Future[None]) -> None:
        time.now += 10.0
        others.set_exception(ApiError(500, "no"))

    async def bind_all() -> int:
        failures = 0
        for number in range(5):
            try:
                answer = pre_bind(Cycle("default-scheduler", time.now), pod(f"p{number}", "10m"), "n")
                if answer is not None:
                    await answer
            except OverBudget as over:
                assert "set aside" in str(over)
                failures += 1
        return failures

    time = Time()
    method = {"at once": at_once, "in a step": in_a_step, "awaiting": awaiting}[how]
    timed = Timed(made("Slow", pre_bind=method), time=time, nodes=["n"])
    hooks = timed.stage.engine.profiles["default-scheduler"].at("pre_bind")
    pre_bind = next(hook.method for hook in hooks if hook.name == "Slow")
    assert asyncio.run(bind_all()) == (0 if how == "awaiting" else 2)
    assert ("is over its budget at pre_bind" in caplog.text) is (how != "awaiting")


def test_or_fails_the_pod_where_that_is_asked_for() -> None:
    text = "profiles:\n- plugins: {multiPoint: {enabled: [{name: Slow}]}}\n" + (
        "  pluginConfig: [{name: Mooring, args: {overBudget: fail, policyBudget: 500ms}}]\n"
    )
    timed = Timed(slow_at("score", time := Time(), 0.05), time=time, text=text)
    assert "took 0." in timed.try_pod("p", slow=True).message


def test_a_slow_score_costs_the_filter_nothing() -> None:
    """Of one policy: what it filters is asked all the same."""

    def filter_(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return None if node.name == "n7" or node.name == "n8" else unschedulable("no")

    timed = Timed(slow_at("score", time := Time(), 1.5, filter=filter_, scope=Scope.ROW), time=time)
    found = [timed.try_pod(f"p{number}", slow=True) for number in range(6)]
    assert {each.node for each in found} <= {"n7", "n8"}


def test_without_a_budget_it_takes_as_long_as_it_takes() -> None:
    text = "profiles:\n- plugins: {multiPoint: {enabled: [{name: Slow}]}}\n" + (
        "  pluginConfig: [{name: Mooring, args: {policyBudget: 0s}}]\n"
    )
    timed = Timed(slow_at("filter", time := Time(), 0.05), time=time, text=text)
    assert isinstance(timed.try_pod("p", slow=True), Bind)


def test_an_interrupted_score_is_left_out() -> None:
    def score(self: Any, cycle: Any, pod: Pod, node: Any) -> int:
        time.now += 5.0
        raise PointTimedOut("not done after 5 s")

    time = Time()
    timed = Timed(made("Slow", score=score), time=time)
    assert isinstance(timed.try_pod("p"), Bind)


def test_why_names_who_took_too_long() -> None:
    timed = Timed(slow_at("filter", time := Time(), 0.05), time=time)
    timed.try_pod("p", slow=True)
    asked = timed.stage.plugin("Slow").asked
    story = timed.stage.engine.story("default/p")
    assert story is not None
    assert 'running "Slow" filter plugin: over budget: took' in story.message
    assert timed.stage.plugin("Slow").asked == asked  # who asks why does not wait for it again


def test_who_asks_why_does_not_use_up_the_time() -> None:
    def score(self: Any, cycle: Any, pod: Pod, node: Any) -> int:
        time.now += seconds[0]
        return 0

    time, seconds = Time(), [0.0]
    timed = Timed(made("Slow", score=score), time=time)
    timed.try_pod("p")
    seconds[0] = 0.05
    for _ in range(5):
        before = time.now
        assert timed.stage.engine.story("default/p") is not None
        assert 1.0 < time.now - before < 2.0  # no longer than an attempt
    seconds[0] = 0.0
    timed.try_pod("q")
    story = timed.stage.engine.story("default/q")
    assert story is not None
    assert story.left_out == {}
    assert timed.counted(OVER_BUDGET) == {}


def test_a_score_that_was_left_out_is_not_told() -> None:
    timed = Timed(slow_at("score", time := Time(), 0.05), time=time)
    timed.try_pod("p", slow=True)
    before = time.now
    story = timed.stage.engine.story("default/p")
    assert story is not None
    assert "Slow" in story.left_out
    assert all("Slow" not in each.parts for each in story.best)
    assert time.now == before


def test_built_in_plugins_are_not_timed() -> None:
    stage = Stage(budgets=Budgets(Time())).nodes("n")
    assert not stage.engine.profiles["default-scheduler"].ledgers


def test_nothing_half_asked_is_kept() -> None:
    """A policy that recovers is heard about every node, not only about those it was asked about in time."""
    time, step = Time(), [0.05]

    def filter_(self: Any, cycle: Any, pod: Any, node: Any) -> Any:
        time.now += step[0]
        return None if node.name == "n99" else unschedulable("no")

    timed = Timed(made("Slow", filter=filter_, scope=Scope.ROW), time=time)
    assert isinstance(timed.try_pod("p"), Wait)
    step[0] = 0.0
    found = timed.try_pod("q")
    assert isinstance(found, Bind)
    assert found.node == "n99"
    timed.stage.engine.check(afresh=True)


def slow_book(time: Time, seconds: float) -> type[Plugin]:
    """A policy whose book takes so long about slow pods; or without end, until it is interrupted."""

    class Laborious(Book[str, int]):
        told = 0

        def added(self, pod: Pod, node: Any) -> None:
            Laborious.told += 1
            if pod.labels.get("slow"):
                time.now += seconds
                if seconds > 10.0:
                    raise PointTimedOut("takes longer than 10 s")
            self.add("pods")

        def removed(self, pod: Pod, node: Any) -> None:
            self.add("pods", -1)

    def begin(self: Any, args: Any, handle: Any) -> None:
        Plugin.__init__(self, args, handle)
        self.book = handle.book(Laborious)

    def filter_(self: Any, cycle: Any, pod: Pod, node: Any) -> None:
        self.book.count("pods")

    return made("Slow", __init__=begin, filter=filter_)


@pytest.mark.parametrize("seconds", [1.5, 11.0])
def test_a_book_that_takes_too_long_is_named_and_set_aside(
    seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    timed = Timed(slow_book(time := Time(), seconds), time=time, nodes=["n"])
    stage, book = timed.stage, timed.stage.plugin("Slow").book
    for number in range(50):
        stage.running(pod(f"slow{number}", "10m", labels=SLOW), "n")
    assert book.told < 10
    assert time.now - 1000.0 < 10 * seconds
    assert "plugin Slow of profile default-scheduler is over its budget at Laborious.added" in caplog.text
    assert timed.counted(OVER_BUDGET)["Slow", "Laborious.added", "default-scheduler"] >= 1
    assert "the book Laborious failed" in timed.try_pod("p").message
    told, before = book.told, time.now
    for number in range(100):
        timed.try_pod(f"q{number}")
    assert (book.told, time.now) == (told, before)  # it is aside: nobody waits for it


def test_a_book_that_is_quick_again_is_made_anew() -> None:
    timed = Timed(slow_book(time := Time(), 1.5), time=time, nodes=["n"])
    stage, book = timed.stage, timed.stage.plugin("Slow").book
    for number in range(5):
        stage.running(pod(f"slow{number}", "10m", labels=SLOW), "n")
    assert book._broken
    for number in range(5):
        stage.delete(pod(f"slow{number}", "10m", labels=SLOW).on_node("n"))
    time.now += 1000.0
    stage.tick(100.0)
    assert isinstance(timed.try_pod("p"), Bind)
    assert dict(book.items()) == {"pods": 1}
