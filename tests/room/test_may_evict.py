"""Policies that protect pods: asked about every possible victim of pods and gangs; named when they fail."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import pod
from mooring.engine.decisions import Bind, Decision, Evict, Wait
from mooring.errors import PolicyError
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.rehearsal import rehearse
from mooring.framework.metrics.families import PLUGIN_SECONDS
from mooring.framework.metrics.meter import Meter
from mooring.model.objects import Pod
from plugins.preemption import arena as single
from plugins.preemption.arena import HIGH, LOW, sized, small_node
from room.for_gang import arena as gangs
from room.for_gang.arena import gang_pods, nodes_of


def policy(answer: Any) -> type[Plugin]:
    """One whose `may_evict` answers, or raises, what it is given; or what a function says."""

    class Odd(Plugin):
        def may_evict(self, pod: Pod | None, victim: Pod) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer(pod, victim) if callable(answer) else answer

    return Odd


def waits(decisions: list[Decision]) -> list[Wait]:
    assert not [each for each in decisions if isinstance(each, (Bind, Evict))], decisions
    return [each for each in decisions if isinstance(each, Wait)]


NONSENSE = [
    (ValueError("no idea"), "ValueError: no idea"),
    (None, "returned None, which is neither True nor False"),
    ("yes", "returned 'yes', which is neither True nor False"),
    (1, "returned 1, which is neither True nor False"),
]


@pytest.mark.parametrize(("answer", "said"), NONSENSE)
def test_a_failure_costs_a_pod_the_cycle(answer: Any, said: str) -> None:
    arena = single.Arena(policy(answer)).nodes(small_node("a"))
    arena.running(sized("low", 300, LOW), "a")
    (wait,) = waits(arena.attempt(sized("p", 300, HIGH)))
    assert wait.reason == "SchedulerError"
    assert f'running may_evict of plugin "Odd": {said}' in wait.message


@pytest.mark.parametrize(("answer", "said"), NONSENSE)
def test_a_failure_costs_a_gang_the_cycle(answer: Any, said: str) -> None:
    arena = gangs.Arena(policy(answer))
    arena.nodes(*nodes_of("a", "b"))
    arena.running(pod("low", cpu=32, priority=0), "a")
    arena.running(pod("lower", cpu=32, priority=0), "b")
    arena.add(*gang_pods("g", 2, cpu=20))
    found = waits(arena.cycle() or [])
    assert {each.reason for each in found} == {"SchedulerError"}
    assert all(f'running may_evict of plugin "Odd": {said}' in each.message for each in found)


def test_a_gang_spares_protected_pods() -> None:
    arena = gangs.Arena(policy(lambda pod, victim: victim.name != "kept"))
    arena.nodes(*nodes_of("a", "b", "c"))
    for name, node in (("kept", "a"), ("low", "b"), ("lower", "c")):
        arena.running(pod(name, cpu=32, priority=0), node)
    assert arena.attempt(*gang_pods("g", 2, cpu=20)).victims == ["low", "lower"]
    assert arena.attempt(*gang_pods("h", 3, cpu=20)).victims == []


def test_a_gang_with_a_protected_member_does_not_go_whole() -> None:
    arena = gangs.Arena(policy(lambda pod, victim: victim.name != "low-1"))
    arena.nodes(*nodes_of("a", "b"))
    for each, node in zip(gang_pods("low", 2, 2, cpu=32, priority=0), "ab", strict=True):
        arena.running(each, node)
    assert arena.attempt(*gang_pods("g", 1, cpu=20)).victims == []


def test_pods_that_are_as_important_are_not_asked_about() -> None:
    asked: list[str] = []
    arena = gangs.Arena(policy(lambda pod, victim: not asked.append(victim.name)))
    arena.nodes(*nodes_of("a", "b"))
    arena.running(pod("low", cpu=32, priority=0), "a")
    arena.running(pod("high", cpu=32, priority=gangs.HIGH), "b")
    assert arena.attempt(*gang_pods("g", 1, cpu=20)).victims == ["low"]
    assert asked == ["low"]


def test_a_policy_is_asked_once_about_a_pod_in_an_attempt() -> None:
    asked: list[str] = []
    arena = single.Arena(policy(lambda pod, victim: not asked.append(victim.name))).nodes(
        *map(small_node, "ab")
    )
    for name in "ab":
        arena.running(sized(f"low-{name}", 300, LOW), name)
    assert len(arena.preempt(sized("p", 300, HIGH)).victims) == 1
    assert sorted(asked) == ["low-a", "low-b"]


def test_mistakes_are_found_at_load() -> None:
    with pytest.raises(PolicyError, match="returned None, which is neither True nor False"):
        rehearse(policy(None))
    with pytest.raises(PolicyError, match="AttributeError"):
        rehearse(policy(lambda pod, victim: pod.name == victim.name))  # there may be no pod
    rehearse(policy(True))


def test_the_time_it_takes_is_measured() -> None:
    meter = Meter(lambda: 0.0)
    stage = single.Stage(single.DefaultPreemption, policy(True), base=single.BUILT_IN, meter=meter)
    meter.sampled = True
    stage.nodes(small_node("a"))
    stage.running(sized("low", 300, LOW), "a")
    stage.add(sized("p", 300, HIGH))
    stage.cycle()
    assert sum(meter.samples(PLUGIN_SECONDS, "Odd", "MayEvict", "Success").counts) == 1
