"""A small cluster with storage to ask volume plugins about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.cluster.columns import NodeColumns
from mooring.config.feature_gates import FeatureGates
from mooring.engine.objects import Objects, ObjectsOfKind
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import Status
from mooring.framework.loading.rehearsal import StageHandle
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from plugins import stage

NAMESPACED = ("PersistentVolumeClaim", "CSIStorageCapacity")
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
Data = dict[str, Any]


class Handle(StageHandle):
    """A scheduler that has heard of some objects."""

    def __init__(self, cluster: Any, gates: FeatureGates | None = None) -> None:
        super().__init__(cluster, gates)
        self.objects = Objects()

    def lister(self, kind: str) -> ObjectsOfKind:
        return self.objects.of(kind)


class Stage(stage.Stage):
    """Nodes, and the storage objects there are."""

    handle: Handle

    def __init__(self, nodes: Iterable[Node] = (), *found: Object, gates: FeatureGates | None = None) -> None:
        super().__init__(nodes)
        self.handle = Handle(self.cluster, gates)
        self.tell(*found)

    def tell(self, *found: Object) -> None:
        for each in found:
            self.handle.objects.of(each.kind).put(each)

    def statuses(self, plugin: Any, pod: Pod, cycle: Cycle | None = None) -> dict[str, Status | None]:
        """What the plugin says of every node; of all at once when it says so before it looks at any."""
        cycle = cycle or Cycle("test", 0.0)
        before = plugin.pre_filter(cycle, pod)
        if isinstance(before, Status):
            return {"*": before}
        found = {node.name: plugin.filter(cycle, pod, node) for node in self.view.nodes}
        if hasattr(plugin, "filter_nodes"):
            ok = plugin.filter_nodes(cycle, pod, NodeColumns(self.cluster.nodes, self.view.view))
            assert {n.name: bool(ok[n.row]) for n in self.view.nodes} == {
                k: v is None for k, v in found.items()
            }
        return found

    def reasons(self, plugin: Any, pod: Pod, cycle: Cycle | None = None) -> dict[str, str]:
        """The code and reasons of every node; "" for one that passes."""
        found = self.statuses(plugin, pod, cycle)
        return {name: "" if s is None else f"{s.code.name}: {s.message}" for name, s in found.items()}

    def make(self, plugin: type[Plugin], **args: Any) -> Any:
        return plugin(msgspec.convert(args, plugin.Args), self.handle)


def node(name: str, zone: str = "a", **labels: str) -> Node:
    return stage.node(name, labels={HOST: name, ZONE: zone, **labels})


def obj(kind: str, name: str, data: Data | None = None, **meta: Any) -> Object:
    """An object; `meta` has labels, annotations, uid and so on."""
    if kind in NAMESPACED:
        meta.setdefault("namespace", "default")
    found = msgspec.convert({"name": name, "uid": f"uid-{name}", **meta}, ObjectMeta)
    whole = {"kind": kind, "metadata": msgspec.to_builtins(found), **(data or {})}
    return Object(api_version="v1", kind=kind, metadata=found, data=whole)


def pv(name: str, size: str = "10Gi", cls: str = "wait", *, on: Data | None = None, **spec: Any) -> Object:
    """A volume that is free, reachable from nodes with the labels `on`."""
    meta = {key: spec.pop(key) for key in ("labels", "annotations", "deletionTimestamp") if key in spec}
    phase = spec.pop("phase", "Available")
    plain: Data = {"capacity": {"storage": size}, "storageClassName": cls, "accessModes": ["ReadWriteOnce"]}
    if on is not None:
        wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in on.items()]
        plain["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": wanted}]}}
    return obj("PersistentVolume", name, {"spec": plain | spec, "status": {"phase": phase}}, **meta)


def pvc(name: str, size: str = "5Gi", cls: str | None = "wait", *, to: str = "", **spec: Any) -> Object:
    """A claim; bound to the volume `to`, if any."""
    meta = {
        key: spec.pop(key) for key in ("annotations", "deletionTimestamp", "ownerReferences") if key in spec
    }
    phase = spec.pop("phase", "Bound" if to else "Pending")
    plain: Data = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"]}
    if cls is not None:
        plain["storageClassName"] = cls
    if to:
        plain["volumeName"] = to
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes", **meta.get("annotations", {})}
    return obj("PersistentVolumeClaim", name, {"spec": plain | spec, "status": {"phase": phase}}, **meta)


def storage_class(name: str = "wait", mode: str | None = "WaitForFirstConsumer", **data: Any) -> Object:
    plain = {"provisioner": "kubernetes.io/no-provisioner", **data}
    if mode is not None:
        plain["volumeBindingMode"] = mode
    return obj("StorageClass", name, plain)


def csi_node(name: str, limits: dict[str, int | None], migrated: str = "") -> Object:
    drivers = [
        {"name": driver} if count is None else {"name": driver, "allocatable": {"count": count}}
        for driver, count in limits.items()
    ]
    notes = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
    return obj("CSINode", name, {"spec": {"drivers": drivers}}, annotations=notes)


def pod(*volumes: str | Data, name: str = "p", uid: str = "") -> Pod:
    """A pod with volumes: a string is the name of a claim."""
    found = [
        {"name": f"v{n}", "persistentVolumeClaim": {"claimName": each}}
        if isinstance(each, str)
        else {"name": f"v{n}", **each}
        for n, each in enumerate(volumes)
    ]
    return stage.pod(name, uid=uid, volumes=tuple(found))


EPHEMERAL: Data = {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


def owned_by(uid: str) -> list[Data]:
    return [{"kind": "Pod", "uid": uid, "controller": True}]
