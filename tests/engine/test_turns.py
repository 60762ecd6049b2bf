"""Whose turn it is when groups that failed before are ready again, beside others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.stage import node, pod
from mooring.engine.decisions import Bind
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, PodAdded, PodDeleted, Tick
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.queue.turns import FREE, Turns
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with

GANG = "gang.scheduling.koordinator.sh/"


def hopeless(name: str, priority: int = 0) -> list[Pod]:
    """A gang of ten, one of whom fits nowhere."""
    notes = {GANG + "name": name, GANG + "min-available": "10"}
    sizes = [*[f"{number + 1}m" for number in range(9)], "64"]
    return [
        pod(f"{name}-{number}", cpu=size, annotations=notes, priority=priority)
        for number, size in enumerate(sizes)
    ]


def busy_engine(priority: int = 0) -> tuple[Engine, Pod]:
    """Twenty hopeless gangs that have waited for long, and something that happened which wakes them all."""
    engine = Engine(*plans_with((), {}, {}))
    engine.handle(NodeAdded(node("n", cpu="8")), 0.0)
    running = pod("running", cpu="1").on_node("n")
    engine.handle(PodAdded(running), 0.0)
    for number in range(20):
        for each in hopeless(f"g{number}", priority):
            engine.handle(PodAdded(each), 0.0)
    while engine.schedule(0.0) is not None:
        pass
    engine.handle(Tick(), 100.0)
    engine.handle(PodDeleted(running), 100.0)
    return engine, pod("innocent", cpu="1")


def cycles_until_bound(engine: Engine, wanted: Pod) -> int:
    for number in range(100):
        decided = engine.schedule(100.0) or []
        if any(isinstance(each, Bind) and each.pod.name == wanted.name for each in decided):
            return number
    raise AssertionError("it is never bound")


def test_hopeless_gangs_leave_a_turn_to_others() -> None:
    engine, innocent = busy_engine()
    engine.handle(PodAdded(innocent), 100.0)
    assert cycles_until_bound(engine, innocent) <= FREE // 10 + 1


def test_who_is_more_important_goes_first_all_the_same() -> None:
    engine, innocent = busy_engine(priority=10)
    engine.handle(PodAdded(innocent), 100.0)
    assert cycles_until_bound(engine, innocent) >= 20


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=30
    )
)
def test_everybody_has_a_turn_once(kinds: list[tuple[int, bool, bool, bool]]) -> None:
    """In order of priority, whatever is owed; what is taken out or pushed twice counts once."""
    turns = Turns(lambda queued: (-queued.pod.priority, queued.timestamp), lambda error: None)
    wanted: dict[str, QueuedPod] = {}
    for number, (priority, is_group, had_failed, goes) in enumerate(kinds):
        queued = QueuedPod(pod(f"p{number}", priority=priority), float(number))
        turns.push(queued)
        if is_group:
            queued.group = (0.0, "g")
            queued.unschedulable_count = int(had_failed)
            turns.push(queued)
            turns.has_failed()
        if goes:
            turns.discard(queued)
        else:
            wanted[queued.pod.name] = queued
    assert len(turns) == len(wanted)
    popped = [turns.pop() for _ in wanted]
    assert turns.pop() is None
    assert sorted(each.pod.name for each in popped if each is not None) == sorted(wanted)
    priorities = [each.pod.priority for each in popped if each is not None]
    assert priorities == sorted(priorities, reverse=True)
