"""Plugins write what follows from what they have seen, when there is time for it and never for nothing."""

from __future__ import annotations

from typing import Any

from engine.stage import Stage, made, pod
from mooring.engine.decisions import Bind, Look
from mooring.engine.engine import FOLLOW_UP_S
from mooring.engine.events import PodDeleted
from mooring.framework.api.writes import Write
from mooring.model.objects import Pod


def counting() -> type:
    """Writes how many pods it has seen, when that has changed."""

    def pod_seen(self: Any, pod: Pod) -> None:
        self.seen = getattr(self, "seen", 0) + 1

    def pod_gone(self: Any, pod: Pod) -> None:
        self.gone = [*getattr(self, "gone", []), pod.name]
        if len(self.gone) == 1:
            self.handle.look_up(pod)

    def follow_up(self: Any) -> None:
        self.asked = getattr(self, "asked", 0) + 1
        if (seen := getattr(self, "seen", 0)) != getattr(self, "said", 0):
            self.said = seen
            self.handle.write(Write("patch", "ConfigMap", "default/seen", {"data": {"seen": str(seen)}}))

    return made("Counting", pod_seen=pod_seen, pod_gone=pod_gone, follow_up=follow_up)


def writes(decisions: Any) -> list[str]:
    return [each.body["data"]["seen"] for each in decisions or () if isinstance(each, Write)]


def test_it_happens_when_there_is_nothing_left_to_decide() -> None:
    stage = Stage(counting()).nodes("a")
    stage.cycle()
    stage.add(pod("p1"), pod("p2"))
    assert [type(each) for each in stage.cycle() or ()] == [Bind]
    assert [type(each) for each in stage.cycle() or ()] == [Bind]
    assert writes(stage.cycle()) == ["2"]
    assert stage.cycle() is None


def test_it_happens_every_so_often_however_much_there_is_to_decide() -> None:
    stage = Stage(counting()).nodes("a")
    stage.cycle()
    stage.add(*(pod(f"p{number}") for number in range(3)))
    assert writes(stage.cycle()) == []
    stage.now += FOLLOW_UP_S
    decisions = stage.cycle()
    assert [type(each) for each in decisions or ()] == [Bind, Write]


def test_it_does_not_happen_while_nothing_is_decided() -> None:
    stage = Stage(counting()).nodes("a")
    stage.add(pod("p1"))
    assert not hasattr(stage.plugin("Counting"), "asked")


def test_a_pod_that_is_gone_can_be_looked_up() -> None:
    stage = Stage(counting()).nodes("a")
    web = pod("p1")
    stage.add(web)
    stage.cycle()
    assert stage.engine.handle(PodDeleted(web), stage.now) == [Look(web)]
    assert stage.engine.handle(PodDeleted(web), stage.now) == []
    assert stage.plugin("Counting").gone == ["p1", "p1"]
