"""`check(afresh=True)` finds what is kept and not so any more: damage, or a plugin that reads too much."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, node, pod
from mooring import Plugin, Scope
from mooring.engine.placement.kept.store import Tier
from mooring.errors import InvariantError


def busy(tier: Tier, *policies: Any) -> Stage:
    stage = Stage(*policies).nodes(node("a", cpu=4), node("b", cpu=8), node("c", cpu=8))
    stage.engine.placer.kept.tier = tier
    for number in range(3):
        stage.add(pod(f"p{number}", cpu=1))
        stage.cycle()
    return stage


@pytest.mark.parametrize("tier", Tier)
def test_what_is_kept_is_what_is_found(tier: Tier) -> None:
    stage = busy(tier)
    stage.engine.check(afresh=True)
    stage.nodes(node("d", cpu=16))
    stage.engine.check(afresh=True)
    (kept,) = stage.engine.placer.kept
    assert set(dict(kept.index.totals())) == {0, 1, 2, 3}


@pytest.mark.parametrize("tier", Tier)
def test_a_damaged_score_is_found(tier: Tier) -> None:
    stage = busy(tier)
    stage.engine.check(afresh=True)
    (kept,) = stage.engine.placer.kept
    if tier is Tier.BUCKETS:
        kept.index.put(0, kept.index.group_of[0].raws, 3)
    else:
        kept.index.base[0] = 3
    with pytest.raises(InvariantError, match="on a and 0 more nodes"):
        stage.engine.check(afresh=True)


def test_a_plugin_that_reads_more_than_it_declares_is_found() -> None:
    mood = {"score": 1}

    class Moody(Plugin):
        scope = Scope.STATIC

        def score(self, cycle: Any, pod: Any, node: Any) -> int:
            return mood["score"]

    stage = busy(Tier.BUCKETS, Moody)
    stage.engine.check(afresh=True)
    mood["score"] = 2
    with pytest.raises(InvariantError, match="and 2 more nodes"):
        stage.engine.check(afresh=True)
