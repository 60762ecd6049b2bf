"""Claims and volumes of the embedded cluster."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.errors import ApiError
from mooring.model.objects import Object, ObjectMeta
from mooring.sim.controllers.claims import EphemeralClaims
from mooring.sim.controllers.volumes import VolumeController
from mooring.sim.world.world import World

from .builders import node, pod

SELECTED = "volume.kubernetes.io/selected-node"
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


@pytest.fixture
def cluster(world: World) -> World:
    EphemeralClaims(world)
    VolumeController(world)
    world.create_node(node("n", **{"topology.kubernetes.io/zone": "a"}))
    return world


def make(world: World, kind: str, name: str, data: dict[str, Any], **meta: Any) -> Object:
    storage = kind not in ("PersistentVolume", "PersistentVolumeClaim")
    namespace = "default" if kind in ("PersistentVolumeClaim", "CSIStorageCapacity") else ""
    found = ObjectMeta(name=name, namespace=namespace, **meta)
    version = "storage.k8s.io/v1" if storage else "v1"
    plain = {"metadata": {"annotations": dict(found.annotations)}, **data}
    return world.create_object(Object(api_version=version, kind=kind, metadata=found, data=plain))


def make_class(world: World, mode: str | None = None, **data: Any) -> None:
    annotations = data.pop("annotations", {})
    if mode is not None:
        data["volumeBindingMode"] = mode
    make(world, "StorageClass", "disk", {"provisioner": "d", **data}, annotations=annotations)


def make_claim(
    world: World, name: str = "c", cls: str | None = "disk", size: str = "5Gi", **spec: Any
) -> None:
    plain = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"], **spec}
    if cls is not None:
        plain["storageClassName"] = cls
    make(world, "PersistentVolumeClaim", name, {"spec": plain})


def make_volume(world: World, name: str, size: str, **spec: Any) -> None:
    plain = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "disk"}
    make(world, "PersistentVolume", name, {"spec": plain | spec})


def claim(world: World, name: str = "c") -> dict[str, Any]:
    return world.store.object("PersistentVolumeClaim", f"default/{name}").data


def volume_of(world: World, name: str = "c") -> dict[str, Any]:
    return world.store.object("PersistentVolume", claim(world, name)["spec"]["volumeName"]).data


def is_bound(world: World, name: str = "c") -> bool:
    found = claim(world, name)
    marked = "pv.kubernetes.io/bind-completed" in found["metadata"].get("annotations", {})
    return (
        marked
        and found["status"]["phase"] == "Bound"
        and volume_of(world, name)["status"]["phase"] == "Bound"
    )


def test_an_immediate_claim_gets_the_smallest_volume(cluster: World) -> None:
    make_class(cluster, "Immediate", provisioner="kubernetes.io/no-provisioner")
    make_volume(cluster, "big", "100Gi")
    make_volume(cluster, "small", "6Gi")
    make_claim(cluster)
    assert is_bound(cluster)
    assert claim(cluster)["spec"]["volumeName"] == "small"
    assert volume_of(cluster)["spec"]["claimRef"]["name"] == "c"
    assert cluster.store.object("PersistentVolume", "big").data["status"] == {"phase": "Available"}


def test_a_volume_that_comes_later_is_taken(cluster: World) -> None:
    make_claim(cluster)
    make_volume(cluster, "late", "6Gi")
    assert is_bound(cluster)


def test_a_claim_may_name_its_volume_and_a_volume_its_claim(cluster: World) -> None:
    make_claim(cluster, "c", volumeName="v")
    make_volume(cluster, "v", "6Gi")
    assert is_bound(cluster)
    make_volume(cluster, "w", "60Gi", claimRef={"namespace": "default", "name": "d"})
    make_claim(cluster, "d")
    assert claim(cluster, "d")["spec"]["volumeName"] == "w"


def test_a_class_without_binding_mode_binds_at_once(cluster: World) -> None:
    make_class(cluster)
    make_claim(cluster)
    assert is_bound(cluster)
    assert volume_of(cluster)["spec"]["capacity"] == {"storage": "5Gi"}
    assert "nodeAffinity" not in volume_of(cluster)["spec"]


def test_the_default_class(cluster: World) -> None:
    make_claim(cluster, "c", cls=None)
    make_claim(cluster, "none", cls="")
    make_class(cluster, annotations=DEFAULT)
    assert claim(cluster)["spec"]["storageClassName"] == "disk"
    assert is_bound(cluster)
    assert not claim(cluster, "none").get("status")


def test_a_claim_that_waits_is_served_for_the_node_it_is_told(cluster: World) -> None:
    make_class(cluster, "WaitForFirstConsumer")
    make_claim(cluster)
    assert not claim(cluster).get("status")
    cluster.patch("PersistentVolumeClaim", "default/c", {"metadata": {"annotations": {SELECTED: "n"}}})
    assert is_bound(cluster)
    (term,) = volume_of(cluster)["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    assert term == {"matchExpressions": [zone]}


def test_a_claim_that_waits_is_served_when_a_volume_is_given_to_it(cluster: World) -> None:
    make_class(cluster, "WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
    make_claim(cluster)
    make_volume(cluster, "v", "6Gi")
    assert not claim(cluster).get("status")
    reference = {"namespace": "default", "name": "c"}
    cluster.patch("PersistentVolume", "v", {"spec": {"claimRef": reference}})
    assert is_bound(cluster)


def test_for_a_node_that_is_gone_nothing_is_made(cluster: World) -> None:
    make_class(cluster, "WaitForFirstConsumer")
    make_claim(cluster)
    cluster.patch("PersistentVolumeClaim", "default/c", {"metadata": {"annotations": {SELECTED: "gone"}}})
    assert SELECTED not in claim(cluster)["metadata"]["annotations"]
    assert not claim(cluster).get("status")


def test_the_drivers_keys_say_who_reaches_a_volume(cluster: World) -> None:
    cluster.create_node(node("m", rack="r1"))
    make(cluster, "CSINode", "m", {"spec": {"drivers": [{"name": "d", "topologyKeys": ["rack"]}]}})
    make_class(cluster, "WaitForFirstConsumer")
    make_claim(cluster)
    cluster.patch("PersistentVolumeClaim", "default/c", {"metadata": {"annotations": {SELECTED: "m"}}})
    (term,) = volume_of(cluster)["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}


EPHEMERAL = {
    "name": "tmp",
    "ephemeral": {
        "volumeClaimTemplate": {
            "metadata": {"labels": {"of": "p"}},
            "spec": {"storageClassName": "disk", "resources": {"requests": {"storage": "2Gi"}}},
        }
    },
}


def test_ephemeral_claims_come_and_go_with_their_pod(cluster: World) -> None:
    topology = {"matchLabels": {"topology.kubernetes.io/zone": "a"}}
    room = {"storageClassName": "disk", "capacity": "3Gi", "nodeTopology": topology}
    make(cluster, "CSIStorageCapacity", "room", room)
    make_class(cluster, "WaitForFirstConsumer")
    made = cluster.create_pod(pod("p", volumes=(EPHEMERAL,), termination_grace_period_seconds=0))
    found = cluster.store.object("PersistentVolumeClaim", "default/p-tmp")
    (owner,) = found.metadata.owner_references
    assert (owner.uid, owner.controller, found.metadata.labels) == (made.uid, True, {"of": "p"})
    cluster.patch("PersistentVolumeClaim", found.key, {"metadata": {"annotations": {SELECTED: "n"}}})
    assert is_bound(cluster, "p-tmp")
    assert cluster.store.object("CSIStorageCapacity", "default/room").data["capacity"] == "1Gi"
    cluster.delete_pod("default/p")
    assert not cluster.store.of_kind("v1", "PersistentVolumeClaim")
    assert not cluster.store.of_kind("v1", "PersistentVolume")
    assert cluster.store.object("CSIStorageCapacity", "default/room").data["capacity"] == "3Gi"


def test_a_volume_to_be_kept_outlives_its_claim(cluster: World) -> None:
    make_claim(cluster)
    make_volume(cluster, "v", "6Gi")
    cluster.delete_object("PersistentVolumeClaim", "default/c")
    assert cluster.store.object("PersistentVolume", "v").data["status"] == {"phase": "Released"}


def test_a_patch_for_another_version_is_refused(cluster: World) -> None:
    make_volume(cluster, "v", "6Gi")
    with pytest.raises(ApiError, match='persistentvolumes "v": the object has been modified'):
        cluster.patch("PersistentVolume", "v", {"metadata": {"resourceVersion": "0"}})
