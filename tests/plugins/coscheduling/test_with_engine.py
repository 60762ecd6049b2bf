"""Gangs in the engine: K24 and K25, the queue, extenders' pods apart, restarts, and the default profile."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, changed, node, pod
from mooring.engine.decisions import Bind, Decision, Evict, Wait
from mooring.engine.events import BindFailed, ObjectAdded, ObjectChanged
from mooring.model.objects import Pod, PodSchedulingGate, PodSchedulingGroup
from mooring.plugins.coscheduling import Coscheduling
from mooring.testing import cluster
from mooring.testing import node as a_node
from mooring.testing import pod as a_pod
from plugins.coscheduling.hand import GANG, pod_group

GPU = "nvidia.com/gpu"


def member(name: str, least: int = 3, gang: str = "g", **more: Any) -> Pod:
    notes = {GANG + "name": gang, GANG + "min-available": str(least)} | more.pop("notes", {})
    return pod(name, annotations=notes, **more)


def members(count: int, least: int = 3, **more: Any) -> list[Pod]:
    return [member(f"p{i}", least, **more) for i in range(count)]


def names(decisions: list[Decision] | None, kind: type[Any] = Bind) -> list[str]:
    return sorted(each.pod.name for each in decisions or () if isinstance(each, kind))


def said(decisions: list[Decision] | None) -> set[str]:
    """Why pods wait, without what preemption has to say."""
    messages = (each.message for each in decisions or () if isinstance(each, Wait))
    return {message.partition("; preemption: ")[0] for message in messages}


def stage(*nodes: Any, **options: Any) -> Stage:
    return Stage(Coscheduling, **options).nodes(*nodes)


def quiet(world: Stage) -> list[Decision]:
    """All that is decided until there is nothing more to decide."""
    found: list[Decision] = []
    for _ in range(50):
        decisions = world.cycle()
        if decisions is None:
            return found
        found += decisions
    raise AssertionError("it never comes to rest")


def kubernetes(name: str) -> Pod:
    return pod(name, scheduling_group=PodSchedulingGroup(pod_group_name="g"))


K8S_GANG = pod_group(
    version="scheduling.k8s.io/v1alpha2", schedulingPolicy={"gang": {"minCount": 3}}, created=None
)


def test_k24_too_few_pods_are_gated() -> None:
    world = stage("a")
    world.engine.handle(ObjectAdded(K8S_GANG), 0.0)
    pods = [kubernetes("p0"), kubernetes("p1")]
    world.add(*pods)
    assert world.cycle() is None
    too_few = "waiting for minCount pods from a gang to appear in scheduling queue"
    words = [world.engine.waits_for(each.uid) for each in pods]
    assert [each and each.message for each in words] == [too_few, too_few]


def test_k25_the_third_lets_the_others_go() -> None:
    world = stage("a")
    world.engine.handle(ObjectAdded(K8S_GANG), 0.0)
    world.add(*[kubernetes(f"p{i}") for i in range(3)])
    assert names(world.cycle()) == ["p0", "p1", "p2"]
    assert world.cycle() is None


def test_a_gang_starts_in_one_cycle_or_not_at_all() -> None:
    world = stage(node("a", cpu=99, extra={GPU: 6}))
    pods = [member(f"p{i}", 8, extra={GPU: 1}) for i in range(8)]
    world.add(*pods)
    decisions = world.cycle()
    assert names(decisions) == []
    assert said(decisions) == {"gang default/g: 6 of 8 can be placed; 2 lack nvidia.com/gpu"}
    assert len(world.plugin("Coscheduling").gangs.gangs["default/g"].pending) == 8
    world.nodes(node("b", cpu=99, extra={GPU: 2}))
    world.tick(30.0)
    assert len(world.all()) == 8


def test_one_waits_in_the_queue_for_all() -> None:
    world = stage(node("a", cpu=1))
    pods = members(3)
    world.add(*pods)
    assert [world.where(each) for each in pods].count("active") == 1
    world.cycle()
    world.nodes(node("b", cpu=1))
    # Where pods back off that are not taken early, as those of an idle scheduler otherwise are.
    assert sorted(world.where(each) for each in pods) == ["error_backoff", "unschedulable", "unschedulable"]


def test_pods_of_a_started_gang_are_tried_alone() -> None:
    world = stage(node("a", cpu=4))
    world.add(*members(3))
    assert len(world.all()) == 3
    assert world.place(member("late")) == "a"
    assert world.wait(member("later")).message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_bind_that_fails_is_tried_alone_once_another_is_bound() -> None:
    world = stage(node("a", cpu=9))
    world.add(*members(3))
    binds = [each for each in world.cycle() or () if isinstance(each, Bind)]
    world.bound(binds[0])
    world.engine.handle(BindFailed(binds[1].pod, "a", "conflict"), 0.0)
    world.bound(binds[2])
    world.tick(30.0)
    assert list(world.all()) == [binds[1].pod.name]


def test_a_bind_that_fails_first_starts_nothing_twice() -> None:
    world = stage(node("a", cpu=9))
    world.add(*members(3))
    binds = [each for each in world.cycle() or () if isinstance(each, Bind)]
    for bind in binds:
        world.bind_failed(bind)
    world.tick(30.0)
    assert sorted(world.all()) == ["p0", "p1", "p2"]


def test_the_rest_of_a_half_bound_gang_comes_or_places_are_given_back() -> None:
    world = stage(node("a", cpu=3))
    world.running(member("p0", 4), "a")
    world.running(member("p1", 4), "a")
    world.add(member("p2", 4), member("p3", 4))
    decisions = world.cycle()
    assert said(decisions) == {"gang default/g: 1 of 2 can be placed; 1 lacks cpu"}
    quiet(world)
    assert world.engine.wake_at() is not None
    world.tick(601.0)
    found = quiet(world)
    assert names(found, Evict) == ["p0", "p1"]


def test_a_restarted_scheduler_knows_who_is_bound() -> None:
    world = stage(node("a", cpu=9))
    for each in members(3):
        world.running(each, "a")
    assert world.place(member("late")) == "a"


def test_a_pod_group_may_be_changed_while_its_pods_wait() -> None:
    world = stage(node("a", cpu=2))
    world.engine.handle(ObjectAdded(pod_group(minMember=3)), 0.0)
    label = {"pod-group.scheduling.sigs.k8s.io": "g"}
    world.add(*[pod(f"p{i}", labels=label) for i in range(3)])
    assert names(world.cycle(), Wait) == ["p0", "p1", "p2"]
    world.engine.handle(ObjectChanged(pod_group(minMember=2)), 0.0)
    world.tick(30.0)
    assert len(world.all()) == 2


def test_gates_of_a_pod_keep_its_gang() -> None:
    world = stage(node("a", cpu=9))
    gated = member("p2", scheduling_gates=(PodSchedulingGate(name="wait"),))
    world.add(*members(2), gated)
    assert names(quiet(world)) == []
    world.change(changed(gated, scheduling_gates=()))
    assert len(world.all()) == 3


def test_a_mistake_is_told_on_the_pod() -> None:
    world = stage("a")
    wrong = member("p0", 1, notes={GANG + "mode": "foo"})
    world.add(wrong)
    decisions = world.cycle() or []
    assert [(each.pod.name, each.message) for each in decisions if isinstance(each, Wait)] == [
        ("p0", f'annotation {GANG}mode is "foo": none of Strict, NonStrict')
    ]
    right = member("p0", 1)
    world.change(right)
    assert world.all() == {"p0": "a"}


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
def test_extenders_pods_wait_at_permit(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = stage(node("a", cpu=2))
    plugin = world.plugin("Coscheduling")
    monkeypatch.setattr(type(plugin.handle), "judged_outside", lambda self, pod: True)
    pods = members(3, notes={GANG + "mode": mode})
    world.add(*pods)
    assert [names(world.cycle()) for _ in range(2)] == [[], []]
    assert len(world.engine.waiting) == 2
    quiet(world)
    assert len(world.engine.waiting) == (0 if mode == "Strict" else 2)
    world.nodes(node("b", cpu=1))
    world.tick(30.0)
    assert len(world.all()) == 3


def test_waiting_at_permit_ends_with_the_gangs_waiting_time(monkeypatch: pytest.MonkeyPatch) -> None:
    world = stage(node("a", cpu=1))
    plugin = world.plugin("Coscheduling")
    monkeypatch.setattr(type(plugin.handle), "judged_outside", lambda self, pod: True)
    world.add(*members(2, 2, notes={GANG + "mode": "NonStrict", GANG + "waiting-time": "50s"}))
    quiet(world)
    assert len(world.engine.waiting) == 1
    decisions = world.tick(50.0)
    assert "rejected due to timeout after waiting 50s at plugin Coscheduling" in decisions[0].message  # type: ignore[union-attr]


def test_the_queue_may_be_sorted_by_it() -> None:
    text = (
        "profiles:\n- plugins:\n    queueSort:\n      disabled: [{name: '*'}]\n"
        "      enabled: [{name: Coscheduling}]\n"
    )
    world = stage("a", text=text)
    assert world.engine.profiles["default-scheduler"].queue_sort.name == "Coscheduling"
    assert world.place(pod("plain")) == "a"


@pytest.mark.parametrize(
    ("text", "sorter"),
    [
        ("", "PrioritySort"),
        ("profiles:\n- plugins:\n    multiPoint:\n      enabled: [{name: Coscheduling}]\n", "PrioritySort"),
        ("profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: PrioritySort}]\n", "Coscheduling"),
    ],
)
def test_who_sorts_the_queue(text: str, sorter: str) -> None:
    world = stage("a", text=text)
    assert world.engine.profiles["default-scheduler"].queue_sort.name == sorter


def test_gangs_need_no_configuration() -> None:
    world = cluster(a_node("a").has(cpu=2))
    pods = [
        a_pod(f"p{i}").requests(cpu=1).annotation(GANG + "name", "g").annotation(GANG + "min-available", "3")
        for i in range(3)
    ]
    world.add(*pods)
    world.run()
    assert world.placements == {}
    world.add(a_node("b").has(cpu=1))
    world.advance(30)
    assert len(world.placements) == 3


def test_room_made_for_a_gang_that_is_no_longer_whole_is_others() -> None:
    world = stage(node("a", cpu=2))
    low = world.running(pod("low", cpu=2), "a")
    pods = members(2, least=2, priority=9)
    world.add(*pods)
    world.cycle()
    assert {world.engine.nominator.node_of(each.uid) for each in pods} == {"a"}
    world.delete(pods[0])
    world.delete(low)
    world.add(pod("other", cpu=2))
    world.tick(400.0)
    world.all()
    assert world.engine.nominator.node_of(pods[1].uid) == ""
    world.tick(800.0)
    world.all()
    assert world.holds(pod("other")) == "a"
