"""Nodes and other objects off the wire: what is kept of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.kube.decode.decoders import Decoders
from mooring.kube.resources import (
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    REPLICA_SETS,
    SERVICES,
    STORAGE_CLASSES,
    Resource,
)
from mooring.model.objects import Node, Object

Plain = dict[str, Any]


def encode(found: Plain) -> bytes:
    return json.dumps(found).encode()


def wire_node(name: str, heartbeat: str = "1", **status: Any) -> Plain:
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": heartbeat,
            "labels": {"kubernetes.io/hostname": name, "zone": "a"},
            "managedFields": [{"time": heartbeat}],
        },
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule", "timeAdded": heartbeat}]},
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi"},
            "allocatable": {"cpu": "7900m", "memory": "31Gi"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}],
            "images": [{"names": ["app:1"], "sizeBytes": 5}, {"names": ["db:1", "db@x"], "sizeBytes": 9}],
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
            **status,
        },
    }


def test_nodes_share_what_they_report_alike() -> None:
    decode = Decoders().node
    nodes = [decode(encode(wire_node(f"n{number}", str(number)))) for number in range(4)]
    one, other = nodes[-2:]
    assert isinstance(one, Node)
    assert one.labels == {"kubernetes.io/hostname": "n2", "zone": "a"}
    assert one.spec.taints == other.spec.taints
    assert one.status.allocatable is other.status.allocatable
    assert one.status.conditions is other.status.conditions
    assert one.status.images[1] is other.status.images[1]
    assert (one.status.images[1].names, one.status.images[1].size_bytes) == (("db:1", "db@x"), 9)
    assert (one.status.allocatable["cpu"], one.status.capacity["cpu"]) == ("7900m", "8")


def test_a_bare_node_is_read() -> None:
    node = Decoders().node(b'{"metadata":{"name":"n"},"spec":{"taints":null},"status":{"images":null}}')
    assert (node.name, node.spec.taints, node.status.images) == ("n", (), ())


def decoded(resource: Resource, found: Plain, *, whole: bool = False) -> Object:
    read = Decoders().of(resource, whole=whole)(encode(found))
    assert isinstance(read, Object)
    return read


REPLICA_SET: Plain = {
    "metadata": {
        "name": "web-1",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "5",
        "labels": {"app": "web"},
        "annotations": {"deployment.kubernetes.io/revision": "1"},
        "managedFields": [{"manager": "m"}],
    },
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"a": 1}}},
    "status": {"replicas": 3},
}


def test_of_a_workload_the_selector_is_kept() -> None:
    found = decoded(REPLICA_SETS, REPLICA_SET)
    assert (found.kind, found.api_version, found.key) == ("ReplicaSet", "apps/v1", "default/web-1")
    assert found.data == {"spec": {"selector": {"matchLabels": {"app": "web"}}}}
    assert (found.metadata.uid, found.metadata.resource_version) == ("u", "5")


def test_who_asks_for_all_of_a_workload_gets_it() -> None:
    found = decoded(REPLICA_SETS, REPLICA_SET, whole=True)
    assert found.data["spec"] == REPLICA_SET["spec"]
    assert found.data["metadata"]["labels"] == {"app": "web"}
    assert "managedFields" not in found.data["metadata"]
    assert found.metadata.labels == {"app": "web"}


def test_of_a_namespace_the_labels_are_kept() -> None:
    found = decoded(NAMESPACES, {"metadata": {"name": "a", "labels": {"tier": "gold"}}, "spec": {}})
    assert (found.key, found.metadata.labels, found.data) == ("a", {"tier": "gold"}, {})


def test_of_a_budget_what_it_allows_is_kept() -> None:
    selector = {"matchLabels": {"app": "web"}}
    status = {"disruptionsAllowed": 2, "disruptedPods": {"web-1": "now"}, "currentHealthy": 7}
    wire = {"metadata": {"name": "b", "namespace": "n"}, "spec": {"selector": selector}, "status": status}
    assert decoded(POD_DISRUPTION_BUDGETS, wire).data == {
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": 2, "disruptedPods": {"web-1": "now"}},
    }
    bare = decoded(POD_DISRUPTION_BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": None}})
    assert bare.data == {"spec": {"selector": {}}, "status": {"disruptionsAllowed": 0, "disruptedPods": {}}}


@pytest.mark.parametrize("selector", [None, {}])
def test_a_service_that_selects_nothing(selector: Plain | None) -> None:
    found = decoded(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": selector}})
    assert found.data == {"spec": {"selector": {}}}


def test_other_kinds_are_kept_as_they_are() -> None:
    wire = {
        "metadata": {"name": "fast", "annotations": {"a": "b"}, "managedFields": [{}]},
        "provisioner": "x.io",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": []}],
    }
    found = decoded(STORAGE_CLASSES, wire)
    assert found.data == {key: value for key, value in wire.items() if key != "metadata"}
    assert found.metadata.annotations == {"a": "b"}


def test_an_owner_of_a_claim_is_known() -> None:
    owner = {"kind": "Pod", "name": "p", "uid": "u", "controller": True}
    found = decoded(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "c", "ownerReferences": [owner]}})
    assert found.metadata.owner_references[0].uid == "u"


def test_what_kubectl_keeps_for_itself_is_not_kept_here() -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{...}", "mine": "1"}
    custom = Resource("x.io", "v1", "gangs", "Gang")
    found = decoded(custom, {"metadata": {"name": "g", "annotations": notes}}, whole=True)
    assert found.metadata.annotations == {"mine": "1"}
    assert found.data["metadata"]["annotations"] == {"mine": "1"}
