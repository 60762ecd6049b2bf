"""The storage behind a class: makes volumes, for the nodes that can reach them, while there is room."""

from __future__ import annotations

from typing import Any

from mooring.model.objects import Node, Object, ObjectMeta
from mooring.model.plain import items, part, text
from mooring.model.quantity import format_quantity
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.binding_writes import reference_to
from mooring.plugins.volumes.storage_objects import Claim, StorageClass, read_capacity
from mooring.sim.world.world import World

STORAGE = "storage.k8s.io/v1"
ZONE = "topology.kubernetes.io/zone"


class Provisioner:
    """All drivers of the cluster."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._room: dict[str, tuple[str, int]] = {}  # volume name to the capacity it was taken from, and size

    def make(self, claim: Claim, storage_class: StorageClass) -> Object | None:
        """A volume for a claim. For a node that has gone none is made, and the claim says so."""
        node = self._world.nodes.get(claim.selected_node or "")
        if claim.selected_node is not None and node is None:
            unselect = {"metadata": {"annotations": {kinds.SELECTED_NODE: None}}}
            self._world.patch(kinds.CLAIM, claim.key, unselect)
            return None
        name = f"pvc-{claim.uid}"
        if name in self._world.store.of_kind("v1", kinds.PERSISTENT_VOLUME):
            return None
        self._take_room(name, claim, storage_class, node)
        data = self._volume(name, claim, storage_class, node)
        meta = ObjectMeta(name=name, annotations=data["metadata"]["annotations"])
        volume = Object(api_version="v1", kind=kinds.PERSISTENT_VOLUME, metadata=meta, data=data)
        return self._world.create_object(volume)

    def reclaim(self, volume: Object) -> None:
        """The room a volume took is free again."""
        key, size = self._room.pop(volume.key, ("", 0))
        if key in self._world.store.of_kind(STORAGE, kinds.CAPACITY):
            self._change_room(key, size)

    def _volume(self, name: str, claim: Claim, of: StorageClass, node: Node | None) -> dict[str, Any]:
        wanted = part(claim.object.data, "spec")
        plain = self._world.store.of_kind(STORAGE, kinds.STORAGE_CLASS)[of.name].data
        spec: dict[str, Any] = {
            "accessModes": items(wanted, "accessModes") or ["ReadWriteOnce"],
            "capacity": {"storage": format_quantity(claim.size or 0, binary=True)},
            "claimRef": reference_to(claim),
            "csi": {"driver": of.provisioner, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": plain.get("reclaimPolicy", "Delete"),
            "storageClassName": of.name,
            "volumeMode": claim.volume_mode,
        }
        if claim.attributes_class:
            spec["volumeAttributesClassName"] = claim.attributes_class
        if where := self._where(of, node):
            wanted_labels = [{"key": k, "operator": "In", "values": [v]} for k, v in sorted(where.items())]
            terms = [{"matchExpressions": wanted_labels}]
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        return {
            "apiVersion": "v1",
            "kind": kinds.PERSISTENT_VOLUME,
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": of.provisioner}},
            "spec": spec,
            "status": {"phase": "Bound"},
        }

    def _where(self, of: StorageClass, node: Node | None) -> dict[str, str]:
        """The labels of nodes that reach the volume: by the driver's keys, the class's, or the zone."""
        if node is None:
            first = of.topologies[0].labels if of.topologies else ()
            return {each.key: min(each.values) for each in first if each.values}
        keys = self._driver_keys(of.provisioner, node)
        keys = keys or [each.key for term in of.topologies for each in term.labels] or [ZONE]
        return {key: node.labels[key] for key in keys if key in node.labels}

    def _driver_keys(self, driver: str, node: Node) -> list[str]:
        found = self._world.store.of_kind(STORAGE, kinds.CSI_NODE).get(node.name)
        drivers = [] if found is None else items(part(found.data, "spec"), "drivers")
        mine = [part(each) for each in drivers if text(part(each), "name") == driver]
        return [key for each in mine for key in items(each, "topologyKeys") if isinstance(key, str)]

    def _take_room(self, name: str, claim: Claim, of: StorageClass, node: Node | None) -> None:
        """Makes what a driver tells of its room true: it gets less."""
        size, labels = claim.size or 0, node.labels if node is not None else {}
        for key, found in self._world.store.of_kind(STORAGE, kinds.CAPACITY).items():
            room = read_capacity(found)
            fits = room.class_name == of.name and room.total is not None and room.total >= size
            if fits and room.reaches(labels):
                self._room[name] = (key, size)
                self._change_room(key, -size)
                return

    def _change_room(self, key: str, by: int) -> None:
        room = read_capacity(self._world.store.of_kind(STORAGE, kinds.CAPACITY)[key])
        left = format_quantity((room.total or 0) + by, binary=True)
        self._world.patch(kinds.CAPACITY, key, {"capacity": left})
