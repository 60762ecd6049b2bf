"""Many groups of nodes rated all at once: the same as one by one, whatever comes and goes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine.stage import BUILT_IN, Stage
from engine.tiers import TIERS, hold_as, tables_above
from engine.twice import place_twice
from mooring.engine.placement.kept.buckets import FEW_AGAIN, MANY, Buckets
from mooring.engine.placement.kept.evaluation import KeptEvaluation
from mooring.engine.placement.kept.flat import Flat
from mooring.framework.api.domain import DomainState
from mooring.framework.api.key_columns import LiftedColumns
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.interpod_state import InterPodState
from mooring.plugins.topology.spread import PodTopologySpread
from mooring.plugins.topology.spread_state import SpreadState
from mooring.testing import node, pod
from mooring.testing.builders import PodBuilder

HOST, RACK = "kubernetes.io/hostname", "rack"
WEB, DB = {"app": "web"}, {"app": "db"}
RACKS = MANY + 15
WORST = 1  # the only rack whose nodes have two taints: when it does not pass, one taint is as bad as can be
KINDS: dict[str, Any] = {
    "hard": lambda p: p.spread(RACK, WEB),
    "soft": lambda p: p.spread(RACK, WEB, soft=True),
    "hosts as well": lambda p: p.spread(RACK, WEB, soft=True).spread(HOST, WEB, 2, soft=True),
    "both": lambda p: p.spread(RACK, WEB, 2).spread(HOST, WEB, soft=True).spread(RACK, DB, soft=True),
    "apart": lambda p: p.apart(RACK, WEB),
    "near": lambda p: p.near(RACK, WEB),
    "preferred": lambda p: p.prefers_near(RACK, WEB, 7).prefers_apart(HOST, WEB, 3),
    "all": lambda p: p.spread(RACK, WEB, 3).prefers_apart(RACK, WEB, 9).apart(HOST, DB).near(RACK, WEB),
}


def make_node(number: int, *, rack: int | None = None, taint: bool = False) -> Any:
    made = node(f"n{number}").has(cpu=str(4 + number % 3), pods=3 + number % 4)
    if number % 29:
        made.label(RACK, f"r{number % RACKS if rack is None else rack}")
    if taint or number % 11 == 0 or number % RACKS == WORST:
        made.taint("old", effect="PreferNoSchedule")
    if number % RACKS == WORST:
        made.taint("slow", effect="PreferNoSchedule")
    return made.build()


def make_pod(kind: str, number: int) -> Any:
    made: PodBuilder = KINDS[kind](pod(f"p{number}").label("app", "db" if number % 5 == 4 else "web"))
    return made.requests(cpu="100m").build()


def world(tier: str | None) -> Stage:
    stage = Stage(PodTopologySpread, InterPodAffinity, base=BUILT_IN, keep_scores=True)
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    stage.nodes(*(make_node(number) for number in range(2 * RACKS)))
    return stage


def kept_of(stage: Stage) -> list[KeptEvaluation]:
    return list(stage.engine.placer.kept)


def in_tables(stage: Stage) -> list[bool]:
    """Of every evaluation, whether its groups are rated all at once."""
    return [
        kept.index._table is not None if isinstance(kept.index, Buckets) else kept.index._columns is not None
        for kept in kept_of(stage)
    ]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_makes_no_difference(kind: str, tier: str) -> None:
    """Placed twice, afresh and by what is kept, while nodes and pods come and go."""
    draw, stage, running = random.Random(0), world(tier), []
    for turn in range(30):
        new = make_pod(kind, turn)
        stage.add(new)
        stage.all()
        running.append(new)
        if turn == 12:
            stage.add(pod("there").label("app", "web").running_on(f"n{WORST}").build())
        if turn % 4 == 0:
            stage.delete(running.pop(draw.randrange(len(running))))
        if turn % 5 == 0:
            number = draw.randrange(3 * RACKS)
            rack = draw.randrange(RACKS + 10)
            stage.change(make_node(number, rack=rack, taint=draw.random() < 0.3))
        if turn % 9 == 8:
            stage.delete(make_node(draw.randrange(2 * RACKS)))
        stage.engine.placer.kept.check()
    assert any(in_tables(stage)), "the table was never used"
    stage.engine.check()


def test_groups_become_few_and_many_again() -> None:
    stage = world("buckets")
    seen = []
    for racks in (RACKS, FEW_AGAIN // 2, RACKS):
        for number in range(2 * RACKS):
            stage.change(make_node(number, rack=number % racks))
        for turn in range(6):
            stage.add(make_pod("soft", turn + 100 * len(seen)))
            stage.all()
            stage.engine.placer.kept.check()
        seen.append(any(in_tables(stage)))
    assert seen == [True, False, True]


def test_columns_made_of_single_keys_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for state in (SpreadState, InterPodState):
        monkeypatch.setattr(state, "columns", DomainState.columns)
    stage = world("buckets")
    for turn in range(30):
        stage.add(make_pod("all", turn))
        stage.all()
        stage.engine.placer.kept.check()
    (kept, *_) = kept_of(stage)
    assert isinstance(kept.index, Buckets)
    assert kept.index._table is not None
    assert all(isinstance(keys, LiftedColumns) for _, keys in kept.index._table._columns._keys)


def test_few_groups_have_no_table() -> None:
    stage = world("buckets")
    stage.add(*(pod(f"plain-{number}").requests(cpu="1m").build() for number in range(3)))
    stage.all()
    assert in_tables(stage) == [False]


def test_the_best_rows_of_many_groups_are_one_sequence() -> None:
    stage = world("buckets")
    stage.add(make_pod("soft", 0))
    stage.all()
    (kept,) = kept_of(stage)
    best, (tied,) = kept.index.best()
    right = [row for row, total in kept.index.totals() if total == best]
    assert len(tied) == len(right) > 1
    assert sorted(tied) == sorted(tied[index] for index in range(len(tied))) == sorted(right)
    with pytest.raises(IndexError):
        tied[len(tied)]


def test_nobody_passes() -> None:
    with tables_above(0):
        stage = world("buckets")
        stage.add(pod("far").near(RACK, DB).label("app", "web").build())
        stage.all()
        assert not stage.engine.cluster.pods.by_uid
        (kept,) = kept_of(stage)
        assert not isinstance(kept.index, Flat)
        assert kept.index.best() == (-1, [])
