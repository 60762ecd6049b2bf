"""How evaluations are held: which way when, within which memory, and that it makes no difference."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from engine.stage import BUILT_IN, Stage, node, pod
from engine.tiers import TIERS, hold_as
from engine.twice import place_twice
from mooring.engine.placement.kept import bases, matrix, store
from mooring.engine.placement.kept.buckets import Buckets
from mooring.engine.placement.kept.evaluation import KeptEvaluation
from mooring.engine.placement.kept.flat import Flat
from mooring.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread


def world(*plugins: Any, nodes: int = 12, **more: Any) -> Stage:
    stage = Stage(*plugins, base=BUILT_IN, keep_scores=True, **more)
    stage.nodes(*(node(f"n{number}", cpu=str(4 + number % 3)) for number in range(nodes)))
    return stage


def kept_of(stage: Stage) -> list[KeptEvaluation]:
    return list(stage.engine.placer.kept)


def place(stage: Stage, prefix: str, count: int, cpu: str) -> None:
    stage.add(*(pod(f"{prefix}-{number}", cpu=cpu) for number in range(count)))
    stage.all()


def test_a_class_begins_flat_and_gets_buckets_when_it_is_busy() -> None:
    stage = world(nodes=40)
    place(stage, "first", 1, "1m")
    (kept,) = kept_of(stage)
    assert isinstance(kept.index, Flat)
    place(stage, "more", store.PAYS_AFTER, "1m")
    assert isinstance(kept.index, Buckets)
    stage.engine.placer.kept.check()


def test_many_busy_classes_share_a_matrix() -> None:
    stage = world(nodes=40)
    for turn in range(store.PAYS_AFTER + 2):
        for kind in range(store.FEW_CLASSES + 2):
            place(stage, f"p{turn}-{kind}", 1, f"{kind + 1}m")
    held = kept_of(stage)
    assert all(isinstance(kept.index, Flat) for kept in held)
    assert len({kept.slot for kept in held}) == len(held) == store.FEW_CLASSES + 2
    stage.engine.placer.kept.check()


def test_buckets_are_given_up_when_many_classes_are_busy() -> None:
    stage = world(nodes=40)
    place(stage, "hot", store.PAYS_AFTER + 1, "1m")
    (hot,) = kept_of(stage)
    assert isinstance(hot.index, Buckets)
    for turn in range(7):
        for kind in range(store.FEW_CLASSES + 2):
            place(stage, f"p{turn}-{kind}", 1, f"{kind + 1}m")
    assert isinstance(hot.index, Flat)
    stage.engine.placer.kept.check()


def test_the_least_recently_used_is_dropped_for_want_of_memory() -> None:
    stage = world()
    place(stage, "a", 1, "1m")
    place(stage, "b", 1, "2m")
    first, second = kept_of(stage)
    stage.engine.placer.kept.most_bytes = stage.engine.placer.kept.nbytes
    place(stage, "a-again", 1, "1m")
    place(stage, "c", 1, "3m")
    assert second not in kept_of(stage)
    assert first in kept_of(stage)
    stage.engine.placer.kept.check()


@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("most_bytes", [store.BYTES_KEPT, 1])
def test_nodes_fill_up_come_and_go(tier: str | None, most_bytes: int) -> None:
    """Thirty classes in turn on nodes that fill up, while there come more than the table has room for."""
    draw = random.Random(0)
    stage = world(PodTopologySpread, InterPodAffinity, nodes=20)
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    stage.engine.placer.kept.most_bytes = most_bytes
    running = []
    for turn in range(240):
        kind = turn % 30
        new = pod(f"p{turn}", cpu=f"{200 + 40 * kind}m", memory="100Mi" if kind % 2 else None)
        stage.add(new)
        stage.all()
        running.append(new)
        if turn % 3 == 0:
            stage.delete(running.pop(draw.randrange(len(running))))
        if turn % 2 == 0:
            stage.change(node(f"n{turn % 90}", cpu=draw.choice(["1", "3", "6"]), pods=draw.choice([3, 30])))
        if turn % 40 == 39:
            stage.delete(node(f"n{turn % 17}"))
        stage.engine.check()
        stage.engine.placer.kept.check()


def test_a_plugin_that_fails_over_many_pods_costs_speed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Columns:
        def put(self, slot: int, made: Any) -> None:
            pass

        def score(self, view: Any, slots: int) -> Any:
            raise RuntimeError("oh")

    monkeypatch.setattr(NodeResourcesBalancedAllocation, "pod_columns", lambda self: Columns())
    stage = world(nodes=30)
    place_twice(stage.engine)
    hold_as(stage.engine, "matrix")
    for turn in range(40):
        place(stage, f"p{turn}", 1, f"{turn % 8 + 1}m")
    assert len(stage.engine.cluster.pods.by_uid) == 40
    stage.engine.placer.kept.check()


def weighing(weight: int) -> str:
    """A profile in which one plugin weighs so much."""
    name = "name: NodeResourcesBalancedAllocation"
    score = f"{{enabled: [{{{name}, weight: {weight}}}], disabled: [{{{name}}}]}}"
    return f"profiles:\n- plugins:\n    score: {score}\n"


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("weight", "kind"),
    [(60, bases.NARROW), (100, bases.WIDE), (10_000, bases.WIDE), (6_000_000, bases.WIDEST)],
)
def test_scores_that_weigh_much(tier: str, weight: int, kind: Any) -> None:
    stage = world(nodes=20, text=weighing(weight))
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    for turn in range(36):
        kind_of_pod = turn % 12
        stage.add(pod(f"p{turn}", cpu=f"{900 + 50 * kind_of_pod}m", memory=f"{100 + 300 * kind_of_pod}Mi"))
        stage.all()
        stage.engine.placer.kept.check()
    assert {kept.kind for kept in kept_of(stage)} == {kind}


@pytest.mark.parametrize("weights", [[81], [82], [1, 2, 3], [], [2**22], [2**23], [2**31 - 1] * 100])
def test_no_total_is_mistaken_for_another(weights: list[int]) -> None:
    """A row or a group that is not feasible comes out negative, whatever is added, and nothing overflows."""
    kind = bases.kind_for(bases.highest(weights))
    most, limits = 100 * sum(weights), np.iinfo(kind)
    assert most + most <= limits.max
    assert bases.nowhere(kind) + most < 0
    assert bases.no_group(kind) + most < 0
    assert bases.nowhere(kind) + bases.no_group(kind) >= limits.min
    assert most - bases.nowhere(kind) <= limits.max


@pytest.mark.parametrize("tier", [None, *TIERS])
def test_resources_that_few_nodes_have(tier: str | None) -> None:
    """Every node has one of its own, some have another; pods want one, or both, or more than there is."""
    draw = random.Random(1)
    stage = Stage(base=BUILT_IN, keep_scores=True)
    own = [{f"example.com/r{number}": "3", "example.com/all": str(number % 3)} for number in range(16)]
    stage.nodes(*(node(f"n{number}", extra=extra) for number, extra in enumerate(own)))
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    running = []
    for turn in range(80):
        wants = {f"example.com/r{draw.randrange(18)}": draw.choice(["1", "2"])} if turn % 4 else {}
        wants |= {"example.com/all": "1"} if turn % 3 == 0 else {}
        running.append(new := pod(f"p{turn}", cpu=f"{1 + turn % 5}m", extra=wants))
        stage.add(new)
        stage.all()
        if turn % 2:
            stage.delete(running.pop(draw.randrange(len(running))))
        if turn % 20 == 19:
            stage.change(node(f"n{turn % 16}", extra=draw.choice(own)))
        stage.engine.placer.kept.check()


def test_who_is_not_asked_any_more_leaves_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "PAYS_FOR", 20)
    stage = world(nodes=200)
    place_twice(stage.engine)
    hold_as(stage.engine, "matrix")
    place(stage, "once", 1, "500m")
    (idle,) = kept_of(stage)
    for turn in range(40):
        place(stage, f"p{turn}", 1, f"{turn % 8 + 1}m")
    assert idle.slot is None
    assert sum(kept.slot is not None for kept in kept_of(stage)) == 8
    place(stage, "new", 1, "2")  # who takes its place
    stage.engine.placer.kept.check()
    place(stage, "again", 1, "500m")
    assert idle.slot is not None
    stage.engine.placer.kept.check()
