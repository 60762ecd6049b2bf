"""Pods that are drawn to others by a selector: near in the network is better."""

from __future__ import annotations

from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code
from mooring.plugins.coscheduling.topology.marks import Marks
from mooring.plugins.coscheduling.topology.scoring import SelectorScores, ranks
from mooring.plugins.coscheduling.topology.trees import Trees
from mooring.testing import node, pod
from mooring.workloads.topology_wishes import SELECTOR_ANNOTATION
from plugins.coscheduling.topology.networks import LAYERS, T1, Shape, labels, tree
from plugins.stage import Stage

NT12: Shape = {"s1": {"b1": ("node-8", "node-1", "node-9"), "b2": ("node-7", "node-2")}, "s2": T1["s2"]}
NT12_RANKS = {"node-2": 0, "node-1": 1, "node-9": 2, "node-3": 3, "node-4": 4, "node-5": 5}


def test_nt12_near_pods_then_few_candidates_then_names() -> None:
    found = ranks(tree(NT12), list(NT12_RANKS)[::-1], {"node-8": 1, "node-7": 1, "node-6": 1})
    assert found == NT12_RANKS


def test_more_pods_on_the_node_itself_come_first() -> None:
    found = ranks(tree(), ["node-1", "node-8", "node-4"], {"node-4": 1, "node-8": 2})
    assert found == {"node-8": 0, "node-4": 1, "node-1": 2}


def test_candidates_outside_the_network_come_last() -> None:
    assert ranks(tree(), ["a", "node-5", "b"], {}) == {"node-5": 0, "a": 1, "b": 1}


def stage(shape: Shape) -> Stage:
    built = []
    for name, its in labels(shape).items():
        made = node(name)
        for key, value in its.items():
            made.label(key, value)
        built.append(made.build())
    return Stage(built)


def test_a_pod_with_a_selector_is_scored_by_all_pods_that_have_it() -> None:
    world = stage(NT12)
    for name in ("node-8", "node-7", "node-6"):
        world.take(pod(f"on-{name}").annotation(SELECTOR_ANNOTATION, "x").build(), name)
    world.take(pod("other").annotation(SELECTOR_ANNOTATION, "y").build(), "node-4")
    scores = SelectorScores(Trees(world.handle, LAYERS), Marks(world.handle))
    cycle, mine = Cycle("test", 0.0), pod("p").annotation(SELECTOR_ANNOTATION, "x").build()
    candidates = [view for view in world.view.nodes if view.name in NT12_RANKS]
    assert scores.pre_score(cycle, mine, candidates) is None
    raw = {view.name: scores.score(cycle, mine, view) for view in candidates}
    assert raw == NT12_RANKS
    normalized = dict(zip(raw, scores.normalize(list(raw.values())), strict=True))
    assert normalized["node-2"] == 100
    assert normalized["node-5"] == 0
    assert normalized["node-1"] == 80


def test_pods_without_a_selector_and_clusters_without_a_network_are_skipped() -> None:
    world = stage(T1)
    scores = SelectorScores(Trees(world.handle, LAYERS), Marks(world.handle))
    status = scores.pre_score(Cycle("test", 0.0), pod("p").build(), world.view.nodes)
    assert status is not None
    assert status.code is Code.SKIP
    nowhere = SelectorScores(Trees(world.handle), Marks(world.handle))
    mine = pod("p").annotation(SELECTOR_ANNOTATION, "x").build()
    status = nowhere.pre_score(Cycle("test", 0.0), mine, world.view.nodes)
    assert status is not None
    assert status.code is Code.SKIP
