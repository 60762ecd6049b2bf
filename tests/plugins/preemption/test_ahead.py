"""What is prepared before anybody preempts: pods as they come, arrays when it is quiet."""

from __future__ import annotations

import msgspec
import pytest

from mooring.model.objects import PodStatus
from mooring.room.for_pod.slots import FEW
from plugins.preemption.arena import HIGH, LOW, MID, Arena, sized, small_node


def crowd(nodes: int) -> Arena:
    """So many nodes with a pod each."""
    arena = Arena().nodes(*(small_node(f"n{number}") for number in range(nodes)))
    for number in range(nodes):
        arena.running(sized(f"v{number}", 500, LOW if number else MID), f"n{number}")
    return arena


def kinds_of(arena: Arena) -> list[int]:
    return [placed.kind for placed in arena.engine.cluster.pods.by_uid.values()]


def test_a_pod_is_looked_at_when_it_comes() -> None:
    arena = crowd(3)
    first, *others = kinds_of(arena)
    assert first > 0
    assert len(set(others)) == 1
    assert first != others[0]


def test_it_is_looked_at_again_when_it_changes() -> None:
    arena = crowd(2)
    before = kinds_of(arena)
    status = PodStatus(start_time="2024-01-05T00:00:00Z")
    changed = msgspec.structs.replace(sized("v1", 500, LOW).on_node("n1"), status=status)
    arena.change(changed)
    placed = arena.engine.cluster.pods.by_uid["v1"]
    assert placed.started_us > 0
    assert kinds_of(arena) == before
    with arena.engine.cluster.statement() as statement:
        statement.confirm(sized("v1", 500, LOW).on_node("n1"))
    assert placed.kind == -1  # nobody has looked at it yet


def test_budgets_that_look_at_other_labels_have_pods_told_apart_anew() -> None:
    arena = crowd(2)
    arena.running(sized("labelled", 0, LOW, labels={"app": "a"}), "n1")
    arena.budget("a", 0, app="a")
    answer = arena.preempt(sized("p", 500, HIGH))
    assert (answer.nominated, answer.victims) == ("n1", ("v1",))
    kinds = [arena.engine.cluster.pods.by_uid[uid].kind for uid in ("v1", "labelled")]
    assert kinds[0] != kinds[1]


@pytest.mark.parametrize(("nodes", "more"), [(FEW, []), (3 * FEW, [True, False]), (5 * FEW, [True] * 3)])
def test_when_it_is_quiet_arrays_are_filled(nodes: int, more: list[bool]) -> None:
    arena = crowd(nodes)
    for expected in more:
        assert arena.engine.catch_up() is expected
    while arena.engine.catch_up():
        continue
    assert not arena.engine.catch_up()
    assert arena.preempt(sized("p", 500, HIGH)).victims != ("v0",)  # it is more important
    assert not arena.engine.catch_up()
