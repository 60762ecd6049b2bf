"""NodeResourcesFit: what does not fit, and why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.framework.api.status import Code
from mooring.model.objects import Container, Pod
from mooring.plugins.node_resources_fit import NodeResourcesFit
from plugins.stage import Stage, asking, container, node, pod

EXT = "example.com/a"
OTHER = "example.com/b"
ROOM = {"cpu": "10m", "memory": 20, EXT: 5, "ephemeral-storage": 20, "pods": 32}
U, UU = Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE
PASS: tuple[Code, tuple[str, ...]] | None = None


def cm(cpu: int, memory: int, **more: Any) -> dict[str, Any]:
    return {"cpu": f"{cpu}m", "memory": memory, **more}


def pod_of(*containers: Container, init: tuple[Container, ...] = (), **spec: Any) -> Pod:
    return pod(containers=containers, init_containers=init, **spec)


def short(code: Code, *resources: str) -> tuple[Code, tuple[str, ...]]:
    return code, tuple(f"Insufficient {resource}" for resource in resources)


def ext(amount: int, name: str = EXT) -> Container:
    return container({name: amount})


ONE = container(cm(1, 1))


@pytest.mark.parametrize(
    ("incoming", "used", "expected"),
    [
        pytest.param(pod_of(Container()), cm(10, 20), PASS, id="F1"),
        pytest.param(pod_of(ONE), cm(10, 20), short(U, "cpu", "memory"), id="F2"),
        pytest.param(pod_of(ONE, init=(container(cm(3, 1)),)), cm(8, 19), short(U, "cpu"), id="F3"),
        pytest.param(
            pod_of(ONE, init=(container(cm(3, 1)), container(cm(2, 1)))),
            cm(8, 19),
            short(U, "cpu"),
            id="F3-two-init",
        ),
        pytest.param(pod_of(ONE, init=(ONE, ONE)), cm(9, 19), PASS, id="F4"),
        pytest.param(pod_of(container(cm(5, 1))), cm(5, 19), PASS, id="F5"),
        pytest.param(pod_of(container(cm(2, 1))), cm(9, 5), short(U, "cpu"), id="F6-cpu"),
        pytest.param(pod_of(container(cm(1, 2))), cm(5, 19), short(U, "memory"), id="F6-memory"),
        pytest.param(pod_of(ext(10)), {}, short(UU, EXT), id="F7"),
        pytest.param(pod_of(Container(), init=(ext(10),)), {}, short(UU, EXT), id="F7-init"),
        pytest.param(pod_of(ext(1)), {EXT: 5}, short(U, EXT), id="F8"),
        pytest.param(pod_of(ext(3), ext(3)), {EXT: 2}, short(UU, EXT), id="F9"),
        pytest.param(pod_of(Container(), init=(ext(3), ext(3))), {EXT: 2}, PASS, id="F10"),
        pytest.param(pod_of(ext(1, OTHER)), {}, short(UU, OTHER), id="F11"),
        pytest.param(pod_of(ONE, overhead=cm(3, 13)), cm(5, 5), PASS, id="F13"),
        pytest.param(pod_of(ONE, overhead=cm(1, 15)), cm(5, 5), short(U, "memory"), id="F14"),
        pytest.param(
            pod_of(container({"ephemeral-storage": 25})), {}, short(UU, "ephemeral-storage"), id="F16"
        ),
        pytest.param(pod_of(container(cm(11, 5))), cm(0, 19), short(UU, "cpu", "memory"), id="mixed"),
    ],
)
def test_fits(incoming: Pod, used: dict[str, Any], expected: tuple[Code, tuple[str, ...]] | None) -> None:
    stage = Stage([node(allocatable=ROOM)])
    if used:
        stage.take(asking("used", used), "n")
    status = stage.filtered(stage.make(NodeResourcesFit), incoming)["n"]
    assert (status and (status.code, status.reasons)) == expected


@pytest.mark.parametrize(
    "args",
    [
        pytest.param({"ignoredResources": [OTHER]}, id="F12-resource"),
        pytest.param({"ignoredResourceGroups": ["example.com"]}, id="F12-group"),
    ],
)
def test_ignored_resources_do_not_count(args: dict[str, Any]) -> None:
    stage = Stage([node(allocatable=ROOM)])
    plugin = stage.make(NodeResourcesFit, **args)
    assert stage.filtered(plugin, pod_of(ext(1, OTHER)))["n"] is None
    assert plugin.sign(pod_of(ext(1, OTHER))) == plugin.sign(pod_of(container({OTHER: 2})))


def test_only_extended_resources_can_be_ignored() -> None:
    stage = Stage([node(allocatable=ROOM)])
    plugin = stage.make(NodeResourcesFit, ignoredResources=["hugepages-2Mi"])
    status = stage.filtered(plugin, pod_of(container({"hugepages-2Mi": 1})))["n"]
    assert status is not None
    assert status.reasons == ("Insufficient hugepages-2Mi",)


@pytest.mark.parametrize(
    "incoming", [pytest.param(pod_of(Container()), id="F15"), pytest.param(pod_of(ONE), id="F15-fitting")]
)
def test_too_many_pods(incoming: Pod) -> None:
    stage = Stage([node(allocatable=ROOM | {"pods": 1})]).take(pod("other"), "n")
    status = stage.filtered(stage.make(NodeResourcesFit), incoming)["n"]
    assert status is not None
    assert (status.code, status.reasons) == (U, ("Too many pods",))


def test_every_reason_is_told() -> None:
    stage = Stage([node(allocatable=ROOM | {"pods": 1})]).take(asking("other", cm(10, 20)), "n")
    status = stage.filtered(stage.make(NodeResourcesFit), pod_of(ONE))["n"]
    assert status is not None
    assert status.reasons == ("Too many pods", "Insufficient cpu", "Insufficient memory")
    assert status.plugin == "NodeResourcesFit"


def test_pods_of_another_cluster_are_not_mixed_up() -> None:
    small, large = Stage([node(allocatable={EXT: 1})]), Stage([node(allocatable={OTHER: 9, EXT: 9})])
    plugin, incoming = small.make(NodeResourcesFit), pod_of(ext(2))
    assert small.filtered(plugin, incoming)["n"] is not None
    assert large.filtered(plugin, incoming)["n"] is None
    assert small.filtered(plugin, incoming)["n"] is not None


def test_sees_columns_that_were_replaced_by_wider_ones() -> None:
    stage = Stage([node(allocatable=ROOM)])
    plugin, incoming = stage.make(NodeResourcesFit), pod_of(ONE)
    assert stage.filtered(plugin, incoming)["n"] is None
    for number in range(100):
        stage.put(node(f"n{number}", ROOM))
    stage.take(asking("used", cm(10, 20)), "n")
    assert stage.filtered(plugin, incoming)["n"] is not None


def test_signature_is_as_coarse_as_the_answers() -> None:
    plugin = Stage().make(NodeResourcesFit)
    one, same = pod_of(ONE), pod_of(msgspec.structs.replace(ONE, image="other"))
    assert plugin.sign(one) == plugin.sign(same)
    assert plugin.sign(one) != plugin.sign(pod_of(container(cm(1, 2))))
