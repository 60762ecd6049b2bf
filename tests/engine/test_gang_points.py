"""A gang needs nothing but the points of a policy: gates before, waiting at permit, letting go together."""

from __future__ import annotations

from typing import Any

from engine.stage import Stage, made, pod
from mooring.engine.decisions import Bind
from mooring.framework.api.events import POD, Action, Interest
from mooring.framework.api.status import unresolvable, wait
from mooring.model.objects import Pod

LEAST = 3
TOO_FEW = "waiting for more pods of the gang"


def gang() -> type:
    """Pods of a gang go together, three at least."""

    def pre_enqueue(self: Any, pod: Pod) -> Any:
        self.known = getattr(self, "known", {}) | {pod.uid: pod}
        if len(self.known) < LEAST:
            return unresolvable(TOO_FEW)
        self.handle.activate([other for other in self.known.values() if other.uid != pod.uid])
        return None

    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        others = list(self.handle.waiting_pods.values())
        if len(others) + 1 < LEAST:
            return wait(60.0)
        for other in others:
            other.allow("Gang")
        return None

    def events(self: Any) -> Any:
        return (Interest(POD, Action.ADD),)

    return made("Gang", pre_enqueue=pre_enqueue, permit=permit, events=events)


def test_k24_too_few_pods_are_gated() -> None:
    stage = Stage(gang()).nodes("a")
    first, second = pod("p1"), pod("p2")
    stage.add(first, second)
    assert stage.cycle() is None
    assert [stage.queued(each).gating_message for each in (first, second)] == [TOO_FEW, TOO_FEW]


def test_k25_the_last_one_lets_the_others_go() -> None:
    stage = Stage(gang()).nodes("a")
    pods = [pod("p1"), pod("p2"), pod("p3")]
    stage.add(*pods)
    stage.cycle()
    stage.cycle()
    assert [stage.holds(each) != "" for each in pods].count(True) == 2
    decisions = stage.cycle()
    assert decisions is not None
    assert all(isinstance(each, Bind) for each in decisions)
    assert {each.pod.name for each in decisions if isinstance(each, Bind)} == {"p1", "p2", "p3"}
