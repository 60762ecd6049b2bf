"""NodeResourcesFit: what a node is worth, by each strategy."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from mooring.errors import PluginFailed
from mooring.framework.api.cycle import Cycle
from mooring.model.objects import Container, Pod
from mooring.plugins.node_resources_fit import NodeResourcesFit
from mooring.plugins.node_resources_fit.args import FitArgs, UtilizationShapePoint
from mooring.plugins.node_resources_fit.strategies import (
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
    Strategy,
    percent,
    piecewise,
)
from plugins.stage import Stage, asking, container, node, pod

EXT, FOO, BAR = "example.com/ext", "example.com/foo", "example.com/bar"
MEMORY_TWICE = [{"name": "memory", "weight": 2}, {"name": "cpu", "weight": 1}]
WITH_EXT = [{"name": name, "weight": 1} for name in ("cpu", "memory", EXT)]
FOO_BAR = [{"name": FOO, "weight": 3}, {"name": BAR, "weight": 5}]


def shape(*points: tuple[int, int]) -> dict[str, Any]:
    return {"shape": [{"utilization": utilization, "score": score} for utilization, score in points]}


DOWN, UP = shape((0, 10), (100, 0)), shape((0, 0), (100, 1))


def cm(cpu_milli: int, memory: int) -> dict[str, Any]:
    return {"cpu": f"{cpu_milli}m", "memory": memory}


def score(
    allocatable: dict[str, Any],
    used: dict[str, Any],
    incoming: dict[str, Any] | Pod,
    kind: str = "LeastAllocated",
    resources: list[dict[str, Any]] | None = None,
    ratio: dict[str, Any] | None = None,
) -> int:
    strategy: dict[str, Any] = {"type": kind}
    if resources is not None:
        strategy["resources"] = resources
    if ratio is not None:
        strategy["requestedToCapacityRatio"] = ratio
    stage = Stage([node(allocatable=allocatable)])
    if used:
        stage.take(asking("used", used), "n")
    wanted = incoming if isinstance(incoming, Pod) else asking("p", incoming)
    return stage.scored(stage.make(NodeResourcesFit, scoringStrategy=strategy), wanted)["n"]


NO_MEMORY = cm(6000, 0)


@pytest.mark.parametrize(
    ("allocatable", "used", "incoming", "resources", "expected"),
    [
        pytest.param(cm(4000, 10000), {}, {}, None, 100, id="L1"),
        pytest.param(cm(4000, 10000), {}, cm(3000, 5000), None, 37, id="L2"),
        pytest.param(cm(6000, 10000), {}, cm(3000, 5000), None, 50, id="L3"),
        pytest.param(cm(10000, 20000), NO_MEMORY, {}, None, 70, id="L4"),
        pytest.param(cm(10000, 20000), cm(6000, 5000), {}, None, 57, id="L5"),
        pytest.param(cm(10000, 20000), cm(3000, 5000), cm(3000, 5000), None, 45, id="L6"),
        pytest.param(cm(10000, 50000), cm(3000, 5000), cm(3000, 5000), None, 60, id="L7"),
        pytest.param(cm(4000, 10000), cm(3000, 0), cm(3000, 0), None, 50, id="L8"),
        pytest.param(cm(4000, 10000), cm(3000, 0), cm(3000, 5000), None, 25, id="L9"),
        pytest.param(cm(0, 0), {}, cm(3000, 5000), None, 0, id="L10"),
        pytest.param(cm(4000, 10000), {}, cm(3000, 5000), MEMORY_TWICE, 41, id="L11"),
        pytest.param(cm(6000, 10000) | {EXT: 10}, {}, cm(3000, 5000) | {EXT: 2}, WITH_EXT, 60, id="L12"),
        pytest.param(cm(6000, 10000) | {EXT: 4}, {}, cm(3000, 5000) | {EXT: 2}, WITH_EXT, 50, id="L13"),
        pytest.param(cm(6000, 10000) | {EXT: 4}, {}, cm(3000, 5000), WITH_EXT, 50, id="L14"),
        pytest.param(cm(6000, 10000), {}, cm(3000, 4000) | {EXT: 2}, WITH_EXT, 55, id="L15"),
        pytest.param(cm(6000, 10000), {}, cm(3000, 5000), [], 50, id="no-resources-are-the-default"),
    ],
)
def test_least_allocated(
    allocatable: dict[str, Any],
    used: dict[str, Any],
    incoming: dict[str, Any],
    resources: list[dict[str, Any]] | None,
    expected: int,
) -> None:
    assert score(allocatable, used, incoming, resources=resources) == expected


def test_l16_a_strategy_without_resources_is_an_error() -> None:
    stage = Stage([node(allocatable=cm(1, 1))])
    plugin: Any = stage.make(NodeResourcesFit)
    plugin.strategy = LeastAllocated([])
    for call, nodes in ((plugin.score, stage.view.nodes[0]), (plugin.score_nodes, stage._columns(plugin))):
        with pytest.raises(PluginFailed, match="resources not found"):
            call(Cycle("test", 0.0), asking("p", cm(1, 1)), nodes)


@pytest.mark.parametrize("weight", [-1, 0, 101])
@pytest.mark.parametrize("kind", [LeastAllocated, MostAllocated])
def test_l17_weights_out_of_range(kind: type[Strategy], weight: int) -> None:
    with pytest.raises(ValueError, match=r"resource weight of cpu not in valid range \(0, 100\]"):
        kind([("cpu", weight)])


REQUESTLESS = pod(containers=(Container(),))
SMALL = {"cpu": "250m", "memory": "1000Mi"}


@pytest.mark.parametrize(
    ("allocatable", "used", "incoming", "resources", "expected"),
    [
        pytest.param(cm(4000, 10000), {}, {}, None, 0, id="M1"),
        pytest.param(cm(4000, 10000), {}, cm(3000, 5000), None, 62, id="M2"),
        pytest.param(cm(6000, 10000), {}, cm(3000, 5000), None, 50, id="M3"),
        pytest.param(cm(10000, 20000), NO_MEMORY, {}, None, 30, id="M4"),
        pytest.param(cm(10000, 20000), NO_MEMORY, cm(0, 5000), None, 42, id="M5"),
        pytest.param(cm(10000, 20000), cm(3000, 5000), cm(3000, 5000), None, 55, id="M6"),
        pytest.param(cm(5000, 10000), {}, cm(5000, 9000), None, 95, id="M7"),
        pytest.param(cm(10000, 9000), {}, cm(5000, 9000), None, 75, id="M8"),
        pytest.param(cm(4000, 10000), {}, cm(3000, 5000), MEMORY_TWICE, 58, id="M9"),
        pytest.param(SMALL, {}, REQUESTLESS, None, 30, id="M11"),
    ],
)
def test_most_allocated(
    allocatable: dict[str, Any],
    used: dict[str, Any],
    incoming: Any,
    resources: list[dict[str, Any]] | None,
    expected: int,
) -> None:
    assert score(allocatable, used, incoming, "MostAllocated", resources) == expected


def test_m10_pods_without_requests_are_supposed_to_need_something() -> None:
    stage = Stage([node(allocatable=SMALL)]).take(REQUESTLESS, "n").take(REQUESTLESS, "n")
    plugin = stage.make(NodeResourcesFit, scoringStrategy={"type": "MostAllocated"})
    assert stage.scored(plugin, REQUESTLESS)["n"] == 80


@pytest.mark.parametrize(
    ("ratio", "resources", "allocatable", "used", "incoming", "expected"),
    [
        pytest.param(DOWN, None, cm(4000, 10000), {}, {}, 100, id="R1"),
        pytest.param(DOWN, None, cm(4000, 10000), {}, cm(3000, 5000), 38, id="R2"),
        pytest.param(DOWN, None, cm(6000, 10000), {}, cm(3000, 5000), 50, id="R3"),
        pytest.param(UP, FOO_BAR[:1], {FOO: 8}, {}, {FOO: 2}, 2, id="R4-2/8"),
        pytest.param(UP, FOO_BAR[:1], {FOO: 4}, {}, {FOO: 2}, 5, id="R4-2/4"),
        pytest.param(UP, FOO_BAR[:1], {FOO: 4}, {FOO: 2}, {FOO: 2}, 10, id="R4-4/4"),
        pytest.param(UP, FOO_BAR[:1], {FOO: 4}, {}, {}, 0, id="R4-0"),
        pytest.param(UP, FOO_BAR, {FOO: 8, BAR: 4}, {}, {FOO: 2, BAR: 2}, 4, id="R5"),
        pytest.param(UP, FOO_BAR, {FOO: 4, BAR: 8}, {}, {FOO: 2, BAR: 2}, 3, id="R6"),
        pytest.param(UP, FOO_BAR, {FOO: 4, BAR: 8}, {FOO: 2, BAR: 2}, {FOO: 4, BAR: 2}, 7, id="R7"),
        pytest.param(UP, FOO_BAR, {FOO: 8, BAR: 4}, {}, {FOO: 4, BAR: 2}, 5, id="R8"),
        pytest.param(UP, FOO_BAR, {FOO: 4, BAR: 8}, {}, {FOO: 4, BAR: 2}, 5, id="R9"),
    ],
)
def test_requested_to_capacity_ratio(
    ratio: dict[str, Any],
    resources: list[dict[str, Any]] | None,
    allocatable: dict[str, Any],
    used: dict[str, Any],
    incoming: dict[str, Any],
    expected: int,
) -> None:
    assert score(allocatable, used, incoming, "RequestedToCapacityRatio", resources, ratio) == expected


@pytest.mark.parametrize(
    ("points", "at", "expected"),
    [
        pytest.param(
            [(10, 1), (90, 9)],
            [-10, 0, 9, 10, 15, 19, 20, 89, 90, 99, 110],
            [1, 1, 1, 1, 1, 1, 2, 8, 9, 9, 9],
            id="R10",
        ),
        pytest.param(
            [(0, 2), (40, 10), (100, 0)],
            [-10, 0, 20, 30, 40, 70, 100, 110],
            [2, 2, 6, 8, 10, 5, 0, 0],
            id="R11",
        ),
        pytest.param([(0, 10), (3, 0)], [1, 2], [7, 4], id="falling-is-cut-towards-zero"),
    ],
)
def test_piecewise(points: list[tuple[int, int]], at: list[int], expected: list[int]) -> None:
    assert [piecewise(points, place) for place in at] == expected


@pytest.mark.parametrize(
    ("strategy", "what"),
    [
        ({"type": "Other"}, "Invalid enum value 'Other'"),
        ({"resources": [{"name": "cpu", "weight": -1}]}, "resource weight of cpu not in valid range"),
        ({"resources": [{"name": "cpu", "weight": 101}]}, "resource weight of cpu not in valid range"),
        ({"type": "RequestedToCapacityRatio"}, "needs requestedToCapacityRatio with a shape"),
        ({"requestedToCapacityRatio": {"shape": []}}, "at least one point must be specified"),
        ({"requestedToCapacityRatio": shape((0, 0), (0, 1))}, "sorted in increasing order"),
        ({"requestedToCapacityRatio": shape((101, 0))}, "utilization 101 not in valid range"),
        ({"requestedToCapacityRatio": shape((0, 11))}, "score 11 not in valid range"),
        ({"unknown": 1}, "unknown field `unknown`"),
    ],
)
def test_wrong_strategies(strategy: dict[str, Any], what: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=what):
        msgspec.convert({"scoringStrategy": strategy}, FitArgs)


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ({"ignoredResources": ["a/b/c"]}, "is not the name of a resource"),
        ({"ignoredResourceGroups": ["example.com/a"]}, 'must not contain "/"'),
        ({"ignoredResourceGroups": ["-"]}, "is not the name of a group"),
    ],
)
def test_wrong_ignored_resources(args: dict[str, Any], what: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=what):
        msgspec.convert(args, FitArgs)


def test_a_weight_of_0_in_a_configuration_is_1() -> None:
    plugin: Any = Stage().make(
        NodeResourcesFit, scoringStrategy={"resources": [{"name": "cpu", "weight": 0}, {"name": "memory"}]}
    )
    assert plugin.strategy.resources == (("cpu", 1), ("memory", 1))


def test_requests_of_the_pod_as_a_whole_are_not_scored() -> None:
    whole = pod(containers=(container(cm(1000, 1000)),), resources=container(cm(3000, 3000)).resources)
    assert score(cm(4000, 4000), {}, whole) == score(cm(4000, 4000), {}, cm(1000, 1000)) == 75


def test_percent_is_exact_beyond_floats() -> None:
    whole = np.array([2**62, 2**53 + 2, 0, 7], np.int64)
    part = np.array([2**62 - 1, 2**53 + 1, 0, 7], np.int64)
    divisor = np.maximum(whole, 1).astype(np.float64)
    assert percent(part, whole, divisor, 2**62).tolist() == [99, 99, 0, 100]


def test_ratio_of_nothing_is_not_rounded_up() -> None:
    flat = [UtilizationShapePoint(utilization=0, score=0)]
    strategy = RequestedToCapacityRatio([("cpu", 1)], flat)
    assert strategy.many([], 2).tolist() == [0, 0]
