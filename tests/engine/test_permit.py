"""From reserve to the bound pod: waiting at permit, giving places back, reports of binding."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from mooring.config.durations import format_duration
from mooring.engine.decisions import Bind, Nominate, Wait
from mooring.framework.api.status import error, unschedulable, wait
from mooring.model.objects import Pod


def waiting(name: str = "Holds", seconds: Any = 60.0) -> type:
    """Holds every pod labelled `hold`."""
    return made(
        name,
        permit=lambda self, cycle, pod, node_name: wait(seconds) if pod.labels.get("hold") else None,
        events=lambda self: (),
    )


def held(name: str = "p", cpu: str = "1") -> Pod:
    return pod(name, cpu, labels={"hold": "1"})


def hold(stage: Stage, subject: Pod) -> Any:
    """The pod waits at permit."""
    stage.add(subject)
    assert stage.cycle() == [Nominate(subject, stage.holds(subject))]
    return stage.engine.waiting[subject.uid]


# permit


def test_a_waiting_pod_holds_its_place() -> None:
    stage = Stage(waiting()).nodes("n")
    waits = hold(stage, p := held(cpu="3"))
    assert (waits.pod, waits.node_name, waits.pending_plugins) == (p, "n", ("Holds",))
    assert stage.holds(p) == "n"
    assert waits.deadline == 60
    assert stage.wait(pod("q", "3")).message == "0/1 nodes are available: 1 Insufficient cpu."


def test_allowed_by_every_plugin_it_is_bound() -> None:
    stage = Stage(waiting("One"), waiting("Two")).nodes("n")
    waits = hold(stage, p := held())
    waits.allow("Two")
    waits.allow("Nobody")
    assert stage.tick() == []
    waits.allow("One")
    (bind,) = stage.tick()
    assert isinstance(bind, Bind)
    assert (bind.pod, bind.node) == (p, "n")
    waits.reject("One", "too late")
    assert stage.tick() == []
    assert stage.where(p) == ""


def test_rejected_it_gives_its_place_back() -> None:
    stage = Stage(waiting()).nodes("n")
    waits = hold(stage, p := held())
    waits.reject("Holds", "changed my mind")
    waits.allow("Holds")
    (refusal,) = stage.tick()
    assert isinstance(refusal, Wait)
    assert refusal.message == "0/1 nodes are available: 1 changed my mind."
    assert (refusal.reason, refusal.plugins, refusal.nominated) == ("Unschedulable", ("Holds",), "")
    assert (stage.holds(p), stage.where(p)) == ("", "unschedulable")
    stage.engine.check()


@pytest.mark.parametrize(
    ("seconds", "until", "text"),
    [(60, 60, "1m0s"), (0.5, 0.5, "500ms"), (90.5, 90.5, "1m30.5s"), (7200, 900, "15m0s")],
    ids=["minute", "half a second", "odd", "never longer than a quarter of an hour"],
)
def test_in_time_it_is_rejected(seconds: float, until: float, text: str) -> None:
    stage = Stage(waiting(seconds=seconds)).nodes("n")
    assert hold(stage, held()).deadline == until
    assert [each.reason for each in stage.tick(until - 0.1)] == ["WaitingAtPermit"]  # type: ignore[union-attr]
    (refusal,) = stage.tick(until)
    assert isinstance(refusal, Wait)
    message = f"rejected due to timeout after waiting {text} at plugin Holds"
    assert refusal.message == f"0/1 nodes are available: 1 {message}."


def test_the_shortest_wait_counts() -> None:
    stage = Stage(waiting("Long", 60), waiting("Short", 5)).nodes("n")
    assert hold(stage, held()).deadline == 5
    (refusal,) = stage.tick(5.0)
    assert isinstance(refusal, Wait)
    assert refusal.plugins == ("Short",)


def test_no_time_to_wait_rejects_at_once() -> None:
    stage = Stage(waiting(seconds=0)).nodes("n")
    refusal = stage.wait(held())
    assert refusal.message == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 0s at plugin Holds."
    )


@pytest.mark.parametrize("seconds", ["5m", None, float("nan")], ids=["text", "none", "nan"])
def test_a_time_that_is_none_is_an_error(seconds: Any) -> None:
    stage = Stage(waiting(seconds=seconds)).nodes("n")
    refusal = stage.wait(p := held())
    assert refusal.reason == "SchedulerError"
    assert refusal.message.startswith('running Permit plugin "Holds": ')
    assert stage.holds(p) == ""


def test_a_later_plugin_may_still_reject() -> None:
    no = made("No", permit=lambda self, cycle, pod, node_name: unschedulable("no"))
    stage = Stage(waiting(), no).nodes("n")
    assert stage.wait(p := held()).plugins == ("No",)
    assert not stage.engine.waiting
    assert stage.holds(p) == ""


def test_a_plugin_lets_go_of_all_through_its_handle() -> None:
    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        if len(self.handle.waiting_pods) < 2:
            return wait(60)
        for waits in list(self.handle.waiting_pods.values()):
            waits.allow(self.name)
        return None

    stage = Stage(made("Gang", permit=permit)).nodes("n")
    stage.add(*(pod(f"p{i}", "100m") for i in range(3)))
    stage.cycle()
    stage.cycle()
    assert len(stage.engine.waiting) == 2
    decisions = stage.cycle()
    assert decisions is not None
    assert sorted(d.pod.name for d in decisions if isinstance(d, Bind)) == ["p0", "p1", "p2"]


def test_a_rejected_pod_is_not_woken_by_its_own_place() -> None:
    """The plugin hears of every event; the room the pod gave back is no news to the pod itself."""
    eager = made("Eager", permit=lambda self, cycle, pod, node_name: wait(60) if pod.labels else None)
    stage = Stage(eager).nodes("n")
    waits = hold(stage, p := held(cpu="3"))
    stage.wait(needy := pod("needy", "3"))
    stage.now = 5.0
    waits.reject("Eager", "no")
    stage.tick()
    assert stage.where(p) == "unschedulable"
    assert stage.where(needy) == "active"


def test_what_came_while_it_waited_is_replayed() -> None:
    eager = made("Eager", permit=lambda self, cycle, pod, node_name: wait(60))
    stage = Stage(eager).nodes("n")
    waits = hold(stage, p := held())
    stage.nodes("m")
    waits.reject("Eager", "no")
    stage.tick()
    assert stage.where(p) == "backoff"


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (1.5, "1.5s"), (3661, "1h1m1s"), (3600, "1h0m0s")])
def test_durations_as_go_writes_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


# while it waits or is bound


def test_deleted_while_it_waits() -> None:
    stage = Stage(waiting()).nodes("n")
    hold(stage, p := held(cpu="3"))
    stage.wait(needy := pod("needy", "3"))
    stage.now = 5.0
    assert stage.delete(p) == []
    assert not stage.engine.waiting
    assert (stage.holds(p), stage.where(p), stage.where(needy)) == ("", "", "active")
    stage.engine.check()


def test_deleted_while_it_is_bound() -> None:
    stage = Stage().nodes("n")
    bind = stage.try_pod(p := pod("p"))
    assert isinstance(bind, Bind)
    stage.delete(p)
    assert stage.holds(p) == ""
    assert stage.bind_failed(bind) == []
    assert stage.where(p) == ""
    stage.engine.check()


def test_bound_by_somebody_else_while_it_waits() -> None:
    stage = Stage(waiting()).nodes("n", "m")
    waits = hold(stage, p := held())
    other = "m" if waits.node_name == "n" else "n"
    stage.change(p.on_node(other))
    waits.allow("Holds")
    assert stage.tick(100.0) == []
    assert stage.holds(p) == other
    stage.engine.check()


def test_its_node_goes_while_it_waits() -> None:
    stage = Stage(waiting()).nodes("n")
    waits = hold(stage, held())
    stage.delete(node("n"))
    waits.allow("Holds")
    (bind,) = stage.tick()
    assert isinstance(bind, Bind)
    (refusal,) = stage.bind_failed(bind, 'nodes "n" not found')
    assert isinstance(refusal, Wait)
    stage.engine.check()


# reserve


def reserving(log: list[str], name: str, answer: Any = None) -> type:
    def reserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        log.append(f"{name} reserves {node_name}")
        return answer

    def unreserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        log.append(f"{name} unreserves {node_name}")

    return made(name, reserve=reserve, unreserve=unreserve)


@pytest.mark.parametrize("answer", [unschedulable("no"), error("broken")], ids=["rejects", "fails"])
def test_every_plugin_unreserves_last_first(answer: Any) -> None:
    log: list[str] = []
    plugins = [reserving(log, "A"), reserving(log, "B", answer), reserving(log, "C")]
    stage = Stage(*plugins).nodes("n")
    stage.wait(p := pod("p"))
    assert log == ["A reserves n", "B reserves n", "C unreserves n", "B unreserves n", "A unreserves n"]
    assert stage.holds(p) == ""


def test_the_others_unreserve_when_one_fails_at_it() -> None:
    log: list[str] = []

    def broken(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        raise RuntimeError("no")

    bad = made("Bad", reserve=lambda self, cycle, pod, node_name: None, unreserve=broken)
    stage = Stage(reserving(log, "A"), bad, reserving(log, "C", unschedulable("no"))).nodes("n")
    stage.wait(p := pod("p"))
    assert log[-2:] == ["C unreserves n", "A unreserves n"]
    assert stage.holds(p) == ""


def test_a_pod_that_waited_in_vain_unreserves() -> None:
    log: list[str] = []
    stage = Stage(reserving(log, "A"), waiting()).nodes("n")
    hold(stage, held())
    stage.tick(60.0)
    assert log == ["A reserves n", "A unreserves n"]


@pytest.mark.parametrize("where", ["the node it waits for", "another"])
def test_a_pod_bound_by_somebody_else_while_it_waits_unreserves(where: str) -> None:
    log: list[str] = []
    stage = Stage(reserving(log, "A"), reserving(log, "B"), waiting()).nodes("n")
    waits = hold(stage, p := held(cpu="3"))
    stage.nodes("m")
    stage.wait(needy := pod("needy", "4", node_selector={"no": "such"}))
    log.clear()
    bound = p.on_node("n" if where == "the node it waits for" else "m")
    stage.change(bound)
    stage.change(bound)
    waits.reject("Holds", "too late")
    assert log == ["B unreserves n", "A unreserves n"]
    assert stage.holds(p) == bound.spec.node_name
    assert stage.where(needy) == "unschedulable"
    stage.engine.check()


def test_a_pod_bound_elsewhere_while_we_bind_it_unreserves() -> None:
    log: list[str] = []
    stage = Stage(reserving(log, "A")).nodes("n")
    bind = stage.try_pod(p := pod("p", "3"))
    assert isinstance(bind, Bind)
    stage.nodes("m")
    stage.running(pod("full", "3"), "m")
    stage.wait(needy := pod("needy", "3"))
    stage.now = 5.0
    stage.change(p.on_node("m"))
    assert log[:2] == ["A reserves n", "A unreserves n"]
    assert stage.where(needy) == "active"  # the node it was to go to is free
    assert stage.bind_failed(bind) == []
    assert log[2:] == []
    stage.engine.check()


def test_a_pod_we_bound_unreserves_nothing() -> None:
    log: list[str] = []
    stage = Stage(reserving(log, "A")).nodes("n")
    stage.place(pod("p"))
    assert log == ["A reserves n"]


# bound, or not


def test_a_pod_is_assumed_bound_and_confirmed() -> None:
    stage = Stage().nodes("n")
    bind = stage.try_pod(p := pod("p", "3"))
    assert isinstance(bind, Bind)
    assert (stage.holds(p), stage.where(p)) == ("n", "")
    stage.wait(pod("q", "3"))
    stage.bound(bind)
    assert stage.holds(p) == "n"
    assert not stage.engine.binding
    stage.engine.check()


def test_a_failed_bind_gives_the_place_back_and_wakes_others() -> None:
    log: list[str] = []
    stage = Stage(reserving(log, "A")).nodes("n")
    bind = stage.try_pod(p := pod("p", "3"))
    assert isinstance(bind, Bind)
    stage.wait(needy := pod("needy", "3"))
    stage.now = 5.0
    (refusal,) = stage.bind_failed(bind, "etcd is away")
    assert isinstance(refusal, Wait)
    assert (refusal.reason, refusal.message) == ("SchedulerError", "etcd is away")
    assert (refusal.plugins, refusal.nominated) == ((), "")
    assert log[:2] == ["A reserves n", "A unreserves n"]
    assert (stage.holds(p), stage.where(p)) == ("", "error_backoff")
    assert stage.where(needy) == "active"
    stage.engine.check()


def test_a_failed_bind_is_tried_again_after_its_back_off() -> None:
    stage = Stage().nodes("n")
    bind = stage.try_pod(p := pod("p"))
    assert isinstance(bind, Bind)
    stage.bind_failed(bind)
    assert stage.cycle() is None
    stage.tick(2.0)
    assert stage.all() == {"p": "n"}
    assert stage.holds(p) == "n"


def test_a_failed_bind_goes_on_with_the_pod_as_it_is_now() -> None:
    stage = Stage().nodes("n")
    bind = stage.try_pod(p := pod("p"))
    assert isinstance(bind, Bind)
    stage.change(fresh := pod("p", labels={"new": "1"}))
    (refusal,) = stage.bind_failed(bind)
    assert refusal.pod.labels == fresh.labels
    assert stage.queued(p).pod.labels == fresh.labels


def test_a_bind_that_failed_only_to_us_keeps_the_place() -> None:
    """The write went through and its answer was lost: the API server's word counts."""
    stage = Stage().nodes("n")
    bind = stage.try_pod(p := pod("p", "3"))
    assert isinstance(bind, Bind)
    stage.change(p.on_node("n"))
    assert stage.bind_failed(bind, "timed out") == []
    assert stage.holds(p) == "n"
    stage.wait(pod("q", "3"))


def test_a_report_about_a_pod_nobody_knows_changes_nothing() -> None:
    stage = Stage().nodes("n")
    bind = stage.try_pod(pod("p"))
    assert isinstance(bind, Bind)
    stage.bound(bind)
    assert stage.bind_failed(bind) == []
    assert stage.holds(bind.pod) == "n"
