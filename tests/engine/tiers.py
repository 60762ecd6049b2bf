"""Has evaluations held in one way whatever is going on, or in another one for every decision."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from mooring.engine.engine import Engine
from mooring.engine.placement.kept import buckets, flat
from mooring.engine.placement.kept.store import Tier

SHIFTING = "shifting"
TIERS = [*(tier.value for tier in Tier), SHIFTING]


@contextmanager
def tables_above(groups: int | None) -> Iterator[None]:
    """Has more groups than these rated all at once; None leaves the choice to the engine."""
    if groups is None:
        yield
        return
    with (
        patch.object(buckets, "MANY", groups),
        patch.object(buckets, "FEW_AGAIN", groups),
        patch.object(flat, "MANY", groups),
    ):
        yield


def hold_as(engine: Engine, tier: str | None) -> None:
    """From now on; None leaves the choice to the engine. Ties are looked at as well: all the best."""
    kept = engine.placer.kept
    best_kept = engine.placer._best_kept

    def looked_at(pod_class: Any, cycle: Any, wanted: Any, evaluation: Any, rows: Any) -> Any:
        best, tied = evaluation.index.best()
        totals = dict(evaluation.index.totals())
        right = sorted(row for row, total in totals.items() if total == max(totals.values()))
        assert sorted(row for part in tied for row in part) == right
        assert best == max(totals.values(), default=-1)
        assert evaluation.index.feasible() == len(totals)
        return best_kept(pod_class, cycle, wanted, evaluation, rows)

    engine.placer._best_kept = looked_at
    if tier == SHIFTING:
        draw, of = random.Random(0), kept.of

        def shifting(*arguments: Any) -> Any:
            kept.tier = draw.choice(list(Tier))
            return of(*arguments)

        kept.tier, kept.of = Tier.MATRIX, shifting
    elif tier is not None:
        kept.tier = Tier(tier)
