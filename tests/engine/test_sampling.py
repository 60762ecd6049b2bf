"""Looking at some of the nodes, as kube-scheduler does when told to."""

from __future__ import annotations

import msgspec
import pytest

from mooring.cluster.cluster import Cluster
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, NodeAdded, PodAdded
from mooring.engine.placement.sampling import feasible_wanted, tree_order
from mooring.plugins.catalogue import plans_with
from mooring.testing import node, pod


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [(10, 10), (100, 100), (150, 100), (250, 120), (500, 230), (1000, 420), (2000, 680), (5000, 500),
     (6000, 300), (15000, 750)],
)  # fmt: skip
def test_adaptive_K5(nodes: int, wanted: int) -> None:
    assert feasible_wanted(0, nodes) == wanted


@pytest.mark.parametrize(
    ("percentage", "nodes", "wanted"), [(40, 10, 10), (40, 1000, 400), (40, 6000, 2400), (1, 1000, 100)]
)
def test_given_percentage_K6(percentage: int, nodes: int, wanted: int) -> None:
    assert feasible_wanted(percentage, nodes) == wanted


def test_nodes_are_listed_zone_by_zone_in_turn_K7() -> None:
    cluster = Cluster()
    zones = {"z0": [0], "z1": [1], "z2": [2], "z3": [3, 4], "z4": [5], "z5": [6, 7, 8]}
    with cluster.statement() as statement:
        for zone, numbers in zones.items():
            for number in numbers:
                statement.put_node(node(f"n{number}").zone(zone).build())
    names = [cluster.nodes.object_at(row).name for row in tree_order(cluster.nodes)]
    assert names == [f"n{number}" for number in (0, 1, 2, 3, 5, 6, 4, 7, 8)]


def engine_with(percentage: int | None, *, adaptive: bool, nodes: int, kept: bool) -> Engine:
    plans, registry = plans_with([], {}, {})
    plan = msgspec.structs.replace(plans[0], percentage_of_nodes_to_score=percentage, adaptive=adaptive)
    engine = Engine([plan], registry, keep_scores=True)
    engine.placer.keep_evaluations = kept
    for number in range(nodes):
        engine.handle(NodeAdded(node(f"n{number}").build()), 0.0)
    return engine


def seen_by(engine: Engine, name: str) -> list[int]:
    """The numbers of the nodes that were found feasible for a pod."""
    wanted = pod(name).build()
    engine.handle(PodAdded(wanted), 0.0)
    (bind,) = engine.schedule(0.0) or ()
    engine.handle(Bound(wanted, bind.node), 0.0)  # type: ignore[union-attr]
    return sorted(int(n[1:]) for n in engine.scores[wanted.key])


@pytest.mark.parametrize("kept", [False, True])
def test_each_search_starts_where_the_last_one_ended(kept: bool) -> None:
    engine = engine_with(50, adaptive=False, nodes=300, kept=kept)
    assert seen_by(engine, "a") == list(range(150))
    assert seen_by(engine, "b") == list(range(150, 300))
    assert seen_by(engine, "c") == list(range(150))


@pytest.mark.parametrize("kept", [False, True])
def test_all_nodes_are_looked_at_unless_asked_otherwise(kept: bool) -> None:
    for engine in (
        engine_with(None, adaptive=False, nodes=300, kept=kept),
        engine_with(0, adaptive=False, nodes=300, kept=kept),
        engine_with(100, adaptive=False, nodes=300, kept=kept),
    ):
        for name in ("a", "b"):
            assert seen_by(engine, name) == list(range(300))


def test_adaptive_looks_at_as_many_as_kube_scheduler_would() -> None:
    engine = engine_with(None, adaptive=True, nodes=250, kept=True)
    assert len(seen_by(engine, "a")) == 120
