"""VolumeRestrictions: disks and claims that only one pod can have.

Disks a pod mounts directly clash with those of pods on the same node; a claim that says ReadWriteOncePod
clashes with its use anywhere.
"""

from __future__ import annotations

from collections.abc import Hashable

from mooring.cluster.view import NodeView
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.api.status import SKIP, Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.disks import clash
from mooring.plugins.volumes.pod_volumes import volumes_of
from mooring.plugins.volumes.storage import NO_CLAIM, Storage
from mooring.plugins.volumes.zone import claim_named

STATE = "VolumeRestrictions"
ONE_POD = "ReadWriteOncePod"
DISK_TAKEN = "node(s) had no available disk"
CLAIM_TAKEN = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
    "by another pod"
)


class OnePodClaims:
    """Claims of the pod that nobody else may use, and how often others do."""

    def __init__(self, namespace: str, names: frozenset[str], used: int) -> None:
        self._namespace = namespace
        self._names = names
        self.used = used

    def count(self, other: Pod, sign: int) -> None:
        """Another pod comes (1) or goes (-1)."""
        if other.namespace == self._namespace:
            self.used += sign * sum(name in self._names for name in volumes_of(other.spec).named_claims)

    def clone(self) -> OnePodClaims:
        return OnePodClaims(self._namespace, self._names, self.used)


class VolumeRestrictions(Plugin):
    name = "VolumeRestrictions"
    reads = (kinds.CLAIM,)

    disk_taken = unschedulable(DISK_TAKEN).by(name)
    claim_taken = unschedulable(CLAIM_TAKEN).by(name)

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._storage = Storage(handle)
        self._users: dict[Hashable, int] | None = None

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        volumes = volumes_of(pod.spec)
        return (volumes.disks, volumes.named_claims) if volumes.disks or volumes.named_claims else None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        volumes = volumes_of(pod.spec)
        alone = set()
        for name in volumes.named_claims:
            claim = self._storage.claim(f"{pod.namespace}/{name}")
            if claim is None:
                return unresolvable(NO_CLAIM.format(name))
            if ONE_POD in claim.access_modes:
                alone.add(name)
        used = self._used(pod.namespace, alone) if alone else 0
        if not volumes.disks and not used:
            return SKIP
        cycle.write(STATE, OnePodClaims(pod.namespace, frozenset(alone), used))
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, added: Pod, node: NodeView) -> None:
        if (claims := cycle.read(STATE, None)) is not None:
            claims.count(added, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, removed: Pod, node: NodeView) -> None:
        if (claims := cycle.read(STATE, None)) is not None:
            claims.count(removed, -1)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        wanted = volumes_of(pod.spec).disks
        if wanted and any(clash(wanted, volumes_of(other.spec).disks) for other in node.pods):
            return self.disk_taken
        claims: OnePodClaims | None = cycle.read(STATE, None)
        return self.claim_taken if claims is not None and claims.used > 0 else None

    def events(self) -> tuple[Interest, ...]:
        return (
            Interest(POD, Action.DELETE, volume_freed),
            Interest(NODE, Action.ADD),
            Interest(kinds.CLAIM, Action.ADD, claim_named),
        )

    def _used(self, namespace: str, names: set[str]) -> int:
        """How many of the claims some placed pod uses."""
        if self._users is None:  # not counted before the first claim that is for one pod
            self._users = self.handle.counts.tally(self.name, claims_of)
        return sum((namespace, name) in self._users for name in names)


def claims_of(pod: Pod) -> tuple[Hashable, ...]:
    """The claims a pod names, as placed pods are counted by."""
    if not pod.spec.volumes:
        return ()
    return tuple((pod.namespace, name) for name in volumes_of(pod.spec).named_claims)


def volume_freed(pod: Pod, old: Pod, new: None) -> Hint:
    """The pod that went used a disk or a claim that this one wants."""
    if old.namespace != pod.namespace:
        return Hint.SKIP
    wanted, gone = volumes_of(pod.spec), volumes_of(old.spec)
    shared = not set(wanted.named_claims).isdisjoint(gone.named_claims)
    return Hint.QUEUE if shared or clash(wanted.disks, gone.disks) else Hint.SKIP
