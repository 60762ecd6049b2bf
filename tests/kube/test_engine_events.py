"""What the engine is told of, and what not."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kube.test_decode_objects import REPLICA_SET, wire_node
from kube.test_decode_pods import wire_pod
from mooring.engine.events import (
    Event,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
)
from mooring.kube.decode.decoders import Decoders
from mooring.kube.resources import REPLICA_SETS
from mooring.kube.watch.engine_events import Intake, same_node, same_object, same_pod
from mooring.model.objects import Object, ObjectMeta
from mooring.testing import node, pod

DECODE = Decoders()


def test_each_change_is_one_event() -> None:
    told: list[Event] = []
    intake = Intake(told.append)
    for deliver, sample in (
        (intake.pod, pod("p").build()),
        (intake.node, node("n").build()),
        (intake.object, Object(api_version="v1", kind="Service", metadata=ObjectMeta(name="s"), data={})),
    ):
        deliver(None, sample)  # type: ignore[operator]
        deliver(sample, sample)  # type: ignore[operator]
        deliver(sample, None)  # type: ignore[operator]
    assert [type(each) for each in told] == [
        PodAdded, PodChanged, PodDeleted,
        NodeAdded, NodeChanged, NodeDeleted,
        ObjectAdded, ObjectChanged, ObjectDeleted,
    ]  # fmt: skip


def read_pod(change: Any = None) -> Any:
    found = wire_pod(1)
    found["metadata"]["resourceVersion"] = "77" if change else "76"
    if change:
        change(found)
    return DECODE.pod(json.dumps(found).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p["metadata"].update(managedFields=[]),
        lambda p: p["metadata"]["annotations"].update({"cni.projectcalico.org/podIP": "10.9.9.9/32"}),
        lambda p: p["status"].update(podIP="10.1.1.1", qosClass="Burstable"),
        lambda p: p["status"]["containerStatuses"][0].update(restartCount=9, ready=True),
        lambda p: p["status"]["conditions"][0].update(status="False"),
    ],
)
def test_a_pod_that_only_runs_is_the_same(change: Any) -> None:
    assert same_pod(read_pod(), read_pod(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p["metadata"]["labels"].update(app="other"),
        lambda p: p["metadata"]["annotations"].update(team="red"),
        lambda p: p["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
        lambda p: p["spec"].update(nodeName="other"),
        lambda p: p["spec"]["containers"][0]["resources"]["requests"].update(cpu="1"),
        lambda p: p["spec"].update(tolerations=[]),
        lambda p: p["status"].update(nominatedNodeName="n"),
        lambda p: p["status"].update(phase="Pending"),
        lambda p: p["status"]["containerStatuses"][0].update(allocatedResources={"cpu": "1"}),
    ],
)
def test_a_pod_that_differs_to_placement_is_another(change: Any) -> None:
    assert not same_pod(read_pod(), read_pod(change))


def read_node(change: Any = None) -> Any:
    found = wire_node("n", heartbeat="2" if change else "1")
    if change:
        change(found)
    return DECODE.node(json.dumps(found).encode())


def test_a_heartbeat_changes_nothing() -> None:
    def beat(found: Any) -> None:
        found["status"]["addresses"] = [{"type": "InternalIP", "address": "10.0.0.1"}]

    assert read_node().metadata.resource_version != read_node(beat).metadata.resource_version
    assert same_node(read_node(), read_node(beat))


@pytest.mark.parametrize(
    "change",
    [
        lambda n: n["metadata"]["labels"].update(zone="b"),
        lambda n: n["metadata"].update(annotations={"a": "b"}),
        lambda n: n["spec"].update(unschedulable=True),
        lambda n: n["spec"].update(taints=[]),
        lambda n: n["status"]["allocatable"].update(cpu="1"),
        lambda n: n["status"]["conditions"][0].update(status="False"),
        lambda n: n["status"]["images"].pop(),
    ],
)
def test_a_node_that_differs_to_placement_is_another(change: Any) -> None:
    assert not same_node(read_node(), read_node(change))


def test_a_workload_that_scales_is_the_same() -> None:
    decode = DECODE.of(REPLICA_SETS)
    scaled = {**REPLICA_SET, "spec": {**REPLICA_SET["spec"], "replicas": 5}}
    other = {**REPLICA_SET, "spec": {"selector": {"matchLabels": {"app": "db"}}}}
    one, two, three = (decode(json.dumps(each).encode()) for each in (REPLICA_SET, scaled, other))
    assert isinstance(one, Object)
    assert isinstance(two, Object)
    assert isinstance(three, Object)
    assert same_object(one, two)
    assert not same_object(one, three)
    renamed = msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, uid="other"))
    assert not same_object(one, renamed)
