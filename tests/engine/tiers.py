"""Has evaluations held in one way whatever is going on, or in another one for every decision."""

from __future__ import annotations

import random
from typing import Any

from mooring.engine.engine import Engine
from mooring.engine.kept.store import Tier

SHIFTING = "shifting"
TIERS = [*(tier.value for tier in Tier), SHIFTING]


def hold_as(engine: Engine, tier: str | None) -> None:
    """From now on; None leaves the choice to the engine."""
    kept = engine.placer.kept
    if tier == SHIFTING:
        draw, of = random.Random(0), kept.of

        def shifting(*arguments: Any) -> Any:
            kept.tier = draw.choice(list(Tier))
            return of(*arguments)

        kept.tier, kept.of = Tier.MATRIX, shifting
    elif tier is not None:
        kept.tier = Tier(tier)
