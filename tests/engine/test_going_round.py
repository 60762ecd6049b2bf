"""Pods that take places, give them back and wake each other do not go round for ever: back-off counts."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, pod
from mooring.engine.decisions import Bind, Wait
from mooring.framework.api.status import unschedulable, wait
from mooring.model.objects import Pod

MOST = 50  # attempts of a few pods within a minute: each backs off 1, 2, 4, 8, then 10 seconds


def attempts(stage: Stage, seconds: int = 60) -> int:
    """How often pods are tried within so many seconds; no more often than makes sense."""
    count = 0
    for second in range(seconds):
        stage.tick(float(second))
        while (decisions := stage.engine.schedule(stage.now)) is not None:
            count += sum(isinstance(decision, Wait) for decision in decisions)
            assert count <= MOST, "they go round"
    stage.engine.check()
    return count


@pytest.mark.parametrize("seconds", [0, -1, -5.5, float("-inf")])
@pytest.mark.parametrize("pods", [1, 2, 5])
def test_no_time_to_wait_at_permit(seconds: float, pods: int) -> None:
    stage = Stage(made("Bad", permit=lambda self, cycle, pod, node_name: wait(seconds))).nodes("n")
    names = [pod(f"p{i}", "100m") for i in range(pods)]
    stage.add(*names)
    assert attempts(stage) >= pods
    for each in names:
        assert "rejected due to timeout after waiting 0s at plugin Bad" in str(stage.engine.story(each.key))


@pytest.mark.parametrize("seconds", [float("nan"), "5", None, True, 1j, b"", [5]])
def test_a_time_that_is_none(seconds: Any) -> None:
    stage = Stage(made("Bad", permit=lambda self, cycle, pod, node_name: wait(seconds))).nodes("n")
    refusal = stage.wait(pod("p"))
    assert (refusal.reason, refusal.plugins) == ("SchedulerError", ("Bad",))
    assert "which is no number of seconds" in refusal.message


@pytest.mark.parametrize("seconds", [float("inf"), 10**30, 900.5])
def test_no_wait_is_longer_than_the_longest(seconds: float) -> None:
    stage = Stage(made("Holds", permit=lambda self, cycle, pod, node_name: wait(seconds))).nodes("n")
    stage.add(pod("p"))
    stage.cycle()
    assert [wait.deadline for wait in stage.engine.waiting.values()] == [900]


@pytest.mark.parametrize("how", ["reject", "bind fails", "patch fails"])
def test_a_place_given_back_wakes_nobody_before_his_time(how: str) -> None:
    """Two pods that both fit, one after the other, and both lose their place again."""
    members: dict[str, Any] = {"permit": lambda self, cycle, pod, node_name: wait(0.0)}
    if how == "bind fails":
        members = {"filter": lambda *a: None}
    elif how == "patch fails":
        members = {"pre_bind_patch": lambda self, cycle, pod, node_name: 7}
    stage = Stage(made("Bad", **members)).nodes("n")
    stage.add(pod("p", "3"), pod("q", "3"))
    count = 0
    for second in range(60):
        stage.tick(float(second))
        while (decisions := stage.engine.schedule(stage.now)) is not None:
            for decision in decisions:
                count += 1
                assert count <= MOST, "they go round"
                if isinstance(decision, Bind):
                    stage.bind_failed(decision)
    stage.engine.check()


def test_a_real_place_that_is_freed_is_tried_for_at_once() -> None:
    """Others who wait have their turn early when a pod goes: only failed attempts make no hurry."""
    stage = Stage().nodes("n")
    there = stage.running(pod("there", "4"), "n")
    stage.wait(p := pod("p", "3"))
    stage.delete(there)
    assert stage.where(p) == "backoff"
    assert stage.all() == {"p": "n"}


def test_aged_groups_do_not_wake_each_other() -> None:
    old = made(
        "Bad",
        order_of=lambda self, pod: (0.0, pod.name),
        permit=lambda self, cycle, pod, node_name: wait(0),
    )
    stage = Stage(old).nodes("n")
    stage.now = 1000.0
    stage.add(pod("p", "3"), pod("q", "3"))
    for second in range(1000, 1060):
        stage.tick(float(second))
        count = 0
        while stage.engine.schedule(stage.now) is not None:
            count += 1
            assert count < 5, "they go round"


def test_pods_that_activate_each_other_rest() -> None:
    pods = [pod("p", "3"), pod("q", "3")]

    def unreserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        self.handle.activate([other for other in pods if other.uid != pod.uid])

    plugin = made("Bad", reserve=lambda *a: unschedulable("no"), unreserve=unreserve, events=lambda self: ())
    stage = Stage(plugin).nodes("n")
    stage.add(*pods)
    assert attempts(stage) > 2


def test_letting_all_go_while_going_over_them() -> None:
    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        if len(self.handle.waiting_pods) < 5:
            return wait(60)
        for waits in self.handle.waiting_pods.values():
            waits.allow(self.name)
            waits.allow(self.name)
            waits.reject(self.name, "too late")
        for uid in self.handle.waiting_pods:
            raise AssertionError(uid)
        return None

    stage = Stage(made("Gang", permit=permit)).nodes("n")
    stage.add(*(pod(f"p{i}", "100m") for i in range(6)))
    assert len(stage.all()) == 6


@pytest.mark.parametrize("name", [None, 7, b"Bad", ["Bad"]])
def test_only_names_let_go(name: Any) -> None:
    said: list[str] = []

    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        for waits in self.handle.waiting_pods.values():
            for say in (lambda: waits.allow(name), lambda: waits.reject("Bad", name)):  # noqa: B023
                try:
                    say()
                except TypeError as error:
                    said.append(str(error))
        return wait(60)

    stage = Stage(made("Bad", permit=permit)).nodes("n")
    stage.add(pod("p"), pod("q"))
    stage.cycle()
    stage.cycle()
    assert len(said) == 2
    assert len(stage.engine.waiting) == 2


def test_many_that_reject_each_other_in_turn() -> None:
    """Each that gives its place back rejects the next: no stack is deep enough for all of them at once."""

    def unreserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        for waits in self.handle.waiting_pods.values():
            waits.reject(self.name, "with the others")
            return

    plugin = made("Bad", reserve=lambda *a: None, unreserve=unreserve, permit=lambda *a: wait(60))
    stage = Stage(plugin).nodes(*(f"n{i}" for i in range(6)))
    pods = [pod(f"p{i}", "10m") for i in range(600)]
    stage.add(*pods)
    while stage.engine.schedule(0.0) is not None:
        pass
    assert len(stage.engine.waiting) == 600
    next(iter(stage.engine.waiting.values())).reject("Bad", "first")
    assert not stage.engine.waiting
    assert not any(map(stage.holds, pods))
    stage.engine.check()
