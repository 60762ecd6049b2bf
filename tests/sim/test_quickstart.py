"""The example of the documentation, on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.config.load import default_config
from mooring.engine.engine import Engine
from mooring.framework.loading.discovery import installed_plugins
from mooring.framework.loading.registry import Registry
from mooring.plugins.defaults import DEFAULT_MULTI_POINT
from mooring.sim.manifests.manifests import read_manifests
from mooring.sim.report import render
from mooring.sim.result import Result, to_json
from mooring.sim.simulation import Simulation

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart"


def engine(*, keep_scores: bool = False) -> Engine:
    registry = Registry(DEFAULT_MULTI_POINT)
    for plugin, trusted in installed_plugins():
        registry.add(plugin, trusted=trusted)
    return Engine(default_config(registry).profiles, registry, keep_scores=keep_scores)


def run(*, scores: bool = False) -> Result:
    made = engine(keep_scores=scores)
    result = Simulation(made, read_manifests([EXAMPLE]), scores=scores).run()
    made.check()
    return result


@pytest.fixture(scope="module")
def result() -> Result:
    return run()


def placed(result: Result, prefix: str) -> list[str]:
    return sorted(node for pod, node in result.placements.items() if pod.startswith(prefix))


def test_what_cannot_fit_waits_and_nothing_else(result: Result) -> None:
    assert list(result.pending) == [
        "ml/forgot-toleration", "shop/gated", "shop/too-big", "shop/wrong-pool",
    ]  # fmt: skip
    assert "Insufficient cpu" in result.pending["shop/too-big"].message
    assert result.pending["shop/wrong-pool"].message.startswith("0/12 nodes are available: ")


@pytest.mark.parametrize(
    ("prefix", "pods"),
    [
        ("batch/reports-", 6),
        ("batch/reindex-", 4),
        ("ml/training-", 4),
        ("ml/inference-", 2),
        ("shop/storefront-", 8),
    ],
)
def test_workloads_are_complete(result: Result, prefix: str, pods: int) -> None:
    assert len(placed(result, prefix)) == pods


def test_daemons_are_everywhere(result: Result) -> None:
    assert len(set(placed(result, "platform/node-agent-"))) == 12


def test_ports_of_the_host_are_not_shared(result: Result) -> None:
    assert len(set(placed(result, "platform/ingress-"))) == 3


def test_the_cordoned_node_gets_daemons_only(result: Result) -> None:
    on_it = [pod for pod, node in result.placements.items() if node == "general-c3"]
    assert [pod.rpartition("-")[0] for pod in on_it] == ["platform/node-agent"]


def test_the_run_ends_with_the_last_shard(result: Result) -> None:
    assert result.summary.end_time_s == 285.0


def test_runs_repeat_to_the_byte(result: Result) -> None:
    again = run()
    assert to_json(again) == to_json(result)
    assert render(again) == render(result)


def test_scores_of_all_feasible_nodes() -> None:
    scores = run(scores=True).scores
    assert scores is not None
    assert set(scores["shop/orders-0"]) <= {
        f"general-{place}" for place in ("a1", "a2", "b1", "b2", "c1", "c2")
    }
