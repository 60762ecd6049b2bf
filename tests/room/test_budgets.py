"""Disruption budgets as the API server writes them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.model.objects import Object, ObjectMeta
from mooring.room.budgets import read_budget

WEB = {"matchLabels": {"app": "web"}}


def budget(selector: Any, status: Any) -> Object:
    data = {"spec": {"selector": selector}, "status": status}
    meta = ObjectMeta(name="b", namespace="default")
    return Object(api_version="policy/v1", kind="PodDisruptionBudget", metadata=meta, data=data)


@pytest.mark.parametrize(
    "selector",
    [None, {}, {"matchExpressions": [{"key": "a", "operator": "Near"}]}, "app=web", {"matchLabels": 7}],
    ids=["none", "empty", "unknown operator", "text", "number"],
)
def test_a_budget_that_covers_nobody(selector: Any) -> None:
    assert read_budget(budget(selector, {"disruptionsAllowed": 1})) is None


@pytest.mark.parametrize("status", [None, {}, {"disruptionsAllowed": None}], ids=["none", "empty", "null"])
def test_a_budget_nobody_has_worked_out_allows_nothing(status: Any) -> None:
    found = read_budget(budget(WEB, status))
    assert found is not None
    assert (found.allowed, found.disrupted) == (0, frozenset())


def test_what_a_budget_covers() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}
    found = read_budget(budget(selector, {"disruptionsAllowed": 2, "disruptedPods": {"p": "2024-01-01"}}))
    assert found is not None
    assert (found.allowed, found.disrupted) == (2, {"p"})
    assert found.covers("default", {"app": "db"})
    assert found.covers("default", {"tier": "x"})
    assert not found.covers("default", {"app": "web"})
    assert not found.covers("other", {"app": "db"})
    assert not found.covers("default", {})
