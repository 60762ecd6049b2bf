"""Another table of hooks comes into force: pods are queued, wait at permit, are parked or being bound."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from engine.gang_world import gang, members, names
from engine.stage import BUILT_IN, Stage, config, made, node, pod
from extenders.talk import answer, extender
from mooring.cluster.books.book import Book
from mooring.engine.decisions import Bind, Consult, Decision, Wait
from mooring.engine.events import Bound, ObjectAdded, PodAdded
from mooring.engine.recording.entries import Stopped
from mooring.engine.recording.recorded_engine import RecordedEngine
from mooring.errors import ConfigError
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unschedulable, wait
from mooring.model.objects import Object, ObjectMeta, Pod, PodStatus


def swap(stage: Stage, *plugins: type[Plugin], base: Any = BUILT_IN, text: str = "") -> list[Decision]:
    """Puts a table of these plugins in force; everything still agrees then."""
    plan, registry = config((*base, *plugins), text)
    decisions = stage.engine.swap(stage.engine.table(plan.profiles, registry), stage.now)
    stage.engine.check(afresh=True)
    return decisions


class Log(Plugin):
    """Writes down what it is asked and told."""

    class Args(PluginArgs, frozen=True):
        word: str = ""

    def __init__(self, args: Args, handle: Any) -> None:
        super().__init__(args, handle)
        self.said: list[str] = []

    def filter(self, cycle: Any, pod: Pod, node: Any) -> None:
        return None

    def pod_seen(self, pod: Pod) -> None:
        self.said.append(f"seen {pod.name}@{pod.spec.node_name}")

    def object_seen(self, before: Any, found: Any) -> None:
        self.said.append(f"object {found.key}")

    def reserve(self, cycle: Any, pod: Pod, node_name: str) -> None:
        self.said.append(f"reserve {pod.name}")

    def unreserve(self, cycle: Any, pod: Pod, node_name: str) -> None:
        self.said.append(f"unreserve {pod.name}")

    def pod_bound(self, pod: Pod, node_name: str) -> None:
        self.said.append(f"bound {pod.name}")


class Waits(Log):
    """Has every pod wait at permit."""

    def permit(self, cycle: Any, pod: Pod, node_name: str) -> Status:
        return wait(60.0)


def with_word(word: str, name: str = "Log") -> str:
    enabled = f"profiles:\n- plugins: {{multiPoint: {{enabled: [{{name: {name}}}]}}}}\n"
    return f"{enabled}  pluginConfig: [{{name: {name}, args: {{word: {word}}}}}]\n"


def refusing(name: str = "No") -> type[Plugin]:
    return made(name, scope=Scope.ROW, filter=lambda self, cycle, pod, node: unschedulable("no"))


def not_a(scope: Scope = Scope.CLUSTER) -> type[Plugin]:
    def refuse(self: Any, cycle: Any, pod: Pod, node: Any) -> Status | None:
        return unschedulable("a") if node.name == "a" else None

    return made("NotA", scope=scope, filter=refuse)


# plugins


def test_plugins_that_stay_as_they_were_are_the_same_instances() -> None:
    stage = Stage(Log)
    before = stage.plugin("Log"), stage.plugin("NodeResourcesFit")
    swap(stage, Log, refusing())
    assert (stage.plugin("Log"), stage.plugin("NodeResourcesFit")) == before
    swap(stage, Log, text=with_word("other"))
    assert stage.plugin("Log") is not before[0]
    assert stage.plugin("NodeResourcesFit") is before[1]


def test_a_class_that_was_loaded_anew_makes_a_new_instance() -> None:
    stage = Stage(refusing())
    before = stage.plugin("No")
    swap(stage, refusing())
    assert stage.plugin("No") is not before


def test_a_new_plugin_is_told_of_what_is_there() -> None:
    stage = Stage().nodes("n")
    stage.running(pod("runs"), "n")
    found = Object(api_version="v1", kind="Thing", metadata=ObjectMeta(name="thing"), data={})
    stage.engine.handle(ObjectAdded(found), 0.0)
    stage.add(pod("waits", cpu=99), pod("foreign", scheduler_name="other"))
    done = pod("done")
    stage.engine.handle(PodAdded(Pod(done.metadata, done.spec, PodStatus(phase="Succeeded"))), 0.0)
    swap(stage, Log)
    said = stage.plugin("Log").said
    assert said[0] == "object thing"
    assert sorted(said[1:]) == ["seen done@", "seen foreign@", "seen runs@n", "seen waits@"]
    stage.delete(done)
    stage.add(pod("later"))
    assert stage.plugin("Log").said[-1] == "seen later@"
    swap(stage, Log, refusing())
    assert len(stage.plugin("Log").said) == 6  # one that stays is told nothing twice
    swap(stage, Log, text=with_word("new"))
    assert sorted(stage.plugin("Log").said) == [
        "object thing", "seen foreign@", "seen later@", "seen runs@n", "seen waits@"
    ]  # fmt: skip


def test_a_gang_is_known_to_a_plugin_that_comes_later() -> None:
    stage = Stage().nodes(node("a", cpu=0))
    stage.add(*members(3))
    while stage.cycle():
        pass
    swap(stage, gang(3))
    stage.nodes(node("b", cpu=8))
    stage.tick(60.0)
    assert names(stage.cycle(), Bind) == ["p0", "p1", "p2"]


def test_weights_count_from_the_swap_on() -> None:
    def score(self: Any, cycle: Any, pod: Pod, node: Any) -> int:
        return 100 if node.name == ("a" if self.name == "A" else "b") else 0

    one, other = (made(name, scope=Scope.ROW, score=score) for name in ("A", "B"))
    enabled = "[{{name: A, weight: {}}}, {{name: B, weight: {}}}]"
    weighed = f"profiles:\n- plugins: {{{{multiPoint: {{{{enabled: {enabled}}}}}}}}}\n"
    stage = Stage(one, other, text=weighed.format(20, 1)).nodes("a", "b")
    assert stage.place(pod("first", "100m")) == "a"
    swap(stage, one, other, text=weighed.format(1, 100_000))  # totals take more bits than before
    assert stage.place(pod("second", "100m")) == "b"
    swap(stage, one, other, text=weighed.format(20, 1))
    assert stage.place(pod("third", "100m")) == "a"


def test_a_table_that_cannot_be_built_changes_nothing() -> None:
    class Broken(Log):
        def __init__(self, args: Any, handle: Any) -> None:
            raise ValueError("no")

    stage = Stage(Log).nodes("n")
    before = stage.engine.hooks
    plan, registry = config((*BUILT_IN, Broken))
    with pytest.raises(ConfigError, match='initializing plugin "Broken": no'):
        stage.engine.table(plan.profiles, registry)
    assert stage.engine.hooks is before
    assert stage.place(pod("p")) == "n"


def test_a_table_follows_the_one_it_was_built_on() -> None:
    stage = Stage().nodes("n")
    plan, registry = config(BUILT_IN)
    late = stage.engine.table(plan.profiles, registry)
    swap(stage, Log)
    before = stage.engine.hooks
    with pytest.raises(ValueError, match="does not follow the one in force"):
        stage.engine.swap(late, 0.0)
    assert stage.engine.hooks is before


def test_nobody_swaps_in_the_midst_of_a_cycle() -> None:
    said = []

    def pre_filter(self: Any, cycle: Any, pod: Pod) -> None:
        with pytest.raises(RuntimeError) as raised:
            stage.engine.swap(table, 0.0)
        said.append(str(raised.value))

    stage = Stage(meddles := made("Meddles", pre_filter=pre_filter)).nodes("n")
    plan, registry = config((*BUILT_IN, meddles))
    table = stage.engine.table(plan.profiles, registry)
    stage.place(pod("p"))
    assert said == ["the engine is at work: it cannot be asked from within"]


def counting(step: int, **more: Any) -> type[Plugin]:
    """A policy with a book that counts pods by node, loaded anew: each time it is another class."""
    added = lambda self, pod, node: self.add(node.name, step)  # noqa: E731
    removed = lambda self, pod, node: self.add(node.name, -step)  # noqa: E731
    book = type("PerNode", (Book,), {"added": added, "removed": removed})

    def begin(self: Any, args: Any, handle: Any) -> None:
        Plugin.__init__(self, args, handle)
        self.book = handle.book(book)

    def unreserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        self.book.add("unreserved", 1)

    return made("Counts", __init__=begin, reserve=lambda *a: None, unreserve=unreserve, **more)


def test_a_book_that_was_loaded_anew_is_made_from_the_pods_that_are_there() -> None:
    stage = Stage(counting(1)).nodes("n")
    stage.running(pod("there"), "n")
    bind = stage.try_pod(pod("p"))
    assert isinstance(bind, Bind)
    old = stage.plugin("Counts").book
    assert dict(old.items()) == {"n": 2}
    swap(stage, counting(10))
    new = stage.plugin("Counts").book
    assert dict(new.items()) == {"n": 20}
    stage.bind_failed(bind)  # its old plugin writes into the book it knows
    assert (dict(new.items()), old.count("unreserved")) == ({"n": 10}, 1)
    stage.engine.check()


def test_a_story_from_before_a_swap_is_told_with_the_book_of_then() -> None:
    def full(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return unschedulable("full") if self.book.count(node.name) else None

    stage = Stage(counting(1, filter=full)).nodes("n")
    stage.place(there := pod("there"))
    stage.wait(pod("p"))
    stage.delete(there)
    old = stage.plugin("Counts").book
    swap(stage, counting(10))
    for _ in range(2):
        story = stage.engine.story("default/p")
        assert story is not None
        assert [each.reason for each in story.rejections] == ["full"]
        assert dict(old.items()) == {}
    stage.engine.check()


def test_a_table_that_is_not_put_in_force_changes_no_book() -> None:
    stage = Stage(counting(1)).nodes("n")
    book = stage.plugin("Counts").book
    plan, registry = config((*BUILT_IN, counting(10)))
    stage.engine.table(plan.profiles, registry)
    stage.place(pod("p"))
    assert stage.engine.cluster.books.by_name["PerNode"] is book
    assert dict(book.items()) == {"n": 1}


def test_a_plugin_that_stays_shares_no_name_of_a_book_with_one_that_comes() -> None:
    stays, comes = counting(1), counting(10)
    comes.name = "Comes"
    stage = Stage(stays).nodes("n")
    before = stage.engine.hooks
    plan, registry = config((*BUILT_IN, stays, comes))
    with pytest.raises(ConfigError, match='initializing plugin "Comes": .*two books are named PerNode'):
        stage.engine.table(plan.profiles, registry)
    assert stage.engine.hooks is before
    assert stage.place(pod("p")) == "n"


# queued pods


def test_a_rejection_by_a_plugin_that_is_gone_holds_nobody() -> None:
    deaf = made("No", scope=Scope.ROW, filter=lambda *a: unschedulable("no"), events=lambda self: [])
    stage = Stage(deaf).nodes("n")
    stage.wait(p := pod("p"))
    assert stage.where(p) == "unschedulable"
    stage.tick(2.0)
    swap(stage)
    assert stage.where(p) == "active"
    assert stage.all() == {"p": "n"}


def test_gates_are_asked_again() -> None:
    closed = made("Gate", pre_enqueue=lambda self, pod: unschedulable("closed"), events=lambda self: [])
    stage = Stage(closed).nodes("n")
    stage.add(p := pod("p"))
    assert stage.queued(p).gating_plugin == "Gate"
    swap(stage)
    assert (stage.where(p), stage.queued(p).gating_plugin) == ("active", "")
    swap(stage, closed)
    assert (stage.where(p), stage.queued(p).gating_plugin) == ("unschedulable", "Gate")
    swap(stage, made("Other", pre_enqueue=lambda self, pod: unschedulable("too"), events=lambda self: []))
    assert stage.queued(p).gating_plugin == "Other"
    swap(stage)
    assert stage.all() == {"p": "n"}


def test_pods_are_sorted_anew() -> None:
    class Backwards(Plugin):
        """The last to come goes first."""

        def sort_key(self, queued: Any) -> float:
            return -float(queued.pod.name)

    stage = Stage().nodes("n")
    stage.add(*(pod(str(number), "100m") for number in range(4)))
    text = "profiles:\n- plugins: {queueSort: {disabled: [{name: '*'}], enabled: [{name: Backwards}]}}\n"
    swap(stage, Backwards, text=text)
    assert list(stage.all()) == ["3", "2", "1", "0"]


def test_evaluations_and_classes_are_made_anew() -> None:
    stage = Stage().nodes("a", "b")
    for number in range(60):
        stage.place(pod(f"p{number}", "10m"))
    known = [kept for _, kept in stage.engine.placer.kept.by_class()]
    assert known
    refuses_a = not_a(Scope.ROW)
    swap(stage, refuses_a)
    assert {stage.place(pod(f"q{number}", "10m")) for number in range(4)} == {"b"}
    assert all(kept not in known for _, kept in stage.engine.placer.kept.by_class())
    swap(stage)
    assert stage.place(pod("last", "10m")) == "a"


# profiles


TWO = "profiles:\n- schedulerName: default-scheduler\n- schedulerName: second\n"


def test_pods_of_a_profile_that_comes_are_ours() -> None:
    stage = Stage().nodes("n")
    stage.add(pod("p", scheduler_name="second"))
    assert stage.cycle() is None
    swap(stage, text=TWO)
    assert stage.all() == {"p": "n"}


def test_pods_of_a_profile_that_goes_are_not_ours() -> None:
    stage = Stage(Waits, text=f"{TWO}  plugins: {{multiPoint: {{enabled: [{{name: Waits}}]}}}}\n").nodes("n")
    stage.add(held := pod("held", scheduler_name="second"))
    stage.cycle()
    stage.add(p := pod("p", cpu=99, scheduler_name="second"), pod("ours"))
    assert stage.holds(held)
    assert swap(stage) == []
    assert (stage.where(p), stage.where(held), stage.holds(held)) == ("", "", "")
    assert stage.all() == {"ours": "n"}
    swap(stage, text=TWO)
    assert (stage.where(p), stage.where(held)) == ("active", "active")


# pods in flight


def waiting() -> tuple[Stage, Pod, Any]:
    stage = Stage(Waits).nodes("n")
    stage.add(p := pod("p"))
    stage.cycle()
    assert stage.holds(p) == "n"
    return stage, p, stage.plugin("Waits")


def test_a_pod_waits_on_for_a_plugin_that_stays() -> None:
    stage, p, plugin = waiting()
    assert swap(stage, Waits, refusing()) == []
    assert stage.holds(p) == "n"
    stage.engine.waiting[p.uid].allow("Waits")
    assert plugin.said == ["seen p@", "reserve p"]


def test_a_pod_does_not_wait_for_a_plugin_that_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    stage, _, plugin = waiting()
    with caplog.at_level(logging.INFO, "mooring.engine"):
        (bind,) = swap(stage)
    assert isinstance(bind, Bind)
    assert 'pod default/p no longer waits for plugin "Waits", which is no longer there' in caplog.text
    state = stage.engine.binding_state(bind)
    assert state is not None
    assert state.profile.plugins["Waits"] is plugin
    stage.bound(bind)
    assert plugin.said == ["seen p@", "reserve p", "bound p"]
    assert not stage.engine.waiting


def test_a_pod_that_waits_for_a_plugin_that_was_replaced_is_tried_again() -> None:
    stage, p, plugin = waiting()
    (refusal,) = swap(stage, Waits, text=with_word("new", "Waits"))
    assert isinstance(refusal, Wait)
    assert 'plugin "Waits", for which it waited, was replaced' in refusal.message
    assert plugin.said[-1] == "unreserve p"
    assert (stage.holds(p), stage.where(p)) == ("", "backoff")
    assert stage.plugin("Waits").said == ["seen p@"]
    stage.tick(5.0)
    stage.cycle()
    assert stage.holds(p) == "n"


@pytest.mark.parametrize("works", [True, False])
def test_a_pod_that_is_being_bound_ends_with_the_plugins_it_began_with(works: bool) -> None:
    stage = Stage(Log).nodes("n")
    bind = stage.try_pod(p := pod("p"))
    assert isinstance(bind, Bind)
    old = stage.plugin("Log")
    swap(stage, Log, text=with_word("new"))
    new = stage.plugin("Log")
    state = stage.engine.binding_state(bind)
    assert state is not None
    assert state.profile.plugins["Log"] is old
    if works:
        stage.engine.handle(Bound(bind.pod, bind.node), 0.0)
        assert (old.said[-1], new.said) == ("bound p", ["seen p@", "bound p"])
    else:
        stage.bind_failed(bind)
        assert (old.said[-1], new.said) == ("unreserve p", ["seen p@"])
        assert stage.where(p) == "error_backoff"


def test_a_bind_that_fails_after_its_profile_is_gone_leaves_nothing() -> None:
    stage = Stage(text=TWO).nodes("n")
    bind = stage.try_pod(p := pod("p", scheduler_name="second"))
    assert isinstance(bind, Bind)
    swap(stage)
    assert stage.bind_failed(bind) == []
    assert (stage.holds(p), stage.where(p)) == ("", "")
    stage.engine.check()


def test_a_pod_that_is_parked_is_asked_about_anew() -> None:
    stage = Stage(extenders=[extender()]).nodes("a", "b")
    stage.add(p := pod("p"))
    (question,) = stage.cycle() or ()
    assert isinstance(question, Consult)
    swap(stage, not_a())
    assert stage.where(p) == "active"
    assert answer(stage, question, {"NodeNames": ["a"]}) == []  # it is about nodes that others had let pass
    (again,) = stage.cycle() or ()
    (bind,) = answer(stage, again, {"NodeNames": ["b"]})
    assert isinstance(bind, Bind)
    assert bind.node == "b"


# around it


def test_stories_of_plugins_that_are_gone_for_long_are_told_in_short() -> None:
    stage = Stage(refusing()).nodes("n")
    stage.wait(pod("p"))
    swap(stage, made("Mild", filter=lambda *a: None))
    story = stage.engine.story("default/p")
    assert story is not None
    assert [each.plugin for each in story.rejections] == ["No"]
    swap(stage)
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.rejections, story.message) == ((), "0/1 nodes are available: 1 no.")


def test_a_recording_ends_with_a_swap() -> None:
    plan, registry = config(BUILT_IN)
    engine = RecordedEngine(plan.profiles, registry)
    entries: list[Any] = []
    engine.record = entries.append
    engine.swap(engine.table(plan.profiles, registry), 0.0)
    engine.handle(PodAdded(pod("p")), 0.0)
    assert entries == [Stopped("other plugins were put in force")]
