"""Which of several equally good nodes, and that the same seed decides the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from mooring.framework.api.normalize import maximum
from mooring.framework.api.scope import Scope

NODES = [f"n{i}" for i in range(8)]


def ties(rule: str) -> str:
    return f'profiles:\n- pluginConfig: [{{name: Mooring, args: {{ties: "{rule}"}}}}]\n'


def by_label(name: str = "ByRank", **members: Any) -> type:
    return made(
        name, scope=Scope.STATIC, score=lambda self, cycle, pod, node: int(node.labels["rank"]), **members
    )


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "full"])
def test_the_first_is_the_node_that_joined_first(kept: bool) -> None:
    stage = Stage(text=ties("First")).nodes("c", "a", "b")
    stage.engine.placer.keep_evaluations = kept
    assert [stage.place(pod(f"p{i}")) for i in range(4)] == ["c", "a", "b", "c"]


def test_a_node_that_left_and_came_back_is_the_last() -> None:
    stage = Stage(text=ties("First")).nodes("c", "a", "b")
    stage.delete(node("c"))
    stage.nodes("c")
    assert [stage.place(pod(f"p{i}")) for i in range(3)] == ["a", "b", "c"]


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "full"])
def test_another_scorer_decides(kept: bool) -> None:
    ranks = {"a": "1", "b": "9", "c": "9", "d": "4"}
    nodes = [node(name, labels={"rank": rank}) for name, rank in ranks.items()]
    stage = Stage(by_label(), text=ties("ByRank")).nodes(*nodes)
    stage.engine.placer.keep_evaluations = kept
    assert [stage.place(pod(f"p{i}")) for i in range(5)] == ["b", "c", "d", "a", "b"]


def test_another_scorer_decides_by_what_it_normalizes_to() -> None:
    coarse = by_label(normalize=lambda self, values: [v // 10 for v in maximum(values)])
    nodes = [node(name, labels={"rank": rank}) for name, rank in (("a", "100"), ("b", "109"), ("c", "105"))]
    stage = Stage(coarse, text=ties("ByRank")).nodes(*nodes)
    assert stage.place(pod("p")) == "b"


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "full"])
def test_a_draw_is_even(kept: bool) -> None:
    """Chi-square with 7 degrees of freedom: 24.3 is passed once in a thousand; the seed is fixed."""
    stage = Stage(seed=11).nodes(*NODES)
    stage.engine.placer.keep_evaluations = kept
    drawn: Counter[str] = Counter()
    for i in range(1600):
        subject = pod(f"p{i}", "100m")
        stage.add(subject)
        decisions = stage.engine.schedule(0.0)
        assert decisions is not None
        drawn[decisions[0].node] += 1
        stage.delete(subject)
    expected = 1600 / len(NODES)
    assert sum((drawn[name] - expected) ** 2 / expected for name in NODES) < 24.3


def decisions(seed: int, *, kept: bool = True) -> list[tuple[str, str]]:
    stage = Stage(seed=seed).nodes(*NODES)
    stage.engine.placer.keep_evaluations = kept
    found = []
    for i in range(60):
        stage.now = i / 10
        stage.add(pod(f"p{i}", f"{100 + 50 * (i % 3)}m", priority=i % 2))
        found += [(decision.pod.name, getattr(decision, "node", "")) for decision in stage.cycle() or ()]
        if i % 7 == 0:
            stage.delete(pod(found[i // 2][0]))
    return found


def test_the_same_seed_decides_the_same() -> None:
    assert decisions(5) == decisions(5)


def test_another_seed_decides_otherwise() -> None:
    assert decisions(5) != decisions(6)


def test_plugins_draw_from_the_same_source() -> None:
    drawn = [Stage(made("Draws", filter=lambda *a: None), seed=3).plugin("Draws").handle.random for _ in "ab"]
    assert drawn[0].random() == drawn[1].random()
