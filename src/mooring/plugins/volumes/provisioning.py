"""Whether a volume can be made for a claim when its pod goes to a node."""

from __future__ import annotations

from enum import Enum

import msgspec

from mooring.plugins.volumes.kinds import Capacity, Claim, StorageClass
from mooring.plugins.volumes.storage import Storage

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

    def possible(self, labels: dict[str, str]) -> Verdict:
        """For a node with these labels."""
        provisioner = self.storage_class.provisioner
        if not provisioner or provisioner == NO_PROVISIONER or not self.storage_class.reaches(labels):
            return Verdict.NO
        if self.room is None or self.claim.size is None or self.room_at(labels) is not None:
            return Verdict.YES
        return Verdict.FULL

    def room_at(self, labels: dict[str, str]) -> Capacity | None:
        """Where the volume fits."""
        size = self.claim.size or 0
        for capacity in self.room or ():
            if capacity.limit is not None and capacity.limit >= size and capacity.reaches(labels):
                return capacity
        return None


def provision(claim: Claim, storage_class: StorageClass, storage: Storage) -> Provision:
    driver = storage.csi_driver(storage_class.provisioner)
    if driver is None or not driver.checks_capacity:
        return Provision(claim, storage_class)
    return Provision(claim, storage_class, tuple(storage.capacities(storage_class.name)))
