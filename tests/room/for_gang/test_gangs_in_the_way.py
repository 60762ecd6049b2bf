"""Gangs that are evicted, as a whole or as far as they can spare members; and gangs that preempt together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.stage import node, pod
from mooring.model.objects import Object, ObjectMeta, Pod, PodSchedulingGroup
from room.for_gang.arena import HIGH, Arena, gang_pods, nodes_of, started


def renamed(pod: Pod, name: str) -> Pod:
    meta = msgspec.structs.replace(pod.metadata, name=name, uid=name)
    return msgspec.structs.replace(pod, metadata=meta)


def low_gang(arena: Arena, count: int, least: int, *names: str, **more: Any) -> list[Pod]:
    pods = gang_pods("low", count, least, **({"cpu": 32, "priority": 0} | more))
    return [arena.running(each, name) for each, name in zip(pods, names, strict=True)]


def test_a_gang_that_would_fall_apart_goes_as_a_whole() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    low_gang(arena, 3, 3, "a", "b", "c")
    found = arena.attempt(*gang_pods("g", 1, cpu=20))
    assert found.victims == ["low-0", "low-1", "low-2"]


def test_members_above_the_minimum_may_go_alone() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    low_gang(arena, 3, 2, "a", "b", "c")
    assert arena.attempt(*gang_pods("g", 1, cpu=20)).victims == ["low-0"]


def test_one_more_than_it_can_spare_takes_all_along() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c", "d"))
    low_gang(arena, 4, 3, "a", "b", "c", "d")
    found = arena.attempt(*gang_pods("g", 2, cpu=20))
    assert found.victims == ["low-0", "low-1", "low-2", "low-3"]


def test_a_gang_of_which_one_must_stay_spares_only_what_it_can() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    pods = gang_pods("low", 3, 2, cpu=32, priority=0)
    important = msgspec.structs.replace(pods[2], spec=msgspec.structs.replace(pods[2].spec, priority=HIGH))
    for each, name in zip((*pods[:2], important), "abc", strict=True):
        arena.running(each, name)
    assert arena.attempt(*gang_pods("g", 2, cpu=20)).victims == []
    assert arena.attempt(*gang_pods("h", 1, cpu=20)).victims == ["low-0"]


def test_a_gang_loses_the_one_it_can_spare_however_important_that_is() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a"))
    for number, cpu in enumerate((20, 6, 6)):
        (each,) = gang_pods("low", 1, 2, cpu=cpu, priority=0)
        arena.running(started(renamed(each, f"low-{number}"), f"2026-01-0{number + 1}T00:00:00Z"), "a")
    assert arena.attempt(*gang_pods("g", 1, cpu=12)).victims == ["low-0"]


def test_a_budget_inside_a_gang_is_kept_if_another_member_can_go() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a"))
    for number in range(3):
        labels = {"app": "kept"} if number == 2 else {}
        (each,) = gang_pods("low", 1, 2, cpu=10, priority=0, labels=labels)
        arena.running(started(renamed(each, f"low-{number}"), f"2026-01-0{number + 1}T00:00:00Z"), "a")
    arena.budget("kept", 0, app="kept")
    assert arena.attempt(*gang_pods("g", 1, cpu=12)).victims == ["low-1"]


def test_of_a_gang_that_must_stay_the_least_important_goes_whoever_came_first() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    for number, (priority, name) in enumerate(((2, "a"), (1, "a"), (HIGH, "b"))):
        (each,) = gang_pods("low", 1, 2, cpu=16, priority=priority)
        arena.running(renamed(each, f"low-{number}"), name)
    arena.running(pod("high", cpu=16, priority=HIGH), "b")
    assert arena.attempt(*gang_pods("g", 1, cpu=16)).victims == ["low-1"]


def test_a_gang_with_too_few_pods_anyhow_shields_nobody() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    for number, (priority, name) in enumerate(((0, "a"), (HIGH, "b"))):
        (each,) = gang_pods("low", 1, 10, cpu=32, priority=priority)
        arena.running(renamed(each, f"low-{number}"), name)
    assert arena.attempt(*gang_pods("g", 1, cpu=20)).victims == ["low-0"]


def test_a_gang_counts_once_however_many_of_it_are_there() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    arena.running(pod("lowest", cpu=1, priority=0), "a")
    arena.running(pod("higher", cpu=31, priority=2), "a")
    low_gang(arena, 4, 0, "b", "b", "b", "b", cpu=8, priority=1)
    found = arena.attempt(*gang_pods("g", 1, cpu=32))
    assert found.victims == ["low-0", "low-1", "low-2", "low-3"]


def test_a_kubernetes_pod_group_may_ask_to_go_as_a_whole() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    spec = {"schedulingPolicy": {"gang": {"minCount": 1}}, "disruptionMode": "PodGroup"}
    meta = ObjectMeta(name="low", namespace="default")
    arena.put(
        Object(api_version="scheduling.k8s.io/v1alpha2", kind="PodGroup", metadata=meta, data={"spec": spec})
    )
    for number, name in enumerate("abc"):
        group = PodSchedulingGroup(pod_group_name="low")
        arena.running(pod(f"low-{number}", cpu=32, scheduling_group=group), name)
    assert arena.attempt(*gang_pods("g", 1, cpu=20)).victims == ["low-0", "low-1", "low-2"]


def test_members_of_the_own_gang_are_not_evicted() -> None:
    arena = Arena()
    arena.nodes(node("a", cpu=32))
    notes = {"match-policy": "only-waiting"}
    own = gang_pods("g", 3, 2, cpu=32, priority=0, notes=notes)
    arena.running(own[0], "a")
    rest = gang_pods("g", 3, 2, cpu=16, notes=notes)[1:]
    found = arena.attempt(*rest)
    assert found.victims == []


@pytest.mark.parametrize(
    ("mode", "victims"),
    [("NonStrict", ["low-a", "low-b"]), ("Strict", ["low-a", "low-b", "low-c"])],
)
def test_gangs_that_start_together_need_enough_of_each(mode: str, victims: list[str]) -> None:
    """Strict ones need whoever is tried before the last of them can start."""
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    for name in "abc":
        arena.running(pod(f"low-{name}", cpu=32), name)
    notes = {"groups": '["default/x", "default/y"]', "mode": mode}
    x = gang_pods("x", 2, 1, cpu=20, notes=notes)
    y = gang_pods("y", 1, 1, cpu=20, notes=notes)
    found = arena.attempt(*x, *y)
    assert found.victims == victims
    for name in victims:
        arena.delete(pod(name, cpu=32).on_node(name[-1]))
    arena.tick(60.0)
    assert arena.all() == found.nominated
