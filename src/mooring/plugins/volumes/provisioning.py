"""Whether a volume can be made for a claim when its pod goes to a node."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec
import numpy as np

from mooring.cluster.columns import Bools, StaticColumns
from mooring.model.selectors import NodeTerm
from mooring.plugins.node_terms import any_term
from mooring.plugins.volumes.storage import Storage
from mooring.plugins.volumes.storage_objects import Capacity, Claim, StorageClass

NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Verdict(Enum):
    YES = "yes"
    NO = "no"
    FULL = "there is not enough room"


class Provision(msgspec.Struct, frozen=True):
    """A claim to make a volume for. `room` is None when its driver does not tell how much there is."""

    claim: Claim
    storage_class: StorageClass
    room: tuple[Capacity, ...] | None = None

    def possible(self, labels: Mapping[str, str]) -> Verdict:
        """For a node with these labels."""
        if not self._makes_volumes or not self.storage_class.reaches(labels):
            return Verdict.NO
        return Verdict.YES if self._boundless or self.room_at(labels) is not None else Verdict.FULL

    def passing(self, nodes: StaticColumns) -> Bools:
        """The nodes for which it is possible."""
        if not self._makes_volumes:
            return np.zeros(len(nodes), np.bool_)
        topologies = self.storage_class.topologies
        ok = any_term(topologies, nodes) if topologies else np.ones(len(nodes), np.bool_)
        return ok if self._boundless else ok & self._with_room(nodes)

    @property
    def _makes_volumes(self) -> bool:
        return self.storage_class.provisioner not in ("", NO_PROVISIONER)

    @property
    def _boundless(self) -> bool:
        """Nobody tells how much room there is, or asks."""
        return self.room is None or self.claim.size is None

    def _with_room(self, nodes: StaticColumns) -> Bools:
        where = [room.nodes for room in self.room or () if room.nodes is not None and self._fits(room)]
        if () in where:
            return np.ones(len(nodes), np.bool_)  # room that every node reaches
        return any_term(map(NodeTerm, where), nodes)

    def _fits(self, room: Capacity) -> bool:
        return room.limit is not None and room.limit >= (self.claim.size or 0)

    def room_at(self, labels: Mapping[str, str]) -> Capacity | None:
        """Where the volume fits."""
        rooms = (room for room in self.room or () if self._fits(room) and room.reaches(labels))
        return next(rooms, None)


def provision(claim: Claim, storage_class: StorageClass, storage: Storage) -> Provision:
    driver = storage.csi_driver(storage_class.provisioner)
    if driver is None or not driver.checks_capacity:
        return Provision(claim, storage_class)
    return Provision(claim, storage_class, tuple(storage.capacities(storage_class.name)))
