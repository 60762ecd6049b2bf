"""The plugins that fit on a page: their answers, their signatures, and the default order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.framework.api.cycle import Cycle
from mooring.framework.api.normalize import maximum, reversed_maximum
from mooring.framework.api.status import Code
from mooring.framework.loading.discovery import class_at
from mooring.framework.loading.rehearsal import rehearse
from mooring.framework.running.inspection import check_plugin
from mooring.model.objects import Pod, PodSchedulingGate, Toleration
from mooring.plugins.default_binder import NO_API, DefaultBinder
from mooring.plugins.defaults import DEFAULT_MULTI_POINT
from mooring.plugins.node_name import OTHER_NODE, NodeName
from mooring.plugins.node_unschedulable import CORDONED, TAINT, NodeUnschedulable
from mooring.plugins.priority_sort import PrioritySort
from mooring.plugins.scheduling_gates import SchedulingGates
from plugins.stage import Stage, node, pod

UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
BEARS = pod(tolerations=(Toleration(key=TAINT.key, operator="Exists"),))

BUILT_IN = {
    "PrioritySort": "priority_sort",
    "SchedulingGates": "scheduling_gates",
    "NodeName": "node_name",
    "NodeUnschedulable": "node_unschedulable",
    "TaintToleration": "taint_toleration",
    "NodeAffinity": "node_affinity",
    "NodePorts": "node_ports",
    "NodeResourcesFit": "node_resources_fit",
    "NodeResourcesBalancedAllocation": "balanced_allocation",
    "ImageLocality": "image_locality",
    "DefaultBinder": "default_binder",
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_plugins_pass_the_checks_of_any_plugin(name: str) -> None:
    plugin = class_at(f"mooring.plugins.{BUILT_IN[name]}:{name}")
    assert plugin.name == name
    check_plugin(plugin)
    if name not in ("PrioritySort", "SchedulingGates", "DefaultBinder"):
        rehearse(plugin)


@pytest.mark.parametrize(
    ("values", "up", "down"),
    [
        pytest.param([1, 2, 3, 4], [25, 50, 75, 100], [75, 50, 25, 0], id="N1-N2"),
        pytest.param([1000, 10, 20, 30], [100, 1, 2, 3], [0, 99, 98, 97], id="N3"),
        pytest.param([1, 1, 1, 1], [100] * 4, [0] * 4, id="N4"),
        pytest.param([1000, 1, 1, 1], [100, 0, 0, 0], [0, 100, 100, 100], id="N5"),
        pytest.param([0, 0, 0, 0], [0] * 4, [100] * 4, id="N6"),
    ],
)
def test_normalisation(values: list[int], up: list[int], down: list[int]) -> None:
    assert maximum(values) == up
    assert reversed_maximum(values) == down


class Waiting(msgspec.Struct):
    pod: Pod
    timestamp: float
    group: tuple[float, str] | None = None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param((10, 2.0), (5, 1.0), True, id="higher-priority"),
        pytest.param((5, 1.0), (10, 2.0), False, id="lower-priority"),
        pytest.param((5, 1.0), (5, 2.0), True, id="older"),
        pytest.param((5, 2.0), (5, 2.0), False, id="same"),
        pytest.param((None, 1.0), (-1, 0.0), True, id="none-is-zero"),
    ],
)
def test_priority_sort(
    first: tuple[int | None, float], second: tuple[int | None, float], expected: bool
) -> None:
    plugin: Any = Stage().make(PrioritySort)
    one, other = (Waiting(pod(priority=priority), at) for priority, at in (first, second))
    assert plugin.less(one, other) is expected
    assert (plugin.sort_key(one) < plugin.sort_key(other)) is expected


def test_scheduling_gates() -> None:
    plugin: Any = Stage().make(SchedulingGates)
    assert plugin.pre_enqueue(pod()) is None
    gated = pod(scheduling_gates=(PodSchedulingGate(name="a"), PodSchedulingGate(name="b")))
    status = plugin.pre_enqueue(gated)
    assert (status.code, status.reasons) == (UU, ("waiting for scheduling gates: [a b]",))


def test_node_name() -> None:
    stage = Stage([node("n"), node("m")])
    plugin = stage.make(NodeName)
    found = stage.filtered(plugin, pod(node_name="n"))
    assert found["n"] is None
    assert found["m"] is not None
    assert (found["m"].code, found["m"].reasons) == (UU, (OTHER_NODE,))
    assert set(stage.filtered(plugin, pod()).values()) == {None}
    assert all(stage.filtered(plugin, pod(node_name="gone")).values())
    assert (plugin.sign(pod()), plugin.sign(pod(node_name="n"))) == (None, "n")


def test_node_unschedulable() -> None:
    stage = Stage([node("n"), node("m", unschedulable=True)])
    plugin = stage.make(NodeUnschedulable)
    found = stage.filtered(plugin, pod())
    assert found["n"] is None
    assert found["m"] is not None
    assert (found["m"].code, found["m"].reasons) == (UU, (CORDONED,))
    assert set(stage.filtered(plugin, BEARS).values()) == {None}
    assert plugin.sign(BEARS) is None
    assert plugin.sign(pod()) is not None


class Server:
    """An API server that remembers what it was asked, or refuses."""

    def __init__(self, refusal: str = "") -> None:
        self.bound: list[tuple[str, str]] = []
        self.refusal = refusal

    async def bind(self, pod: Pod, node_name: str) -> None:
        if self.refusal:
            raise RuntimeError(self.refusal)
        self.bound.append((pod.key, node_name))


async def test_binder_binds() -> None:
    stage = Stage()
    plugin: Any = stage.make(DefaultBinder)
    stage.handle.api = server = Server()  # type: ignore[assignment]
    assert await plugin.bind(Cycle("test", 0.0), pod("p"), "n") is None
    assert server.bound == [("default/p", "n")]


@pytest.mark.parametrize(("api", "message"), [(Server("conflict"), "conflict"), (None, NO_API)])
async def test_binder_tells_why_it_could_not(api: Any, message: str) -> None:
    stage = Stage()
    plugin: Any = stage.make(DefaultBinder)
    stage.handle.api = api
    status = await plugin.bind(Cycle("test", 0.0), pod("p"), "n")
    assert (status.code, status.message) == (Code.ERROR, message)


def test_default_order_and_weights() -> None:
    names = (
        "SchedulingGates PrioritySort NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts "
        "NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
        "InterPodAffinity DynamicResources DefaultPreemption NodeResourcesBalancedAllocation ImageLocality "
        "DefaultBinder NodeDeclaredFeatures"
    )
    ours = ("Coscheduling",)  # what kube-scheduler does not have
    assert " ".join(use.name for use in DEFAULT_MULTI_POINT if use.name not in ours) == names
    assert [use.name for use in DEFAULT_MULTI_POINT][1:2] == ["Coscheduling"]
    heavy = {use.name: use.weight for use in DEFAULT_MULTI_POINT if use.weight != 1}
    twos = ("NodeAffinity", "PodTopologySpread", "InterPodAffinity", "DynamicResources")
    assert heavy == {"TaintToleration": 3} | dict.fromkeys(twos, 2)
