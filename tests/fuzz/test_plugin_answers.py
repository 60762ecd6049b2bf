"""Whatever plugins answer: nothing ends, nobody else suffers, nobody is lost, and who is to blame is named.

Every point is given every kind of nonsense, one after the other, by one engine: what is left of an answer
meets the next. Then plugins of chance, odd at several points: what is kept says what is found afresh.
"""

from __future__ import annotations

import random
import zlib
from typing import Any

import pytest

from engine.stage import made, node, pod
from fuzz.fuzzing import IS_LONG, fuzzed
from fuzz.nonsense import VALUES
from fuzz.odd_plugins import ASKED, NAME, SESSION, SORTS, TOLD, OddWorld, nodes, odd_plugin, ordinary
from mooring.framework.api.scope import Scope
from mooring.framework.metrics.meter import Meter

EVERY = 1 if IS_LONG else 13  # of the values: each point has others
SCOPED = ("filter", "score", "filter_nodes", "score_nodes", "normalize", "sign", "version", "statuses_of")
MOST_SAID = 10_000  # characters of a message


def values_for(case: int) -> list[str]:
    return [name for number, name in enumerate(VALUES) if (number + case) % EVERY == 0]


CASES = [
    (point, scope, metered)
    for point in ASKED
    for scope in ((Scope.CLUSTER, Scope.ROW, Scope.STATIC) if point in SCOPED else (Scope.CLUSTER,))
    for metered in ((False, True) if IS_LONG or point in ("filter", "score", "permit") else (False,))
]


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=[f"{p}-{s.name}{'-metered' if m else ''}" for p, s, m in CASES]
)
def test_nonsense_at_a_point(number: int) -> None:
    point, scope, metered = CASES[number]
    said: dict[str, Any] = {"value": "none"}
    plugin = odd_plugin(point, lambda *a: VALUES[said["value"]](), scope)
    world = OddWorld(plugin, point=point, meter=Meter(lambda: 0.0) if metered else None)
    world.stage.nodes(*nodes())
    world.come(pod("low", "1", priority=-5, scheduler_name="other"))
    world.settle()
    for name in values_for(number):
        said["value"] = name
        odd = pod(f"odd-{zlib.crc32(name.encode())}", "500m", priority=3)
        large = pod(f"large-{odd.name}", "9", priority=5)
        fine = ordinary(f"fine-{odd.name}")
        world.come(odd, large, fine)
        world.settle()
        world.tick(2.0)
        assert fine.name in world.bound, f"an ordinary pod suffers from {name}"
        world.check()
        for each in (odd, large):
            if each.name not in world.bound and (wait := world.waits.get(each.name)) is not None:
                blamed = NAME in wait.message or NAME in wait.plugins
                assert blamed or point in TOLD or wait.plugins, f"{name}: {wait.message}"
                assert len(wait.message) < MOST_SAID
        said["value"] = "none"
        for each in (odd, large, fine):
            world.go(each.name)
        world.stage.engine.network()
        world.settle()
    world.check()


# plugins of chance

SANE: dict[str, list[str]] = {
    "filter": ["none", "none", "none", "unschedulable", "unresolvable", "pending"],
    "score": ["zero", "seven", "hundred"],
    "pre_filter": ["none", "none", "skip", "unschedulable", "two nodes"],
    "pre_score": ["none", "skip"],
    "reserve": ["none", "none", "unschedulable"],
    "permit": ["none", "none", "wait", "unschedulable"],
    "post_filter": ["unschedulable", "unresolvable"],
    "pre_bind_patch": ["none", "dict"],
    "before_pre_filter": ["none"],
    "after_pre_filter": ["none", "unschedulable"],
    "before_filter": ["none", "none", "unschedulable"],
    "before_score": ["none"],
    "allocate": ["none", "unschedulable"],
    "resize_pod": ["none"],
    "find_one_node": ["none", "skip", "node name"],
    "pre_enqueue": ["none", "none", "unschedulable"],
    "normalize": ["own"],
}
MORE: dict[str, Any] = {
    "seven": lambda: 7,
    "hundred": lambda: 100,
    "two nodes": lambda: {"n0", "n1"},
    "node name": lambda: "n0",
}
# What is different each time it is asked for would make two runs differ.
STEADY = [name for name in VALUES if name not in ("moody", "set of hostile", "huge list", "long text")]
NODE_POINTS = ("filter", "score", "before_filter", "allocate")


class Chance:
    """Answers that depend on the point, on what is asked about, and on nothing else."""

    def __init__(self, rng: random.Random) -> None:
        self.seed = rng.random()
        self.odd = rng.choice([0.02, 0.1, 0.4])  # how many answers are nonsense
        self.points = rng.sample(sorted(SANE), rng.randint(1, 6))
        self.scope = rng.choice(list(Scope))
        self.bad = rng.sample(STEADY, 12)

    def plugin(self) -> Any:
        members: dict[str, Any] = {point: self.method(point) for point in self.points if point != "normalize"}
        if "normalize" in self.points:
            members["score"] = lambda plugin, cycle, pod, node: len(node.name) * 37 % 11
            members["normalize"] = lambda plugin, values: self.say("normalize", str(values), len(values))
        return made(NAME, scope=self.scope, **members)

    def method(self, point: str) -> Any:
        def method(plugin: Any, *arguments: Any) -> Any:
            about = next(
                (each for each in arguments if hasattr(each, "labels") and hasattr(each, "spec")), None
            )
            words = str(about.labels.get("kind")) if about is not None else ""
            if point in NODE_POINTS:
                words += arguments[-1].name
            return self.say(point, words)

        return method

    def say(self, point: str, about: str, count: int = 0) -> Any:
        rng = random.Random(f"{self.seed} {point} {about}")
        if rng.random() < self.odd:
            if rng.random() < 0.2:
                raise RuntimeError(f"{point} fails")
            return VALUES[rng.choice(self.bad)]()
        sane = rng.choice(SANE[point])
        if sane == "own":
            return [rng.randint(0, 100) for _ in range(count)]
        return (MORE.get(sane) or VALUES[sane])()


def live(rng: random.Random, chance: Chance, *, keep: bool) -> list[str]:
    """A life of a cluster, and everything that was decided in it."""
    world = OddWorld(chance.plugin(), seed=7, keep_scores=True)
    engine = world.stage.engine
    engine.placer.keep_evaluations = keep
    told: list[str] = []
    world.stage.nodes(*(node(f"n{i}", str(2 + i % 3)) for i in range(4)))
    for step in range(rng.randint(5, 25)):
        match rng.choice(["odd", "odd", "odd", "fine", "node", "drop", "go", "tick"]):
            case "odd":
                kind = rng.randrange(4)
                for copy in range(rng.randint(1, 3)):
                    labels = {"kind": str(kind)}
                    world.come(pod(f"odd-{step}-{copy}", f"{1 + kind}00m", priority=kind, labels=labels))
            case "fine":
                world.come(ordinary(f"fine-{step}"))
            case "node":
                world.put(node(f"n{rng.randrange(7)}", rng.choice(["2", "4"])))
            case "drop":
                _drop(world, f"n{rng.randrange(7)}")
            case "go" if world.pods:
                world.go(rng.choice(sorted(world.pods)))
            case _:
                world.tick(rng.choice([0.5, 3.0, 40.0]))
        world.settle()
        told.append(f"{step}: {sorted(world.bound.items())}")
        told.extend(f"{name}: {wait.message}" for name, wait in sorted(world.waits.items()))
    world.check()
    for each in world.pods.values():
        queued = engine.queue.get(each.uid)
        if each.name.startswith("fine") and not world.stage.holds(each):
            assert queued is not None
            assert NAME not in queued.rejectors
    return told


def _drop(world: OddWorld, name: str) -> None:
    """A node goes, and its pods with it."""
    if name in world.stage.engine.cluster.nodes.rows:
        for each in [pod for pod, there in world.bound.items() if there == name]:
            world.go(each)
        world.stage.delete(node(name))


@fuzzed(played=8)
def test_plugins_of_chance(rng: random.Random) -> None:
    chance, seed = Chance(rng), rng.random()
    kept = live(random.Random(seed), chance, keep=True)
    assert kept == live(random.Random(seed), chance, keep=False)


def test_every_kind_of_hook_is_asked() -> None:
    assert {point for point in ASKED if point.startswith(SESSION)}
    assert set(SORTS) < set(ASKED)
