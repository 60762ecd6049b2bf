"""How evaluations are held: which way when, within which memory, and that it makes no difference."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine.stage import BUILT_IN, Stage, node, pod
from engine.tiers import TIERS, hold_as
from engine.twice import place_twice
from mooring.engine.kept import store
from mooring.engine.kept.buckets import Buckets
from mooring.engine.kept.evaluation import KeptEvaluation
from mooring.engine.kept.flat import Flat
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
