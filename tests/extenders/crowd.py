"""Full nodes, a pod that needs room on them, and a test that answers for extenders that have a say in it."""

from __future__ import annotations

from typing import Any

from engine.stage import Stage, pod
from extenders.talk import extender
from mooring.config.scheduler import Extender
from mooring.engine.decisions import Consult, Decision, Evict, Wait
from mooring.model.objects import Pod
from mooring.plugins.preemption import DefaultPreemption

FULL = "0/2 nodes are available: 2 Insufficient cpu."


def preempting(**fields: Any) -> Extender:
    return extender(**({"filter_verb": "", "preempt_verb": "preempt"} | fields))


def crowded(*extenders: Extender, plugins: tuple[Any, ...] = ()) -> Stage:
    """Two nodes of 4 cpus: a has pods of 1, 1 and 2 cpus, b one of 4; all unimportant."""
    world = Stage(DefaultPreemption, *plugins, extenders=extenders).nodes("a", "b")
    for name, cpu, where in (("a1", "1", "a"), ("a2", "1", "a"), ("a3", "2", "a"), ("b1", "4", "b")):
        world.running(low(name, cpu), where)
    return world


def low(name: str, cpu: str, priority: int = 0, **more: Any) -> Pod:
    return pod(name, cpu, priority=priority, **more)


def preemptor(cpu: str = "4", **more: Any) -> Pod:
    return pod("p", cpu, priority=10, **more)


def ask(world: Stage, wanted: Pod) -> Consult:
    world.add(wanted)
    (question,) = world.cycle() or ()
    assert isinstance(question, Consult), question
    return question


def left(**nodes: Any) -> dict[str, Any]:
    """An answer: the pods that would have to go, by node."""
    victims = {
        name: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0} for name, uids in nodes.items()
    }
    return {"NodeNameToMetaVictims": victims}


def outcome(decisions: list[Decision]) -> tuple[str | None, list[str], str]:
    """The node the pod is nominated to, who is evicted, and what is said."""
    *others, wait = decisions
    assert isinstance(wait, Wait), decisions
    return wait.nominated, [each.pod.name for each in others if isinstance(each, Evict)], wait.message
