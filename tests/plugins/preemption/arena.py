"""A scheduler with DefaultPreemption on a small cluster, and what it makes of one pod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import msgspec

from engine.stage import BUILT_IN, Stage, node, pod
from mooring.engine.decisions import Bind, Decision, Evict, Nominate, Wait
from mooring.engine.events import ObjectAdded
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Node, Object, ObjectMeta, Pod, PodCondition
from mooring.plugins.defaults import DEFAULT_MULTI_POINT
from mooring.plugins.preemption import DefaultPreemption

NEGATIVE, LOW, MID, HIGH, VERY_HIGH = -100, 0, 100, 1000, 10_000
SMALL, MEDIUM, LARGE, VERY_LARGE = 100, 200, 300, 500
DISRUPTED = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")


@dataclass(frozen=True)
class Answer:
    """What came of one pod: where it is to go, who has to go for it, and what is said."""

    nominated: str | None
    victims: tuple[str, ...]
    message: str

    @property
    def said(self) -> str:
        """What preemption added to the message."""
        return self.message.partition(". ")[2]


class FixedOffset:
    """A source of randomness that is none."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def randrange(self, count: int) -> int:
        return self._offset % count


class Arena(Stage):
    """`args` are the plugin's own."""

    def __init__(self, *plugins: type[Plugin], offset: int = 0, exact: bool = False, **args: Any) -> None:
        text = ""
        if args:
            given = "".join(f"\n      {key}: {value}" for key, value in args.items())
            text = f"profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args:{given}\n"
            known = {use.name for use in DEFAULT_MULTI_POINT}
            if own := [plugin.name for plugin in plugins if plugin.name not in known]:
                names = "".join(f"\n      - name: {name}" for name in own)
                text += f"  plugins:\n    multiPoint:\n      enabled:{names}\n"
        super().__init__(DefaultPreemption, *plugins, base=BUILT_IN, text=text)
        self.preemption = self.plugin("DefaultPreemption")
        self.preemption.handle.random = FixedOffset(offset)
        if exact:
            self.preemption.handle.demand = lambda cycle, pod: None

    def nodes(self, *nodes: Node | str) -> Self:
        super().nodes(*nodes)
        return self

    def budget(
        self, name: str, allowed: int, *disrupted: str, namespace: str = "default", **labels: str
    ) -> None:
        data = {
            "spec": {"selector": {"matchLabels": labels}},
            "status": {
                "disruptionsAllowed": allowed,
                "disruptedPods": dict.fromkeys(disrupted, "2024-01-01T00:00:00Z"),
            },
        }
        found = Object(
            api_version="policy/v1",
            kind="PodDisruptionBudget",
            metadata=ObjectMeta(name=name, namespace=namespace),
            data=data,
        )
        self.engine.handle(ObjectAdded(found), self.now)

    def attempt(self, wanted: Pod) -> list[Decision]:
        self.add(wanted)
        decisions = self.cycle()
        assert decisions is not None
        return decisions

    def preempt(self, wanted: Pod) -> Answer:
        """The answer to a pod that fits nowhere."""
        return answer_of(self.attempt(wanted))


def answer_of(decisions: list[Decision]) -> Answer:
    assert not any(isinstance(decision, Bind) for decision in decisions), decisions
    (wait,) = (decision for decision in decisions if isinstance(decision, Wait))
    victims = tuple(decision.pod.name for decision in decisions if isinstance(decision, Evict))
    return Answer(wait.nominated, victims, wait.message)


def cleared(decisions: list[Decision]) -> list[str]:
    return [d.pod.name for d in decisions if isinstance(d, Nominate) and d.node == ""]


def small_node(name: str, **more: Any) -> Node:
    """500m of cpu and 500 bytes."""
    return node(name, "500m", 500, **more)


def sized(name: str, size: int, priority: int, *, start: int = 0, **more: Any) -> Pod:
    """A pod of so many milli cpus and bytes, started on a day of January."""
    return started(pod(name, f"{size}m", size, priority=priority, **more), start)


def started(made: Pod, day: int) -> Pod:
    """The pod, started on a day of January; 0 for not yet."""
    start_time = f"2024-01-{day:02}T00:00:00Z" if day else None
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, start_time=start_time))


def with_condition(made: Pod, condition: PodCondition) -> Pod:
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=(condition,)))
