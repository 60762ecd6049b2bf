"""What pods request and are limited to."""

from __future__ import annotations

from typing import Any

from mooring.model.objects import Container, ObjectMeta, Pod, PodSpec, PodStatus, ResourceRequirements
from mooring.web.resource_metrics import LIMITS, REQUESTS, read_resources, unit_of


def container(requests: dict[str, Any], limits: dict[str, Any], **more: Any) -> Container:
    return Container(resources=ResourceRequirements(requests=requests, limits=limits), **more)


def amounts(pod: Pod) -> dict[str, dict[tuple[str, str], Any]]:
    return {
        reading.family.name: {labels[-2:]: value for labels, value in reading.series}
        for reading in read_resources([pod])
    }


def pod(*containers: Container, phase: str = "", node: str = "", **spec: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=PodSpec(containers=containers, node_name=node, **spec),
        status=PodStatus(phase=phase),
    )


def test_limits_add_up_like_requests() -> None:
    one = container({"cpu": "100m", "example.com/gpu": 1}, {"memory": "1Gi", "example.com/gpu": 1})
    init = container({"cpu": "2"}, {"memory": "3Gi"})
    found = amounts(pod(one, one, init_containers=(init,), overhead={"cpu": "50m", "memory": "1Mi"}))
    assert found[REQUESTS.name] == {
        ("cpu", "cores"): 2.05, ("memory", "bytes"): 2**20, ("example.com/gpu", ""): 2
    }  # fmt: skip
    assert found[LIMITS.name] == {("memory", "bytes"): 3 * 2**30 + 2**20, ("example.com/gpu", ""): 2}


def test_pods_that_are_done_are_left_out() -> None:
    asks = container({"cpu": "1"}, {})
    assert amounts(pod(asks, phase="Succeeded", node="a")) == {REQUESTS.name: {}, LIMITS.name: {}}
    assert amounts(pod(asks, phase="Running", node="a"))[REQUESTS.name] == {("cpu", "cores"): 1.0}


def test_units() -> None:
    assert unit_of("hugepages-2Mi") == "bytes"
    assert unit_of("ephemeral-storage") == "bytes"
    assert unit_of("attachable-volumes-csi-x") == "integer"
    assert unit_of("example.com/gpu") == ""
