"""A fork of an engine goes its own way: nothing it is told or decides changes the one it was made of."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gangs.test_swaps import POLICIES, SwappedWorld, configured
from gangs.world import World
from mooring import Plugin, wait
from mooring.engine.decisions import Bind, Evict
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, NodeDeleted, PodAdded, PodDeleted, Tick
from mooring.testing import cluster, node, pod

LIVES = 20


def picture(engine: Engine) -> Any:
    """Everything that a decision may depend on."""
    nodes = engine.cluster.nodes
    columns = {name: of.requested.array.tolist() for name, of in nodes.resources.items()}
    placed = engine.cluster.pods.by_uid
    pods = {uid: (each.node, each.row, each.hold, each.pod) for uid, each in placed.items()}
    queued = sorted((each.pod.uid, each.where, each.attempts, each.timestamp) for each in engine.queue)
    books = {name: dict(book.items()) for name, book in engine.cluster.books.by_name.items()}
    held = sorted(engine.waiting), sorted(engine.binding), dict(engine.nominator.node_by_uid)
    gangs = {
        key: (gang.terms, gang.group.satisfied, {uid: each.state for uid, each in gang.members.items()})
        for key, gang in engine._parts.gangs.gangs.items()
    }
    return columns, nodes.pods.array.tolist(), dict(nodes.rows), pods, queued, books, held, gangs, engine.now


def live_on(fork: Engine, draw: random.Random, world: World) -> None:
    """Whatever can happen to a scheduler happens to the fork."""
    now = fork.now
    for _ in range(30):
        match draw.randrange(5):
            case 0 if world.nodes:
                fork.handle(NodeDeleted(world.nodes[draw.choice(sorted(world.nodes))]), now)
            case 1 if world.pods:
                fork.handle(PodDeleted(world.pods[draw.choice(sorted(world.pods))]), now)
            case 2:
                now += draw.choice((1.0, 30.0, 400.0))
                fork.handle(Tick(), now)
            case _:
                for decision in fork.schedule(now) or ():
                    if isinstance(decision, Bind) and draw.random() < 0.7:
                        fork.handle(Bound(decision.pod, decision.node), now)
                        fork.handle(PodAdded(decision.pod.on_node(decision.node)), now)
        fork.check()


@pytest.mark.parametrize("seed", range(LIVES))
def test_what_happens_to_a_fork_changes_nothing(seed: int) -> None:
    world, draw = SwappedWorld(seed), random.Random(seed)
    for _ in range(12):
        world.add_node(draw.randint(2, 8))
        world.add_gang(draw.randint(1, 4), draw.randint(1, 4), 1, draw.randrange(3), strict=True)
        world.add_pod(draw.randint(1, 4), draw.randrange(3))
        world.schedule(draw.randrange(8))
        world.answer(draw.randrange(4), fails=draw.random() < 0.3)
        before = picture(world.engine)
        config = configured(draw, 1000) if draw.random() < 0.5 else None
        fork = world.engine.fork(*((config.profiles, POLICIES) if config is not None else ()))
        fork.check(afresh=True)
        live_on(fork, draw, world)
        fork.check(afresh=True)
        assert picture(world.engine) == before
        world.engine.check(afresh=True)
    world.settle()


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_fork_decides_as_its_original(seed: int) -> None:
    """Pods that nobody has tried yet go where they would have gone."""
    world, draw = World(seed), random.Random(seed)
    for _ in range(4):
        world.add_node(draw.randint(2, 8))
    for _ in range(6):
        world.add_pod(draw.randint(1, 3), draw.randrange(3))
        world.add_gang(draw.randint(1, 3), draw.randint(1, 3), 1, draw.randrange(3), strict=True)
    fork, decided = world.engine.fork(), list[list[tuple[str, str]]]()
    for engine in (world.engine, fork):
        decided.append([])
        while (decisions := engine.schedule(0.0)) is not None:
            decided[-1] += [(each.pod.uid, each.node) for each in decisions if isinstance(each, Bind)]
    assert decided[0]
    assert decided[1] == decided[0]


def test_what_is_under_way_counts_as_done() -> None:
    world = World(0)
    world.add_node(4)
    world.add_pod(3, 0)
    world.schedule(1)
    (bind,) = world.unanswered
    fork = world.engine.fork()
    assert fork.cluster.pods.by_uid[bind.pod.uid].pod.spec.node_name == bind.node
    assert len(fork.queue) == 0
    assert bind.pod.uid in world.engine.binding
    world.answer(1, fails=True)
    assert bind.pod.uid in fork.cluster.pods.by_uid


def test_who_is_evicted_is_gone_there() -> None:
    world = cluster(node("a").has(cpu=2))
    world.schedule(pod("low").requests(cpu=2))
    high = pod("high").requests(cpu=2).priority(1000).build()
    world.engine.handle(PodAdded(high), 1.0)
    decided = world.engine.schedule(1.0) or []
    assert any(isinstance(each, Evict) for each in decided)
    fork = world.engine.fork()
    binds = [each for each in fork.schedule(1.0) or () if isinstance(each, Bind)]
    assert [(each.pod.key, each.node) for each in binds] == [("default/high", "a")]


def test_who_waits_at_permit_is_tried_anew() -> None:
    class Patient(Plugin):
        def permit(self, cycle: Any, pod: Any, node_name: str) -> Any:
            return wait(60.0, "not yet")

    world = cluster(node("a").has(cpu=2), policies=[Patient])
    world.schedule(pod("slow"))
    assert world.engine.waiting
    fork = world.engine.fork()
    assert len(fork.cluster.pods) == 0
    fork.schedule(0.0)
    assert list(fork.waiting) == list(world.engine.waiting)


def test_who_is_at_work_is_not_forked() -> None:
    world = World(0)
    world.engine._busy = True
    with pytest.raises(RuntimeError, match="at work"):
        world.engine.fork()
