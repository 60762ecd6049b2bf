"""NodeResourcesBalancedAllocation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.model.objects import Container
from mooring.plugins.balanced_allocation import BalancedAllocationArgs, NodeResourcesBalancedAllocation
from plugins.stage import Stage, asking, node, pod

GPU = "nvidia.com/gpu"
RESOURCES = [{"name": name, "weight": 1} for name in ("cpu", "memory", GPU)]


def amounts(cpu: int, memory: int, gpu: int = 0) -> dict[str, Any]:
    return {"cpu": f"{cpu}m", "memory": memory} | ({GPU: gpu} if gpu else {})


@pytest.mark.parametrize(
    ("used", "asked", "allocatable", "expected"),
    [
        pytest.param(amounts(0, 0), amounts(3000, 5000), amounts(4000, 10000), 68, id="B1"),
        pytest.param(amounts(0, 0), amounts(3000, 5000), amounts(6000, 10000), 75, id="B2"),
        pytest.param(amounts(3000, 0), amounts(3000, 5000), amounts(10000, 20000), 73, id="B3"),
        pytest.param(amounts(3000, 5000), amounts(3000, 5000), amounts(10000, 20000), 74, id="B4"),
        pytest.param(amounts(3000, 5000), amounts(3000, 5000), amounts(10000, 50000), 70, id="B5"),
        pytest.param(amounts(3000, 0), amounts(0, 5000), amounts(3000, 5000), 100, id="B6"),
        pytest.param(amounts(0, 0), amounts(0, 5000), amounts(3000, 5000), 50, id="B7"),
        pytest.param(amounts(3000, 0), amounts(3000, 0), amounts(6000, 10000), 62, id="B8"),
        pytest.param(amounts(3000, 5000), amounts(3000, 0), amounts(6000, 10000), 62, id="B9"),
        pytest.param(amounts(3000, 5000, 3), amounts(0, 0, 1), amounts(3500, 40000, 8), 75, id="B10"),
        pytest.param(amounts(3000, 5000), amounts(0, 0, 1), amounts(3500, 40000, 8), 76, id="B11"),
        pytest.param(amounts(0, 0), amounts(3000, 5000), amounts(3500, 40000, 8), 56, id="B12"),
        pytest.param(amounts(0, 0), amounts(3000, 5000), amounts(0, 0), 75, id="nothing-to-use"),
        pytest.param(amounts(0, 0), amounts(3000, 5000), amounts(0, 10000), 75, id="one-resource"),
        pytest.param(amounts(5000, 0), amounts(3000, 0), amounts(4000, 10000), 75, id="over-full"),
        pytest.param(amounts(0, 0), amounts(1, 0, 1), amounts(4, 0, 4), 75, id="two-of-three-there"),
    ],
)
def test_balance(used: Any, asked: Any, allocatable: Any, expected: int) -> None:
    stage = Stage([node(allocatable=allocatable)]).take(asking("used", used), "n")
    plugin = stage.make(NodeResourcesBalancedAllocation, resources=RESOURCES)
    assert stage.scored(plugin, asking("p", asked))["n"] == expected
    if GPU not in asked:
        default = stage.make(NodeResourcesBalancedAllocation)
        assert stage.scored(default, asking("p", asked))["n"] == expected


def test_b13_best_effort_pods_are_skipped() -> None:
    plugin = Stage().make(NodeResourcesBalancedAllocation)
    assert plugin.sign(pod(containers=(Container(),))) is None
    assert plugin.sign(asking("p", amounts(1, 0))) == (1, 0)


def test_beyond_the_integers_floats_can_hold() -> None:
    memory = 2**60 + 1
    stage = Stage([node(allocatable=amounts(3, memory))]).take(asking("used", amounts(1, 2**59 + 1)), "n")
    plugin = stage.make(NodeResourcesBalancedAllocation)
    assert stage.scored(plugin, asking("p", amounts(1, 2**58 + 1)))["n"] == 77


@pytest.mark.parametrize(
    ("resources", "what"),
    [
        ([{"name": "cpu", "weight": 2}], "resource weight of cpu should be 1"),
        ([{"name": "cpu"}, {"name": "cpu"}], "resource cpu is given twice"),
    ],
)
def test_wrong_arguments(resources: list[Any], what: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=what):
        msgspec.convert({"resources": resources}, BalancedAllocationArgs)
