"""Rounds: when a session opens and closes, who is in it, and what it is told."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from engine.gang_world import gang, members, names
from engine.stage import BUILT_IN, Stage, config, made, node, pod
from mooring.engine.decisions import Bind, Evict, Wait
from mooring.engine.events import NodeChanged, NodeDeleted, ObjectAdded, ObjectDeleted
from mooring.engine.rounds import early_ends, rounds
from mooring.errors import InvariantError
from mooring.framework.api.grouping import GroupWayOut
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.session import Session
from mooring.framework.api.status import unschedulable
from mooring.model.objects import Object, ObjectMeta, Pod
from mooring.plugins.preemption import DefaultPreemption

TWO_PROFILES = """profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Watcher}]}}
- schedulerName: other
  plugins: {multiPoint: {enabled: [{name: Watcher}]}}
"""


class Diary:
    """What a plugin sees of its sessions: when each opens and closes, and what it hears meanwhile."""

    def __init__(self, register: Callable[[Session], None] = lambda ssn: None) -> None:
        self.said: list[str] = []
        self.sessions: list[Session] = []
        self._register = register

    def plugin(self, **members: Any) -> type[Plugin]:
        return made(
            "Watcher",
            **members,
            on_session_open=lambda self_, ssn: self._open(ssn),
            on_session_close=lambda self_, ssn: self.said.append("close"),
        )

    def _open(self, ssn: Session) -> None:
        self.said.append("open")
        self.sessions.append(ssn)
        ssn.add_event_handler(
            allocate=lambda task: self.said.append(f"+{task.pod.name}@{task.node_name}"),
            deallocate=lambda task: self.said.append(f"-{task.pod.name}@{task.node_name}"),
        )
        self._register(ssn)

    def take(self) -> list[str]:
        said, self.said = self.said, []
        return said


@pytest.fixture
def diary() -> Diary:
    return Diary()


def staged(diary: Diary, *more: type[Plugin], base: Any = BUILT_IN, **options: Any) -> Stage:
    return Stage(diary.plugin(), *more, base=base, **options)


def pods(count: int, **more: Any) -> list[Pod]:
    return [pod(f"p{number}", "100m", **more) for number in range(count)]


# opening and closing


def test_a_session_is_open_until_no_pod_is_ready(diary: Diary) -> None:
    stage = staged(diary).nodes("n")
    stage.add(*pods(3))
    for _ in range(3):
        stage.cycle()
    assert diary.take() == ["open", "+p0@n", "+p1@n", "+p2@n"]
    assert [job.name for job in diary.sessions[0].jobs] == ["default/p0", "default/p1", "default/p2"]
    assert stage.cycle() is None
    assert diary.take() == ["close"]
    assert stage.engine.cluster.observers == []


def test_no_pod_no_session(diary: Diary) -> None:
    stage = staged(diary).nodes("n")
    assert stage.cycle() is None
    assert diary.take() == []


def test_pods_and_binds_that_are_told_go_on_with_the_round(diary: Diary) -> None:
    """A round follows from what is there to decide, not from how soon binds are told of."""
    stage = staged(diary).nodes("n")
    for each in pods(3):
        stage.place(each)
    assert diary.take() == ["open", "+p0@n", "+p1@n", "+p2@n"]
    stage.running(pod("others", "1"), "n")
    stage.delete(pod("p1").on_node("n"))
    assert diary.take() == ["+others@n", "-p1@n"]


THING = Object(api_version="v1", kind="ConfigMap", metadata=ObjectMeta(name="t"), data={})
OUTSIDE = {
    "a node changes": NodeChanged(node("n", "8")),
    "a node goes": NodeDeleted(node("n")),
    "an object comes": ObjectAdded(THING),
    "an object goes": ObjectDeleted(THING),
}


@pytest.mark.parametrize("event", OUTSIDE.values(), ids=OUTSIDE)
def test_a_round_ends_before_what_a_session_is_not_told_of(diary: Diary, event: Any) -> None:
    stage = Stage(diary.plugin(reads=("ConfigMap",))).nodes("n", "m")
    stage.place(pod("p"))
    stage.engine.handle(event, stage.now)
    assert diary.take()[::2] == ["open", "close"]
    stage.place(pod("q"))
    assert diary.take()[0] == "open"


def rounds_with_objects(diary: Diary, found: Object = THING, count: int = 1, **members: Any) -> Stage:
    """A pod, then an object that changes, and so on."""
    stage = Stage(diary.plugin(**members)).nodes(node("n", 4000, pods=4000))
    for number in range(count):
        stage.place(pod(f"p{number}", "1m"))
        stage.engine.handle(ObjectAdded(found), stage.now)
    return stage


GROUP_THING = Object(api_version="g.io/v1", kind="Thing", metadata=ObjectMeta(name="t"), data={})
LOOKING = {
    "nobody": (THING, {}, False),
    "one that reads another kind": (THING, {"reads": ("Service",)}, False),
    "one that reads another group": (GROUP_THING, {"reads": ("h.io/v1/things",)}, False),
    "one that reads a path": (GROUP_THING, {"reads": ("g.io/v1/things",)}, True),
    "one that is told of objects": (THING, {"object_seen": lambda self, before, after: None}, True),
}


@pytest.mark.parametrize(("found", "members", "ends"), LOOKING.values(), ids=LOOKING)
def test_an_object_ends_a_round_of_who_looks_at_it(
    diary: Diary, found: Object, members: dict[str, Any], ends: bool
) -> None:
    rounds_with_objects(diary, found, **members)
    assert ("close" in diary.take()) is ends


@pytest.mark.parametrize("kind", ["Thing", "Thing.g.io"])
def test_who_asks_for_a_lister_looks_at_the_kind(kind: str) -> None:
    asking = made(
        "Asking",
        on_session_open=lambda self, ssn: list(self.handle.lister(kind)),
        filter=lambda *about: None,
        reads=("g.io/v1/things",),
    )
    diary = Diary()
    stage = Stage(diary.plugin(), asking).nodes("n")
    stage.place(pod("p"))
    stage.engine.handle(ObjectAdded(GROUP_THING), stage.now)
    assert "close" in diary.take()


def test_objects_end_no_more_than_ten_rounds_in_a_second(diary: Diary) -> None:
    """Tenants write them: who edits one in a loop must not have a session opened for each pod."""
    stage = rounds_with_objects(diary, count=50, reads=("ConfigMap",))
    assert diary.take().count("open") == 11
    stage.now = 0.9
    stage.place(pod("soon", "1m"))
    assert "open" not in diary.take()
    stage.now = 1.0
    stage.place(pod("later", "1m"))
    assert diary.take()[:2] == ["close", "open"]
    stage.engine.handle(ObjectAdded(THING), stage.now)
    assert diary.take() == ["close"]  # the ten of before are a second ago


def test_where_time_stands_still_they_end_ten_in_the_jobs_of_a_round(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_ends, "MOST_JOBS", 20)
    rounds_with_objects(diary, count=60, reads=("ConfigMap",))
    assert diary.take().count("open") == 31


def test_a_round_that_could_not_end_ends_when_it_may(diary: Diary) -> None:
    stage = rounds_with_objects(diary, count=10, reads=("ConfigMap",))
    stage.now = 0.9
    stage.place(pod("p"))
    stage.engine.handle(ObjectAdded(THING), stage.now)
    diary.take()
    stage.now = 1.0
    stage.place(pod("q"))
    assert diary.take() == ["close", "open", "+q@n"]


def test_a_heartbeat_ends_no_round(diary: Diary) -> None:
    stage = staged(diary).nodes("n")
    stage.place(pod("p"))
    stage.change(node("n"))
    assert "close" not in diary.take()


def test_a_round_is_over_after_some_time(diary: Diary) -> None:
    stage = staged(diary).nodes("n")
    for number, now in enumerate((0.0, 0.9, 1.0, 1.9, 2.0)):
        stage.now = now
        stage.place(pod(f"p{number}", "100m"))
    assert [session.now for session in diary.sessions] == [0.0, 1.0, 2.0]
    assert [len(session.jobs) for session in diary.sessions] == [2, 2, 1]
    opened_or_closed = [said for said in diary.take() if said in ("open", "close")]
    assert opened_or_closed == ["open", "close", "open", "close", "open"]


def test_a_round_is_over_after_so_many_jobs(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MOST_JOBS", 3)
    stage = staged(diary).nodes("n")
    stage.add(*pods(7))
    assert len(stage.all()) == 7
    assert [len(session.jobs) for session in diary.sessions] == [3, 3, 1]


def test_each_profile_has_its_round_and_both_hear_of_every_place() -> None:
    diary = Diary()
    stage = staged(diary, text=TWO_PROFILES).nodes("n")
    stage.add(pod("p"), pod("q", scheduler_name="other"), pod("r"))
    stage.all()
    assert diary.take() == ["open", "+p@n", "open", "+q@n", "+q@n", "+r@n", "+r@n", "close", "close"]
    assert [[job.name for job in session.jobs] for session in diary.sessions] == [
        ["default/p", "default/r"],
        ["default/q"],
    ]


def test_a_round_ends_before_a_swap(diary: Diary) -> None:
    stage = staged(diary).nodes("n")
    stage.place(pod("p"))
    plan, registry = config((*BUILT_IN, diary.plugin()))
    table = stage.engine.table(plan.profiles, registry)
    assert "close" not in diary.take()
    stage.engine.swap(table, stage.now)
    assert diary.take() == ["close"]
    stage.place(pod("q"))
    assert diary.take() == ["open", "+q@n"]


def test_a_fork_has_rounds_of_its_own(diary: Diary) -> None:
    stage = staged(diary).nodes("n")
    stage.add(*pods(3))
    stage.cycle()
    fork = stage.engine.fork()
    assert diary.take() == ["open", "+p0@n"]
    while fork.schedule(0.0) is not None:
        pass
    assert diary.take() == ["open", "+p1@n", "+p2@n", "close"]
    stage.cycle()
    assert diary.take() == ["+p1@n"]


def test_a_story_is_told_without_anybody_hearing_of_it(diary: Diary) -> None:
    stage = staged(diary).nodes("n")
    stage.place(pod("p"))
    stage.place(pod("q"))
    diary.take()
    story = stage.engine.story("default/p")
    assert story is not None
    assert story.node == "n"
    assert diary.take() == []


def test_a_story_asks_no_hook_again_and_keeps_no_session() -> None:
    asked: list[str] = []

    def register(ssn: Session) -> None:
        ssn.add_predicate(lambda task, job, node: asked.append(node.name))
        ssn.add_node_order(lambda task, node: asked.append(node.name) or 1)

    diary = Diary(register)
    stage = staged(diary).nodes("n", "m")
    stage.place(pod("p"))
    stage.wait(pod("q", "8"))
    asked.clear()
    stories = [stage.engine.story(f"default/{name}") for name in "pq"]
    assert [story.feasible for story in stories if story is not None] == [2, 0]
    assert asked == []
    session = weakref.ref(diary.sessions.pop())
    assert stage.cycle() is None
    gc.collect()
    assert session() is None


def test_a_round_closes_when_an_attempt_ends_with_what_nobody_may_catch(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = staged(diary).nodes("n")
    stage.place(pod("p"))

    def ended(*about: Any) -> Any:
        raise InvariantError("the end")

    monkeypatch.setattr(stage.engine.cycle, "run", ended)
    stage.add(pod("q"))
    with pytest.raises(InvariantError):
        stage.engine.schedule(0.0)
    assert diary.take()[-1] == "close"


# plugins that fail


def test_a_plugin_that_cannot_open_costs_the_pods_of_the_round() -> None:
    opened: list[float] = []

    def opens(self: Any, ssn: Session) -> None:
        opened.append(ssn.now)
        if len(opened) == 1:
            raise RuntimeError("no connection")

    stage = Stage(made("Flaky", on_session_open=opens)).nodes("n")
    for name in ("p", "q"):
        refusal = stage.wait(pod(name))
        assert refusal.reason == "SchedulerError"
        assert refusal.message == 'running on_session_open of plugin "Flaky": RuntimeError: no connection'
        assert refusal.plugins == ("Flaky",)
    assert opened == [0.0]
    assert stage.cycle() is None
    stage.place(pod("r"))
    stage.now = 60.0
    stage.tick()
    assert set(stage.all()) == {"p", "q"}


def test_a_plugin_that_cannot_open_costs_the_gang() -> None:
    def opens(self: Any, ssn: Session) -> None:
        raise RuntimeError("no connection")

    stage = Stage(gang(2), made("Broken", on_session_open=opens)).nodes("n")
    stage.add(*members(2))
    decisions = stage.cycle() or []
    assert {each.message for each in decisions if isinstance(each, Wait)} == {
        'running on_session_open of plugin "Broken": RuntimeError: no connection'
    }
    assert len(decisions) == 2


def test_one_that_fails_to_close_keeps_nobody_from_closing(diary: Diary) -> None:
    def closes(self: Any, ssn: Session) -> None:
        raise RuntimeError("late")

    bad = made("Bad", on_session_open=lambda self, ssn: None, on_session_close=closes)
    stage = Stage(bad, diary.plugin()).nodes("n")
    stage.place(pod("p"))
    assert stage.cycle() is None
    assert diary.take()[-1] == "close"


# gangs


def test_a_gang_is_one_job(diary: Diary) -> None:
    asked: set[tuple[str, str, int]] = set()

    def register(ssn: Session) -> None:
        def may(task: Any, job: Any, *node: Any) -> None:
            asked.add((task.pod.name, job.name, len(job.tasks)))

        ssn.add_pre_predicate(may)
        ssn.add_predicate(may)

    diary = Diary(register)
    stage = staged(diary, gang(3)).nodes("n")
    stage.add(*members(3), pod("alone"))
    assert len(stage.all()) == 4
    assert asked == {(f"p{number}", "default/g", 3) for number in range(3)} | {("alone", "default/alone", 1)}
    (session,) = diary.sessions
    assert sorted((job.name, len(job.tasks)) for job in session.jobs) == [
        ("default/alone", 1),
        ("default/g", 3),
    ]


def test_a_gang_that_does_not_start_gives_back_what_it_took(diary: Diary) -> None:
    stage = staged(diary, gang(3)).nodes(node("n", 2))
    stage.add(*members(3))
    assert names(stage.cycle(), Wait) == ["p0", "p1", "p2"]
    assert diary.take() == ["open", "+p0@n", "+p1@n", "-p1@n", "-p0@n"]


def test_members_are_planned_with_what_the_session_says() -> None:
    """Room is counted by the hooks as well, before any member is tried."""
    offered: list[dict[str, int]] = []

    def plan_group(self: Any, cycle: Any, group: Any, room: Any) -> None:
        offered.append(room.offers())

    def register(ssn: Session) -> None:
        ssn.add_predicate(lambda task, job, node: node.name == "a" or task.pod.name == "p0")

    stage = Stage(gang(2, plan_group=plan_group), Diary(register).plugin()).nodes(node("a", 2), node("b", 2))
    stage.add(*members(2))
    assert names(stage.cycle(), Bind) == ["p0", "p1"]
    assert offered == [{"a": 2, "b": 1}]


def test_members_that_a_session_tells_apart_are_tried_each_for_itself() -> None:
    """Also where nobody asks why one finds no place."""
    placed: list[dict[str, str]] = []

    def post_filter_group(self: Any, cycle: Any, group: Any, trial: Any) -> None:
        placed.append(trial.place())

    def register(ssn: Session) -> None:
        ssn.add_predicate(lambda task, job, node: task.pod.name != "p0")

    stage = Stage(gang(2, post_filter_group=post_filter_group), Diary(register).plugin()).nodes("n")
    stage.add(*members(2))
    assert names(stage.cycle(), Wait) == ["p0", "p1"]
    assert placed == [{"p1": "n"}]


# evictions


def full_node(diary: Diary, *more: type[Plugin]) -> Stage:
    stage = staged(diary, *more, base=(*BUILT_IN, DefaultPreemption)).nodes(node("n", 2))
    for name in ("low", "mid"):
        stage.running(pod(name, "1", priority=("low", "mid").index(name) - 2), "n")
    return stage


def told(said: list[str], name: str) -> int:
    """The sum of what was heard of a pod."""
    return said.count(f"+{name}@n") - said.count(f"-{name}@n")


def test_an_eviction_is_told_like_a_place_given_back(diary: Diary) -> None:
    stage = full_node(diary)
    stage.add(pod("high", "1", priority=9))
    decisions = stage.cycle() or []
    assert names(decisions, Evict) == ["low"]
    said = diary.take()
    assert [told(said, name) for name in ("low", "mid", "high")] == [-1, 0, 0]
    stage.delete(pod("low").on_node("n"))
    assert diary.take() == []  # it went when it was evicted


def test_trials_of_evictions_are_told_too() -> None:
    """A hook that knows who is there only by what it is told sees who would be gone."""
    there = {"low", "mid"}

    def register(ssn: Session) -> None:
        ssn.add_event_handler(
            allocate=lambda task: there.add(task.pod.name),
            deallocate=lambda task: there.discard(task.pod.name),
        )
        ssn.add_predicate(lambda task, job, node: "low" not in there or "low is there")

    stage = full_node(Diary(register))
    refusal = stage.wait(pod("meek", "100m", priority=-9))
    assert "low is there" not in refusal.message  # there is no room for it anyhow
    stage.add(pod("high", "1", priority=9))
    assert names(stage.cycle(), Evict) == ["low"]
    assert there == {"mid"}


def test_an_eviction_that_is_undone_is_told_as_a_place_taken(diary: Diary) -> None:
    stage = full_node(diary)
    stage.place(pod("tiny", None))
    diary.take()
    statement = stage.engine.cluster.statement()
    statement.evict("low")
    assert diary.take() == ["-low@n"]
    statement.roll_back()
    assert diary.take() == ["+low@n"]
    with stage.engine.cluster.statement() as statement:
        statement.evict("low")
        statement.keep("low")
    assert diary.take() == ["-low@n", "+low@n"]


def test_evictions_for_a_gang_are_told(diary: Diary) -> None:
    def post_filter_group(self: Any, cycle: Any, group: Any, trial: Any) -> GroupWayOut:
        for victim in ("low", "mid"):
            trial.remove(victim)
        return GroupWayOut((pod("low"), pod("mid")), trial.place())

    stage = full_node(diary, gang(2, post_filter_group=post_filter_group))
    stage.add(*members(2))
    assert names(stage.cycle(), Evict) == ["low", "mid"]
    said = diary.take()
    assert {name: told(said, name) for name in ("low", "mid", "p0", "p1")} == {
        "low": -1,
        "mid": -1,
        "p0": 0,
        "p1": 0,
    }
    assert "+p0@n" in said


# what a session costs


def filters_asked(register: Callable[[Session], None]) -> tuple[list[str], list[str]]:
    """Which nodes a filter that keeps its answers is asked about for a second pod, and a predicate too."""
    kept: list[str] = []
    fresh: list[str] = []

    def filter_(self: Any, cycle: Any, pod: Any, node: Any) -> Any:
        kept.append(node.name)
        return unschedulable("no") if node.name == "d" else None

    def opens(ssn: Session) -> None:
        register(ssn)
        if ssn.hooks.has("predicate"):
            ssn.add_predicate(lambda task, job, node: fresh.append(node.name))

    keeps = made("Keeps", scope=Scope.ROW, sign=lambda self, pod: "", filter=filter_)
    stage = Stage(keeps, Diary(opens).plugin()).nodes(*"abcd")
    stage.place(pod("first"))
    stage.place(pod("second"))
    kept.clear()
    fresh.clear()
    stage.place(pod("third"))
    return kept, fresh


def test_a_session_that_judges_no_node_leaves_evaluations_kept() -> None:
    kept, fresh = filters_asked(lambda ssn: ssn.add_pre_predicate(lambda task, job: None))
    assert len(kept) == 1  # of the node the second pod went to
    assert fresh == []


def test_beside_predicates_and_node_orders_the_others_are_kept() -> None:
    def register(ssn: Session) -> None:
        ssn.add_predicate(lambda task, job, node: None)
        ssn.add_node_order(lambda task, node: 1.5)

    kept, fresh = filters_asked(register)
    assert len(kept) == 1
    assert fresh == ["a", "b", "c"]  # d is out without them


@pytest.mark.parametrize("point", ["on_session_close", "follow_up"])
def test_pods_that_are_woken_when_a_round_is_over_are_tried(point: str) -> None:
    """Nobody else would know of them: no pod was ready, and no moment is waited for."""

    def refuse(self: Any, cycle: Any, pod: Pod, nodes: Any = None) -> Any:
        self.put_off = getattr(self, "put_off", [])
        if pod not in self.put_off:
            self.put_off.append(pod)
            return unschedulable("later")
        return None

    def wake(self: Any, *about: Any) -> None:
        self.handle.activate(getattr(self, "put_off", []))

    opens = {"on_session_open": lambda self, ssn: None}
    later = made("Later", **opens, pre_filter=refuse, filter=lambda *a: None, **{point: wake})
    stage = Stage(later).nodes("n")
    stage.add(pod("p"), pod("q"))
    found: list[Any] = []
    while (decisions := stage.cycle()) is not None:
        found += decisions
    assert sorted(each.pod.name for each in found if isinstance(each, Bind)) == ["p", "q"]


def test_a_plugin_that_always_wakes_has_nobody_go_round_where_time_stands_still() -> None:
    never = made(
        "Never",
        on_session_open=lambda self, ssn: None,
        pre_filter=lambda self, cycle, pod, nodes=None: self.__dict__.update(last=pod) or unschedulable("no"),
        filter=lambda *a: None,
        on_session_close=lambda self, ssn: self.handle.activate([self.last]),
    )
    stage = Stage(never).nodes("n")
    stage.add(pod("p"))
    assert sum(decisions is not None for decisions in iter(stage.cycle, None)) <= 3
