"""One node for many pods gives what one node for one pod gives, whatever was in a slot before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.framework.api.cycle import Cycle
from mooring.model.objects import Pod
from mooring.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from mooring.plugins.node_resources_fit import NodeResourcesFit
from plugins.stage import Stage, asking, node

GPU, FPGA, DISK = "nvidia.com/gpu", "example.com/fpga", "ephemeral-storage"
RISING = {"shape": [{"utilization": 10, "score": 2}, {"utilization": 60, "score": 9}]}
UNEVEN = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 3}]
FIT: list[dict[str, Any]] = [
    {},
    {"scoringStrategy": {"type": "LeastAllocated", "resources": UNEVEN}},
    {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
    {"scoringStrategy": {"type": "MostAllocated", "resources": UNEVEN}},
    {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": RISING}},
]
BALANCED: list[dict[str, Any]] = [
    {},
    {"resources": [{"name": "cpu"}]},
    {"resources": [{"name": "cpu"}, {"name": "memory"}, {"name": DISK}]},
]
CPU = st.sampled_from(["0", "1m", "100m", "333m", "1", "2500m", "7"])
MEMORY = st.sampled_from(["0", "1", "100Mi", "1Gi", "3Gi", "100Ti", "2Pi"])
FEW = st.sampled_from(["0", "1", "2"])
REQUESTS = st.fixed_dictionaries(
    {}, optional={"cpu": CPU, "memory": MEMORY, GPU: FEW, FPGA: FEW, DISK: MEMORY}
)
ROOM = st.fixed_dictionaries(
    {"pods": st.sampled_from(["0", "2", "110"])},
    optional={"cpu": CPU, "memory": MEMORY, GPU: FEW, FPGA: FEW, DISK: MEMORY},
)


def pods_of(requests: list[dict[str, Any]], prefix: str) -> list[Pod]:
    return [asking(f"{prefix}{number}", each) for number, each in enumerate(requests)]


@pytest.mark.parametrize("args", FIT)
@settings(max_examples=80, deadline=None)
@given(ROOM, *[st.lists(REQUESTS, max_size=4)] * 2, st.lists(REQUESTS, min_size=1, max_size=40))
def test_fit(args: Any, room: Any, running: Any, before: Any, asked: Any) -> None:
    stage = Stage([node("n", room)])
    for each in pods_of(running, "r"):
        stage.take(each, "n")
    plugin: Any = stage.make(NodeResourcesFit, **args)
    columns, view, cycle = plugin.pod_columns(), stage.view.node("n"), Cycle("p", 0.0)
    pods = pods_of(asked, "p")
    for slot, each in enumerate([*pods_of(before, "b"), *pods]):
        columns.put(slot if slot < len(before) else slot - len(before), each)
    passes, scores = columns.filter(view, len(pods)), columns.score(view, len(pods))
    assert passes.tolist() == [plugin.filter(cycle, each, view) is None for each in pods]
    assert scores.tolist() == [plugin.score(cycle, each, view) for each in pods]


@pytest.mark.parametrize("args", BALANCED)
@settings(max_examples=80, deadline=None)
@given(ROOM, st.lists(REQUESTS, max_size=4), st.lists(REQUESTS, min_size=1, max_size=40))
def test_balanced(args: Any, room: Any, running: Any, asked: Any) -> None:
    stage = Stage([node("n", room)])
    for each in pods_of(running, "r"):
        stage.take(each, "n")
    plugin: Any = stage.make(NodeResourcesBalancedAllocation, **args)
    columns, view, cycle = plugin.pod_columns(), stage.view.node("n"), Cycle("p", 0.0)
    pods = pods_of(asked, "p")
    for slot, each in enumerate(pods):
        columns.put(slot, each)
    assert columns.score(view, len(pods)).tolist() == [plugin.score(cycle, each, view) for each in pods]


def test_none_where_a_resource_takes_part_for_some_pods_only() -> None:
    stage = Stage([node("n", {"cpu": "1"})])
    extended = [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 1}]
    fit: Any = stage.make(NodeResourcesFit, scoringStrategy={"resources": extended})
    balanced: Any = stage.make(NodeResourcesBalancedAllocation, resources=[{"name": GPU}])
    assert fit.pod_columns() is None
    assert balanced.pod_columns() is None
