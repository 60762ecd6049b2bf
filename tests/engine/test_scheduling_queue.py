"""The queue: its parts, what moves pods between them, and when."""

from __future__ import annotations

from typing import Any

from engine.stage import Stage, bad, changed, erring, made, node, pod
from mooring.framework.api.events import NODE, Action, Hint, Interest
from mooring.framework.api.plugin import concerns_only
from mooring.framework.api.status import Status, pending, unresolvable
from mooring.model.objects import Pod, PodSchedulingGate, Taint

GATES = (PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))
BIG = "64"


# order


def test_higher_priority_first_then_the_longer_wait() -> None:
    stage = Stage().nodes("n")
    for moment, (name, priority) in enumerate([("c", 0), ("a", 5), ("b", 5), ("d", None)]):
        stage.now = moment
        stage.add(pod(name, "100m", priority=priority))
    assert list(stage.all()) == ["a", "b", "c", "d"]


def test_a_queue_sort_plugin_with_less_alone() -> None:
    less = lambda self, first, second: first.pod.name > second.pod.name  # noqa: E731
    text = """
profiles:
- plugins:
    queueSort: {disabled: [{name: PrioritySort}], enabled: [{name: Backwards}]}
"""
    stage = Stage(made("Backwards", less=less), text=text).nodes("n")
    stage.add(*(pod(name, "100m") for name in "bca"))
    assert list(stage.all()) == ["c", "b", "a"]


# gates


def test_a_gated_pod_is_never_tried() -> None:
    stage = Stage().nodes("n")
    stage.add(gated := pod("p", scheduling_gates=GATES))
    assert stage.cycle() is None
    queued = stage.queued(gated)
    assert (queued.gating_plugin, queued.gating_message) == (
        "SchedulingGates",
        "waiting for scheduling gates: [a b]",
    )
    assert stage.engine.queue.sizes() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
    stage.nodes("another")
    stage.tick(1000.0)
    assert stage.cycle() is None
    assert queued.attempts == 0


def test_a_gated_pod_enters_when_its_gates_are_gone() -> None:
    stage = Stage().nodes("n")
    stage.add(gated := pod("p", scheduling_gates=GATES))
    stage.change(changed(gated, scheduling_gates=GATES[1:]))
    assert stage.cycle() is None
    stage.change(changed(gated, scheduling_gates=()))
    assert stage.where(gated) == "active"
    assert stage.all() == {"p": "n"}


def test_activating_does_not_open_gates() -> None:
    stage = Stage().nodes("n")
    stage.add(gated := pod("p", scheduling_gates=GATES))
    stage.engine.activate([gated])
    assert stage.where(gated) == "unschedulable"
    assert stage.cycle() is None


def test_an_event_leaves_a_pod_behind_a_gate_that_still_holds_it() -> None:
    """It keeps its turn among those held, and says what the gate says now."""
    said = {"First": "one", "Second": "two"}
    events = lambda self: (Interest(NODE, Action.ADD),)  # noqa: E731
    holds = lambda self, pod: unresolvable(said[self.name]) if said[self.name] else None  # noqa: E731
    stage = Stage(*(made(name, pre_enqueue=holds, events=events) for name in said)).nodes("n")
    stage.add(held := pod("p"), pod("q"))
    told = []
    for first, second in (("one more", "two"), ("", "two"), ("", "")):
        said.update(First=first, Second=second)
        stage.nodes(f"another-{len(told)}")
        queued = stage.queued(held)
        told.append((stage.where(held), queued.gating_plugin, queued.gating_message))
        stage.engine.queue.check()
    assert told == [
        ("unschedulable", "First", "one more"),
        ("unschedulable", "Second", "two"),
        ("active", "", ""),
    ]
    assert list(stage.all()) == ["p", "q"]


def test_a_gate_can_close_again_behind_a_pod_that_failed() -> None:
    closed = {"now": False}
    gate = made("Gate", pre_enqueue=lambda self, pod: unresolvable("closed") if closed["now"] else None)
    stage = Stage(gate).nodes("n")
    stage.wait(big := pod("p", BIG))
    closed["now"] = True
    stage.nodes(node("huge", BIG))
    assert stage.where(big) == "unschedulable"
    assert stage.queued(big).gating_plugin == "Gate"
    closed["now"] = False
    stage.nodes(node("huge2", BIG))
    assert stage.where(big) == "backoff"
    assert stage.queued(big).gating_plugin == ""


def test_a_gate_that_concerns_some_pods_is_asked_about_those_only() -> None:
    asked, held = [], pod("held")

    @concerns_only("table")
    def pre_enqueue(self: Any, pod: Pod) -> Status:
        asked.append(pod.name)
        return unresolvable("closed")

    @concerns_only("table")
    def order_of(self: Any, pod: Pod) -> tuple[float, str]:
        return 7.0, self.table[pod.uid]

    gate = made("Gate", table={held.uid: "group"}, pre_enqueue=pre_enqueue, order_of=order_of)
    stage = Stage(gate).nodes("n")
    assert stage.place(pod("free")) == "n"
    stage.add(held)
    assert asked == ["held"]
    assert stage.where(held) == "unschedulable"
    assert stage.queued(held).group == (7.0, "group")


# waiting for events


def test_an_event_that_helps_lets_a_pod_back_off_then_in() -> None:
    stage = Stage().nodes("n")
    stage.now = 10.5
    stage.wait(big := pod("p", BIG))
    assert stage.where(big) == "unschedulable"
    stage.nodes("small")
    assert stage.where(big) == "unschedulable"
    stage.nodes(node("huge", BIG))
    assert stage.where(big) == "backoff"
    assert stage.queued(big).backoff_expiration == 11
    stage.tick(11.9)
    assert stage.where(big) == "backoff"
    assert stage.engine.wake_at() == 12
    stage.tick(12.0)
    assert stage.where(big) == "active"


def test_an_event_after_the_back_off_lets_a_pod_in_at_once() -> None:
    stage = Stage().nodes("n")
    stage.wait(big := pod("p", BIG))
    stage.now = 2.0
    stage.nodes(node("huge", BIG))
    assert stage.where(big) == "active"


def test_a_pending_plugin_lets_a_pod_in_without_back_off() -> None:
    interest = Interest(NODE, Action.ADD, lambda pod, old, new: Hint.QUEUE)
    waits = made(
        "Waits", filter=lambda self, cycle, pod, node: pending("soon"), events=lambda self: (interest,)
    )
    stage = Stage(waits).nodes("n")
    wait = stage.wait(p := pod("p"))
    assert wait.message == "0/1 nodes are available: 1 soon."
    assert stage.queued(p).pending_plugins == {"Waits"}
    stage.nodes("n2")
    assert stage.where(p) == "active"


def test_events_in_flight_are_replayed_when_the_pod_fails() -> None:
    stage: Stage

    def post_filter(self: Any, cycle: Any, pod: Pod, statuses: Any) -> None:
        stage.nodes(node("huge", BIG))  # just after the pod was found not to fit

    stage = Stage(made("Late", post_filter=post_filter)).nodes("n")
    stage.add(big := pod("p", BIG))
    stage.cycle()
    assert stage.where(big) == "backoff"


def test_events_that_do_not_help_are_not_replayed() -> None:
    stage: Stage
    late = made("Late", post_filter=lambda self, cycle, pod, statuses: stage.nodes("small") and None)
    stage = Stage(late).nodes("n")
    stage.add(big := pod("p", BIG))
    stage.cycle()
    assert stage.where(big) == "unschedulable"


def test_an_event_before_the_pod_was_taken_is_not_replayed() -> None:
    stage = Stage(made("Holds", permit=lambda self, cycle, pod, node_name: None)).nodes("n")
    stage.add(big := pod("p", BIG))
    stage.nodes(node("tainted", BIG, taints=(Taint(key="t", effect="NoSchedule"),)))
    stage.cycle()
    assert stage.where(big) == "unschedulable"


def test_back_off_doubles_with_each_failure() -> None:
    stage = Stage().nodes("n")
    stage.add(big := pod("p", BIG))
    for failures, seconds in enumerate((1, 2, 4, 8, 10, 10), start=1):
        stage.now = 1000.0 * failures
        stage.engine.activate([big])
        stage.cycle()
        assert stage.queued(big).unschedulable_count == failures
        stage.nodes(node(f"huge{failures}", BIG, taints=(Taint(key="t", effect="NoSchedule"),)))
        assert stage.queued(big).attempts == failures
        if stage.where(big) == "backoff":
            assert stage.queued(big).backoff_expiration == stage.now + seconds


# errors


def test_errors_have_their_own_back_off() -> None:
    stage = Stage(erring()).nodes("n")
    wait = stage.wait(p := bad("p"))
    assert wait.reason == "SchedulerError"
    assert wait.message == 'running PreFilter plugin "Erring": RuntimeError: no'
    assert stage.where(p) == "error_backoff"
    assert (stage.queued(p).consecutive_errors, stage.queued(p).unschedulable_count) == (1, 0)
    assert stage.engine.wake_at() == 2
    stage.tick(2.0)
    assert stage.where(p) == "active"
    stage.cycle()
    assert stage.queued(p).backoff_expiration == 4


def test_a_rejection_ends_the_row_of_errors() -> None:
    stage = Stage(erring()).nodes("n")
    stage.wait(p := bad("p"))
    stage.change(changed(p, labels={}, containers=pod("x", BIG).spec.containers))
    stage.tick(2.0)
    stage.cycle()
    assert (stage.queued(p).consecutive_errors, stage.queued(p).unschedulable_count) == (0, 1)


def test_a_pod_that_backs_off_has_its_turn_early_when_none_is_ready() -> None:
    stage = Stage().nodes("n")
    stage.wait(big := pod("big", "6"))
    stage.nodes(node("huge", BIG))
    assert stage.where(big) == "backoff"
    stage.add(pod("small", priority=-5))
    assert list(stage.all()) == ["small", "big"]


def test_a_pod_that_erred_has_no_early_turn() -> None:
    stage = Stage(erring()).nodes("n")
    stage.wait(p := bad("p"))
    assert stage.where(p) == "error_backoff"
    assert stage.cycle() is None


def test_no_pod_is_lost_between_heaps() -> None:
    """Pods move from one heap to another and none takes the place of another."""
    stage = Stage(erring()).nodes("n")
    pods = [bad(f"p{i}") for i in range(8)]
    stage.add(*pods)
    for _ in pods:
        stage.cycle()
    assert stage.engine.queue.sizes()["backoff"] == 8
    stage.tick(2.0)
    assert stage.engine.queue.sizes()["active"] == 8
    for _ in range(4):
        stage.cycle()
    assert stage.engine.queue.sizes() == {"active": 4, "backoff": 4, "unschedulable": 0, "gated": 0}
    stage.add(*(bad(f"q{i}") for i in range(4)))
    for _ in range(8):
        assert stage.cycle() is not None
    assert stage.engine.queue.sizes()["backoff"] == 12
    stage.tick(100.0)
    assert stage.engine.queue.sizes()["active"] == 12


# flushing, activating


def test_a_stuck_pod_is_tried_again_after_five_minutes() -> None:
    stage = Stage().nodes("n")
    stage.now = 1.0
    stage.wait(big := pod("p", BIG))
    assert stage.engine.wake_at() == 330
    stage.tick(300.0)
    assert stage.where(big) == "unschedulable"
    stage.tick(330.0)
    assert stage.where(big) == "active"


def test_stuck_pods_are_looked_for_every_half_minute() -> None:
    stage = Stage().nodes("n")
    stage.now = 20.0
    stage.wait(big := pod("p", BIG))
    stage.tick(315.0)
    stage.tick(329.0)
    assert stage.where(big) == "unschedulable"
    stage.tick(330.0)
    assert stage.where(big) == "active"


def test_activating_takes_a_pod_out_of_every_part() -> None:
    stage = Stage(erring()).nodes("n")
    stage.wait(stuck := pod("stuck", BIG))
    stage.wait(erred := bad("erred"))
    stage.wait(backing := pod("backing", "8"))
    stage.nodes(node("eight", "8"))
    assert [stage.where(p) for p in (stuck, erred, backing)] == ["unschedulable", "error_backoff", "backoff"]
    stage.engine.activate([stuck, erred, backing, pod("unheard of")])
    assert [stage.where(p) for p in (stuck, erred, backing)] == ["active"] * 3
    stage.engine.queue.check()


def test_a_pod_activated_in_flight_does_not_wait_for_events() -> None:
    stage: Stage
    wish = made("Wish", post_filter=lambda self, cycle, pod, statuses: self.handle.activate([pod]))
    stage = Stage(wish).nodes("n")
    stage.add(big := pod("p", BIG), other := pod("q", BIG))
    stage.cycle()
    assert stage.where(big) == "backoff"
    assert stage.where(other) == "active"


def test_pods_a_cycle_activates_are_tried_once_it_has_its_place() -> None:
    waiting = pod("waiting", BIG)
    wish = made("Wish", reserve=lambda self, cycle, pod, node_name: cycle.activate(waiting))
    stage = Stage(wish).nodes("n")
    stage.wait(waiting)
    stage.place(pod("p"))
    assert stage.where(waiting) == "active"
