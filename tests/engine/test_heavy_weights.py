"""Kept totals equal fresh ones for every weight that a configuration may have."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from engine.tiers import TIERS, hold_as
from mooring.framework.api.scope import Scope
from mooring.model.objects import Pod

MOST = 2**31 - 1


def by_name(scope: Scope, raw: bool) -> Any:
    """The higher the number of a node, the better; its last digit, on a node with pods."""

    def score(self: Any, cycle: Any, pod: Pod, node: Any) -> int:
        number = int(node.name[1:])
        return number if scope is Scope.STATIC else number % 10 * 10

    points: dict[str, Any] = {"score": score, "scope": scope}
    if raw:
        points["normalize"] = lambda self, values: [100 - value for value in values]
    return made(f"{scope.name.title()}{'Raw' if raw else ''}", **points)


@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("weight", [6_000_000, 2_000_000_000, MOST])
@pytest.mark.parametrize("raw", [False, True])
def test_kept_totals_hold_whatever_scores_weigh(tier: str | None, weight: int, raw: bool) -> None:
    scorers = by_name(Scope.STATIC, raw), by_name(Scope.ROW, raw)
    enabled = ", ".join(f"{{name: {scorer.name}, weight: {weight}}}" for scorer in scorers)
    stage = Stage(*scorers, text=f"profiles:\n- plugins: {{multiPoint: {{enabled: [{enabled}]}}}}\n")
    stage.nodes(*(node(f"n{number}", cpu="2" if number % 7 else "0") for number in range(100)))
    hold_as(stage.engine, tier)
    got = []
    for number in range(6):
        got.append(stage.place(pod(f"p{number}")))
        stage.engine.check(afresh=True)
    if not raw:
        assert got == ["n99", "n99", "n89", "n89", "n79", "n79"]
