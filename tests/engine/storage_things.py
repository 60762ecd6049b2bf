"""Nodes, pods and storage objects for random worlds, each made from a few small numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import msgspec

from mooring.model.objects import Node, Object, ObjectMeta
from mooring.testing import node
from mooring.testing.builders import PodBuilder

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
SELECTED, COMPLETED = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed"
PV, PVC = "PersistentVolume", "PersistentVolumeClaim"
NAMESPACED = (PVC, "CSIStorageCapacity", "PodDisruptionBudget")
NAMES = [f"n{i}" for i in range(5)]
CLAIMS = [f"c{i}" for i in range(6)]
VOLUMES = [f"v{i}" for i in range(8)]
CLASSES = ["local", "fast", "zonal", "sized", "now"]
WEB, DB = {"app": "web"}, {"app": "db"}
FAST, SIZED = "csi-fast", "csi-sized"
GCE = "kubernetes.io/gce-pd"
MIB = 2**20

Data = dict[str, Any]


def thing(kind: str, name: str, data: Data, version: int = 0, **meta: Any) -> Object:
    """An object; `meta` is written as in manifests."""
    if kind in NAMESPACED:
        meta.setdefault("namespace", "default")
    meta |= {"name": name, "resourceVersion": str(version)}
    return Object(
        api_version="v1", kind=kind, metadata=msgspec.convert(meta, ObjectMeta), data={"kind": kind, **data}
    )


# nodes

SIZES: list[Data] = [{"cpu": "1"}, {"cpu": "2"}, {"cpu": "2", "pods": 3}, {"cpu": "1500m", "pods": 2}]
ZONES = ["a", "a", "b", "b", ""]
NODE = (len(NAMES), len(SIZES), len(ZONES), 7)


def make_node(name: int, size: int, zone: int, more: int) -> Node:
    made = node(NAMES[name]).has(**SIZES[size])
    if ZONES[zone]:
        made.label(BETA_ZONE if more == 6 else ZONE, ZONES[zone])
    if more == 4:
        made.taint("red")
    return made.cordoned().build() if more == 5 else made.build()


def make_csi_node(name: int, limit: int, sized: int) -> Object:
    """How many volumes can be attached; the first drivers have no limit."""
    counts = ({}, {"count": 1}, {"count": 2}, {"count": 3})
    drivers = [
        {"name": FAST, "allocatable": counts[limit]},
        {"name": SIZED, "allocatable": counts[sized]},
        {"name": "pd.csi.storage.gke.io", "allocatable": {"count": 1}},
    ]
    notes = {"storage.alpha.kubernetes.io/migrated-plugins": GCE} if sized else {}
    return thing("CSINode", NAMES[name], {"spec": {"drivers": drivers}}, annotations=notes)


# storage

REACH: list[Data | None] = [None, {ZONE: "a"}, {ZONE: "b"}, {HOST: "n0"}, {HOST: "n1"}]
CLAIM = (len(CLAIMS), len(CLASSES), 3, 14)
VOLUME = (len(VOLUMES), 2, 3, len(REACH), 12)
CLASS = (len(CLASSES), 4)
CAPACITY = (3, 3, 5)


def reach(labels: Data | None) -> Data:
    if labels is None:
        return {}
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": wanted}]}}}


def make_volume(index: int, cls: int, size: int, where: int, more: int) -> Object:
    """Every volume has a size of its own, so that it is certain which is the smallest that will do."""
    name = VOLUMES[index]
    spec: Data = {
        "capacity": {"storage": (2 + 2 * size) * 1024 * MIB + index * MIB},
        "storageClassName": CLASSES[cls],
        "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
        **reach(REACH[where]),
    }
    meta: Data = {"labels": {"disk": "ssd"}} if more in (1, 2) else {}
    if cls:
        spec["csi"] = {"driver": FAST, "volumeHandle": name}
    phase = "Released" if more == 8 else "Available"
    if more in (2, 3, 4, 5):
        meta.setdefault("labels", {}).update({BETA_ZONE: "b__c"} if more == 5 else {ZONE: "a"})
    elif more == 6:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    elif more == 7:
        spec["claimRef"] = {"namespace": "default", "name": CLAIMS[index % len(CLAIMS)]}
    elif more == 9:
        spec["volumeMode"] = "Block"
    elif more == 10:
        spec["accessModes"] = ["ReadOnlyMany"]
    elif more == 11:
        spec["volumeAttributesClassName"] = "gold"
    return thing(PV, name, {"spec": spec, "status": {"phase": phase}}, **meta)


def make_claim(index: int, cls: int, size: int, more: int, uid: str) -> Object:
    spec: Data = {
        "resources": {"requests": {"storage": f"{1 + 2 * size}Gi"}},
        "storageClassName": CLASSES[cls],
        "accessModes": ["ReadWriteOncePod" if more in (4, 13) else "ReadWriteOnce"],
    }
    meta: Data = {"uid": uid, "annotations": {}}
    status = {"phase": "Pending"}
    if more in (6, 7, 12, 13):
        spec["volumeName"] = "nowhere" if more == 12 else VOLUMES[index]
        meta["annotations"][COMPLETED] = "yes"
        status = {"phase": "Lost" if more == 7 else "Bound"}
    elif more == 5:
        spec["selector"] = {"matchLabels": {"disk": "ssd"}}
    elif more == 8:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    elif more == 9:
        meta["annotations"][SELECTED] = NAMES[1]
    elif more == 10:
        spec["volumeMode"] = "Block"
    elif more == 11:
        spec["volumeName"] = VOLUMES[index]  # and nobody has completed it
    return thing(PVC, CLAIMS[index], {"spec": spec, "status": status}, **meta)


def make_class(index: int, more: int) -> Object:
    name = CLASSES[index]
    data: Data = {
        "provisioner": {"local": "kubernetes.io/no-provisioner", "sized": SIZED}.get(name, FAST),
        "volumeBindingMode": "Immediate" if name == "now" else "WaitForFirstConsumer",
    }
    if name == "zonal" or more == 2:
        values = [["a"], ["b"]][more == 3]
        data["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": values}]}]
    return thing("StorageClass", name, data)


def make_capacity(index: int, size: int, where: int) -> Object:
    """Room for volumes of the class that asks for it."""
    data: Data = {"storageClassName": "sized", "capacity": f"{1 + 2 * size}Gi"}
    if where == 4 or size == 2:
        data["maximumVolumeSize"] = "1Gi"
    topology: list[Data | None] = [{}, {"matchLabels": {ZONE: "a"}}, {"matchLabels": {HOST: "n1"}}, None]
    if topology[where % 4] is not None:
        data["nodeTopology"] = topology[where % 4]
    return thing("CSIStorageCapacity", f"room{index}", data)


def make_driver(checks: bool) -> Object:
    return thing("CSIDriver", SIZED, {"spec": {"storageCapacity": checks}})


def make_attachment(node_name: int, volume: int) -> Object:
    source = {"persistentVolumeName": VOLUMES[volume]}
    spec = {"nodeName": NAMES[node_name], "attacher": FAST, "source": source}
    return thing("VolumeAttachment", f"a{volume}", {"spec": spec})


def make_budget(index: int, allowed: int, disrupted: list[str]) -> Object:
    selector = [{"matchLabels": WEB}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {}][index]
    status = {
        "disruptionsAllowed": allowed,
        "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
    }
    data = {"spec": {"selector": selector}, "status": status}
    return thing("PodDisruptionBudget", f"b{index}", data)


# pods


class Made(PodBuilder):
    """A pod with volumes."""

    def size(self, cpu: str) -> Self:
        return self.requests(cpu=cpu)

    def claims(self, *names: str) -> Self:
        return self._volumes({"persistentVolumeClaim": {"claimName": name}} for name in names)

    def ephemeral(self) -> Self:
        return self._volumes([{"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])

    def disk(self, name: str, *, read_only: bool = False) -> Self:
        return self._volumes([{"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}])

    def never_preempts(self) -> Self:
        self._spec["preemptionPolicy"] = "Never"
        return self

    def web(self) -> Self:
        return self.label("app", "web")

    def db(self) -> Self:
        return self.label("app", "db")

    def _volumes(self, volumes: Any) -> Self:
        found = self._spec.setdefault("volumes", [])
        for volume in volumes:
            found.append({"name": f"e{len(found)}", **volume})
        return self


Kind = Callable[[Made, str, str], Made]  # a pod, and two claims it may use
PLAIN: list[Kind] = [
    lambda p, a, b: p.size("300m").web(),
    lambda p, a, b: p.size("700m").db(),
    lambda p, a, b: p.size("1500m").web(),
    lambda p, a, b: p.size("100m").never_preempts(),
    lambda p, a, b: p.size("500m").db().host_port(80),
    lambda p, a, b: p.size("900m").tolerates("red"),
]
STORED: list[Kind] = [
    lambda p, a, b: p.size("200m").web().claims(a),
    lambda p, a, b: p.size("800m").claims(a),
    lambda p, a, b: p.size("100m").db().claims(a, b),
    lambda p, a, b: p.size("100m").claims(a, a),
    lambda p, a, b: p.size("300m").web().ephemeral(),
    lambda p, a, b: p.size("100m").ephemeral().claims(a),
    lambda p, a, b: p.size("400m").db().disk("d1"),
    lambda p, a, b: p.size("200m").disk("d1", read_only=True).disk("d2"),
    lambda p, a, b: p.size("300m").disk("d1").claims(a),
]
LOOKING: list[Kind] = [
    lambda p, a, b: p.size("300m").web().apart(HOST, WEB),
    lambda p, a, b: p.size("200m").db().apart(ZONE, WEB).claims(a),
    lambda p, a, b: p.size("200m").web().spread(ZONE, WEB),
    lambda p, a, b: p.size("600m").web().spread(HOST, WEB).claims(a),
    lambda p, a, b: p.size("300m").db().near(ZONE, WEB),
    lambda p, a, b: p.size("300m").web().prefers_near(ZONE, DB, 10).spread(ZONE, DB, soft=True),
]
CROWD: list[Kind] = [
    lambda p, a, b: p.size("200m").web(),
    lambda p, a, b: p.size("300m").db(),
    lambda p, a, b: p.size("1").web().host_port(81),
    lambda p, a, b: p.size("900m").db().spread(HOST, DB, 3),
    lambda p, a, b: p.size("700m").claims(a),
]
