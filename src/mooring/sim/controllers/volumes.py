"""Binds claims to volumes, and makes volumes for claims, as a cluster's controllers and drivers do.

A claim whose class waits for its first consumer gets a volume when the scheduler has said for which node,
or when it has made one the claim's own. All other claims get the smallest volume that will do, or a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mooring.engine.events import Event, ObjectAdded, ObjectChanged, ObjectDeleted
from mooring.model.objects import Object
from mooring.model.plain import part
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.binding_writes import reference_to
from mooring.plugins.volumes.matching import offer
from mooring.plugins.volumes.provisioning import NO_PROVISIONER
from mooring.plugins.volumes.storage_objects import WAIT_FOR_FIRST_CONSUMER, Claim, StorageClass, Volume
from mooring.sim.controllers.provisioner import Provisioner
from mooring.sim.world.world import World

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
STORAGE = "storage.k8s.io/v1"


class VolumeController:
    """Listens to a world and keeps its claims and volumes together."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._provisioner = Provisioner(world)
        self._unbound: dict[str, Claim] = {}  # by key, in the order they came
        self._own: dict[str, str] = {}  # keys of claims to the volumes that say they are theirs
        self._free: dict[str, dict[str, None]] = {}  # classes to the names of volumes that are nobody's
        self._takers: dict[str, Callable[[str], None]] = {
            kinds.CLAIM: self._claim,
            kinds.PERSISTENT_VOLUME: self._volume,
            kinds.STORAGE_CLASS: self._class,
        }
        world.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        match event:
            case ObjectAdded(found) | ObjectChanged(found):
                if found.kind in self._takers:
                    self._takers[found.kind](found.key)
            case ObjectDeleted(found):
                if found.kind == kinds.CLAIM:
                    self._claim_gone(kinds.read_claim(found))
            case _:
                pass

    # what is there now; more may have changed since the event

    def _objects(self, kind: str, api_version: str = "v1") -> dict[str, Object]:
        return self._world.store.of_kind(api_version, kind)

    def _volumes(self, names: Iterable[str]) -> list[Volume]:
        known = self._objects(kinds.PERSISTENT_VOLUME)
        return [kinds.read_volume(known[name]) for name in names if name in known]

    def _class_of(self, claim: Claim) -> StorageClass | None:
        found = self._objects(kinds.STORAGE_CLASS, STORAGE).get(claim.class_name)
        return None if found is None else kinds.read_storage_class(found)

    # taking charge

    def _class(self, key: str) -> None:
        found = self._objects(kinds.STORAGE_CLASS, STORAGE).get(key)
        if found is None:
            return
        if "volumeBindingMode" not in found.data:
            self._world.patch(kinds.STORAGE_CLASS, key, {"volumeBindingMode": "Immediate"})
        for claim in list(self._unbound.values()):
            self._claim(claim.key)

    def _volume(self, key: str) -> None:
        found = self._objects(kinds.PERSISTENT_VOLUME).get(key)
        if found is None:
            return
        volume = kinds.read_volume(found)
        free = self._free.setdefault(volume.class_name, {})
        free.pop(key, None)
        if not volume.phase:
            self._world.patch(kinds.PERSISTENT_VOLUME, key, {"status": {"phase": "Available"}})
        elif volume.claim is not None:
            self._own[volume.claim.key] = key
            self._claim(volume.claim.key)
        else:
            free[key] = None
            self._offer(volume)

    def _offer(self, volume: Volume) -> None:
        """A volume that is nobody's may be what a claim waits for, by its class or by its name."""
        for claim in list(self._unbound.values()):
            if claim.volume_name == volume.name or (
                claim.class_name == volume.class_name and not self._waits(claim)
            ):
                self._claim(claim.key)

    def _claim(self, key: str) -> None:
        found = self._objects(kinds.CLAIM).get(key)
        if found is None:
            return
        claim = kinds.read_claim(found)
        if claim.bound:
            self._unbound.pop(key, None)
            return
        self._unbound[key] = claim
        if not claim.class_name and self._give_class(claim):
            return
        volume = self._volume_for(claim)
        if volume is not None:
            self._bind(claim, volume)
        else:
            self._provision(claim)

    def _give_class(self, claim: Claim) -> bool:
        """A claim that leaves its class open gets the default one; "" asks for none."""
        spec = part(claim.object.data, "spec")
        if spec.get("storageClassName") is not None or claim.volume_name:
            return False
        for name, found in self._objects(kinds.STORAGE_CLASS, STORAGE).items():
            if found.metadata.annotations.get(DEFAULT_CLASS) == "true":
                self._world.patch(kinds.CLAIM, claim.key, {"spec": {"storageClassName": name}})
                return True
        return False

    def _volume_for(self, claim: Claim) -> Volume | None:
        if claim.volume_name:
            found = self._objects(kinds.PERSISTENT_VOLUME).get(claim.volume_name)
            volume = kinds.read_volume(found) if found is not None else None
            usable = volume is not None and (volume.claim is None or volume.is_for(claim))
            return volume if usable else None
        own = [self._own[claim.key]] if claim.key in self._own else []
        free = () if self._waits(claim) else self._free.get(claim.class_name, ())
        return offer(claim, self._volumes((*own, *free))).pick_anywhere()

    def _waits(self, claim: Claim) -> bool:
        """The claim is bound only when a pod needs it."""
        found = self._class_of(claim)
        return found is not None and found.binding_mode == WAIT_FOR_FIRST_CONSUMER

    def _bind(self, claim: Claim, volume: Volume) -> None:
        mine: dict[str, Any] = {"spec": {"claimRef": reference_to(claim)}, "status": {"phase": "Bound"}}
        if volume.claim is None:
            mine["metadata"] = {"annotations": {kinds.BOUND_BY_CONTROLLER: "yes"}}
        spec = part(volume.object.data, "spec")
        status = {key: spec[key] for key in ("capacity", "accessModes") if key in spec}
        marks = {kinds.BIND_COMPLETED: "yes", kinds.BOUND_BY_CONTROLLER: "yes"}
        if claim.volume_name:
            del marks[kinds.BOUND_BY_CONTROLLER]  # somebody else has chosen the volume
        theirs: dict[str, Any] = {
            "metadata": {"annotations": marks},
            "spec": {"volumeName": volume.name},
            "status": {**status, "phase": "Bound"},
        }
        self._unbound.pop(claim.key, None)
        self._world.patch(kinds.PERSISTENT_VOLUME, volume.name, mine)
        self._world.patch(kinds.CLAIM, claim.key, theirs)

    def _provision(self, claim: Claim) -> None:
        found = self._class_of(claim)
        if found is None or found.provisioner in ("", NO_PROVISIONER) or claim.volume_name:
            return
        if self._waits(claim) and claim.selected_node is None:
            return
        made = self._provisioner.make(claim, found)
        if made is not None:
            self._bind(claim, kinds.read_volume(made))

    def _claim_gone(self, claim: Claim) -> None:
        """A volume goes with its claim, or is kept as it is for somebody to look after."""
        self._unbound.pop(claim.key, None)
        self._own.pop(claim.key, None)
        found = self._objects(kinds.PERSISTENT_VOLUME).get(claim.volume_name)
        if found is None or not kinds.read_volume(found).is_for(claim):
            return
        if part(found.data, "spec").get("persistentVolumeReclaimPolicy") == "Delete":
            self._provisioner.reclaim(found)
            self._world.delete_object(kinds.PERSISTENT_VOLUME, found.key)
        else:
            self._world.patch(kinds.PERSISTENT_VOLUME, found.key, {"status": {"phase": "Released"}})
