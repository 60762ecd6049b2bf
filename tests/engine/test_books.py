"""Books of policies in a running engine: right whatever becomes of a pod, with no code for any of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.gang_world import gang, members, names
from engine.stage import Stage, changed, made, node, pod
from mooring import Action, Book, Interest, Plugin, Pod, Scope, unschedulable
from mooring.engine.decisions import Bind, Wait
from mooring.engine.engine import Engine
from mooring.errors import PolicyError
from mooring.framework.api.handle import Handle
from mooring.framework.loading.discovery import plugins_in
from mooring.framework.loading.rehearsal import rehearse
from mooring.plugins.preemption.plugin import DefaultPreemption

EXAMPLE = Path(__file__).parents[2] / "examples" / "per_rack"
(AtMostPerRack,) = plugins_in(EXAMPLE)
RACK = "example.com/rack"


def in_rack(name: str, rack: str, **more: Any) -> Any:
    return node(name, labels={RACK: rack}, **more)


def of_app(name: str, **more: Any) -> Pod:
    return pod(name, labels={"app": "web", **more.pop("labels", {})}, **more)


def racks(engine: Engine) -> dict[Any, int]:
    engine.check()
    return dict(engine.cluster.books.by_name["PodsPerRack"].items())


@pytest.fixture
def stage() -> Stage:
    return Stage(AtMostPerRack).nodes(in_rack("a1", "a"), in_rack("a2", "a"), in_rack("b1", "b"))


def test_a_rack_is_full_whichever_of_its_nodes_the_pods_are_on(stage: Stage) -> None:
    got = [stage.place(of_app(f"p{number}")) for number in range(4)]
    assert sorted(name[0] for name in got) == ["a", "a", "b", "b"]
    assert racks(stage.engine) == {("web", "a"): 2, ("web", "b"): 2}
    assert "3 node(s) were in racks with enough pods of the app" in stage.wait(of_app("p5")).message
    assert stage.place(pod("other", labels={"app": "db"}))


def test_a_bind_that_fails_is_not_counted(stage: Stage) -> None:
    bind = stage.try_pod(of_app("p"))
    assert isinstance(bind, Bind)
    assert sum(racks(stage.engine).values()) == 1
    stage.bind_failed(bind)
    assert racks(stage.engine) == {}


def test_a_gang_that_is_tried_in_vain_leaves_nothing() -> None:
    stage = Stage(gang(3), AtMostPerRack).nodes(in_rack("a1", "a", cpu="8"))
    stage.add(*(changed(each, labels={**each.labels, "app": "web"}) for each in members(3)))
    assert names(stage.cycle(), Wait) == ["p0", "p1", "p2"]
    assert racks(stage.engine) == {}
    stage.nodes(in_rack("b1", "b"))
    stage.tick(10.0)
    assert names(stage.cycle(), Bind) == ["p0", "p1", "p2"]
    assert sum(racks(stage.engine).values()) == 3


def test_victims_make_room_in_the_rack(stage: Stage) -> None:
    """Preemption tries nodes with pods gone: the book is as it would be, and as it was afterwards."""
    stage = Stage(AtMostPerRack, DefaultPreemption).nodes(in_rack("a1", "a", cpu="9"))
    for number in range(2):
        stage.place(of_app(f"p{number}"))
    stage.add(of_app("urgent", priority=10))
    decisions = stage.cycle() or []
    assert [type(each).__name__ for each in decisions] == ["Evict", "Wait"]
    assert racks(stage.engine) == {("web", "a"): 2}


def test_a_book_after_a_restart_is_the_one_before(stage: Stage) -> None:
    placed = {name: of_app(name).on_node(stage.place(of_app(name))) for name in ("x", "y", "z")}
    again = Stage(AtMostPerRack)
    for name in ("z", "x", "y"):
        again.add(placed[name])  # before their nodes are known
    assert racks(again.engine) == {}
    again.nodes(in_rack("a1", "a"), in_rack("a2", "a"), in_rack("b1", "b"))
    assert racks(again.engine) == racks(stage.engine)


def test_a_node_that_changes_racks_takes_its_pods_along(stage: Stage) -> None:
    where = stage.place(of_app("p"))
    stage.change(in_rack(where, "c"))
    assert racks(stage.engine) == {("web", "c"): 1}


def test_a_story_is_told_with_the_book_as_it_was(stage: Stage) -> None:
    first = of_app("p0")
    stage.place(first)
    for number in range(1, 4):
        stage.place(of_app(f"p{number}"))
    story = stage.engine.story(first.key)
    assert story is not None
    assert story.feasible == 3  # all racks are full by now
    assert sum(racks(stage.engine).values()) == 4


TWO = """profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: AtMostPerRack}]}}
- schedulerName: other
  plugins: {multiPoint: {enabled: [{name: AtMostPerRack}]}}
"""


def test_profiles_share_a_book() -> None:
    stage = Stage(AtMostPerRack, text=TWO).nodes(in_rack("a1", "a"))
    assert stage.place(of_app("one"))
    assert stage.place(of_app("two", scheduler_name="other"))
    assert isinstance(stage.try_pod(of_app("three")), Wait)
    assert isinstance(stage.try_pod(of_app("four", scheduler_name="other")), Wait)


# marks


class FullNodes(Book[str, int]):
    """Nodes that share a port with the node a pod came to: any two of the same letter."""

    marks_rows = True

    def taken(self, pod: Pod, node_name: str) -> None:
        self._mark(node_name, +1)

    def given_back(self, pod: Pod, node_name: str) -> None:
        self._mark(node_name, -1)

    def _mark(self, node_name: str, amount: int) -> None:
        self.add(node_name[0], amount)
        for number in (1, 2):
            self.touch(f"{node_name[0]}{number}")


class Alone(Plugin):
    """A kept filter that reads a book of more than the row."""

    scope = Scope.ROW
    asked = 0

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._full = handle.book(FullNodes)

    def filter(self, cycle: Any, pod: Pod, node: Any) -> Any:
        self.asked += 1
        return unschedulable("taken") if self._full.count(node.name[0]) else None

    def events(self) -> tuple[Interest, ...]:
        return (Interest("FullNodes", Action.UPDATE),)


def test_kept_answers_follow_a_book_that_marks_rows() -> None:
    stage = Stage(Alone).nodes(*(f"{letter}{number}" for letter in "abc" for number in (1, 2)))
    got = [stage.place(pod(f"p{number}")) for number in range(3)]
    stage.engine.check(afresh=True)
    assert sorted(name[0] for name in got) == ["a", "b", "c"]
    waiting = pod("p3")
    stage.wait(waiting)
    asked = stage.plugin("Alone").asked
    stage.delete(pod("p0").on_node(got[0]))
    assert stage.where(waiting) != "unschedulable"  # woken by the mark: it registers for nothing else
    stage.tick(100.0)
    assert [name[0] for name in stage.all().values()] == [got[0][0]]
    assert stage.plugin("Alone").asked - asked <= 8  # the two nodes, not all of them over again


def test_a_mark_that_is_undone_wakes_nobody() -> None:
    stage = Stage(Alone, gang(3), text="").nodes("a1", "b1")
    stage.add(*members(3))
    stage.cycle()
    assert not stage.engine.cluster.books.unattended
    assert not stage.engine.cluster.books.open


def test_a_policy_touches_a_node() -> None:
    class Outside(Plugin):
        scope = Scope.STATIC
        closed = frozenset({"a", "b"})
        asked: list[str] = []

        def filter(self, cycle: Any, pod: Pod, node: Any) -> Any:
            self.asked.append(node.name)
            return unschedulable("closed") if node.name in self.closed else None

        def events(self) -> tuple[Interest, ...]:
            return (Interest("Outside", Action.UPDATE),)

    stage = Stage(Outside).nodes("a", "b")
    waiting = pod("p")
    stage.wait(waiting)
    outside = stage.plugin("Outside")
    outside.closed = frozenset({"a"})
    outside.asked.clear()
    outside.handle.touch("b")
    outside.handle.touch("nowhere")
    stage.tick(10.0)
    assert stage.all() == {"p": "b"}
    assert set(outside.asked) == {"b"}


# what is refused


@pytest.mark.parametrize(
    ("scope", "marks", "fine"),
    [
        (Scope.STATIC, True, False),
        (Scope.ROW, True, True),
        (Scope.ROW, False, False),
        (Scope.DOMAIN, True, False),
        (Scope.CLUSTER, False, True),
    ],
)
def test_a_scope_that_keeps_answers_is_not_to_read_any_book(scope: Scope, marks: bool, fine: bool) -> None:
    book: Any = type("Kept", (Book,), {"marks_rows": marks})

    def init(self: Any, args: Any, handle: Handle) -> None:
        Plugin.__init__(self, args, handle)
        self.book = handle.book(book)

    plugin = made("Reading", scope=scope, __init__=init, filter=lambda self, cycle, pod, node: None)
    if fine:
        rehearse(plugin)
        assert Stage(plugin).plugin("Reading").book.name == "Kept"
    else:
        with pytest.raises(PolicyError, match=f"reads the book Kept, which scope {scope.name}"):
            rehearse(plugin)


def test_a_book_is_asked_for_when_a_plugin_is_made() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Pod) -> None:
        self.handle.book(FullNodes)

    stage = Stage(made("Late", pre_filter=pre_filter)).nodes("a")
    assert "by a plugin that is made already" in stage.wait(pod("p")).message


# what goes wrong


class Fragile(Book[str, int]):
    def added(self, pod: Pod, node: Any) -> None:
        self.add("pods")
        if "bad" in pod.labels:
            raise RuntimeError("cannot count this")

    def removed(self, pod: Pod, node: Any) -> None:
        if "worse" in pod.labels:
            raise RuntimeError("cannot forget this")
        self.add("pods", -1)


class Reading(Plugin):
    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.book = handle.book(Fragile)

    def filter(self, cycle: Any, pod: Pod, node: Any) -> Any:
        return unschedulable("enough") if self.book.count("pods") > 5 else None


def test_a_book_that_fails_costs_only_what_it_concerns(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(Reading, AtMostPerRack).nodes(in_rack("a1", "a"))
    assert stage.place(of_app("bad", labels={"bad": "x"})) == "a1"
    assert stage.plugin("Reading").book.count("pods") == 0
    worse = of_app("worse", labels={"worse": "x"})
    stage.place(worse)
    stage.delete(worse.on_node("a1"))
    assert stage.place(pod("next")) == "a1"  # the book was made anew before
    assert stage.plugin("Reading").book.count("pods") == 1
    assert racks(stage.engine) == {("web", "a"): 1}
    failures = [each.getMessage() for each in caplog.records if "book" in each.getMessage()]
    assert failures[:2] == ["book Fragile failed at added", "book Fragile failed at removed"]


def test_a_pod_whose_policy_reads_a_broken_book_waits_and_says_so() -> None:
    stage = Stage(Reading).nodes("a")
    book = stage.plugin("Reading").book
    book._broken = True  # in the middle of a decision
    assert "the book Fragile failed" in stage.wait(pod("p")).message
    stage.engine.cluster.books.unattended = True
    stage.tick(30.0)
    assert stage.all() == {"p": "a"}


def test_what_a_plugin_writes_at_reserve_goes_with_the_place() -> None:
    class Noted(Book[str, str]):
        """Told nothing: only its plugin writes."""

        def begun(self, before: Any) -> None:
            for key, value in before.items():
                self.set(key, value)

    def init(self: Any, args: Any, handle: Handle) -> None:
        Plugin.__init__(self, args, handle)
        self.book = handle.book(Noted)

    def reserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        self.book.set(pod.uid, node_name)

    stage = Stage(gang(3), made("Noting", __init__=init, reserve=reserve)).nodes(node("a", cpu="2"))
    stage.add(*members(3))
    assert names(stage.cycle(), Wait) == ["p0", "p1", "p2"]
    assert not len(stage.plugin("Noting").book)
    assert stage.place(pod("single")) == "a"
    assert dict(stage.plugin("Noting").book.items()) == {"single": "a"}


class Kept(Book[str, int]):
    """Told nothing, and taken over whole."""

    def begun(self, before: Any) -> None:
        for key, value in before.items():
            self.set(key, value)


class Lost(Book[str, int]):
    """Told nothing."""


def writing(book: type[Book[Any, Any]], **points: Any) -> type[Plugin]:
    def init(self: Any, args: Any, handle: Handle) -> None:
        Plugin.__init__(self, args, handle)
        self.book = handle.book(book)

    return made("Writing", __init__=init, **points)


def test_what_would_be_lost_when_the_book_is_made_anew_is_refused_when_it_is_written() -> None:
    stage = Stage(writing(Lost, reserve=lambda self, cycle, pod, node_name: self.book.add("x"))).nodes("a")
    refused = stage.wait(pod("p"))
    assert 'Reserve plugin "Writing": BookError: the book Lost is written by a plugin' in refused.message
    assert "give it recalled(pod, node_name, before)" in refused.message
    assert not len(stage.plugin("Writing").book)


def test_handlers_of_a_session_write_to_no_book(caplog: pytest.LogCaptureFixture) -> None:
    """They hear of undoing, and what is written is undone: a gang tried in vain would leave traces."""

    def opens(self: Any, ssn: Any) -> None:
        ssn.add_event_handler(
            allocate=lambda task: self.book.add(task.node_name, +1),
            deallocate=lambda task: self.book.add(task.node_name, -1),
        )

    stage = Stage(gang(3), writing(Kept, on_session_open=opens)).nodes(node("a", cpu="2"))
    stage.add(*members(3))
    assert names(stage.cycle(), Wait) == ["p0", "p1", "p2"]
    assert dict(stage.plugin("Writing").book.items()) == {}
    assert "event handlers of a session write to no book" in caplog.text
    assert stage.place(pod("single")) == "a"
