"""NodeVolumeLimits: no node is given more volumes of a CSI driver than the driver can attach there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

import msgspec
import numpy as np

from mooring.cluster.columns import Bools, NodeColumns
from mooring.cluster.view import NodeView
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.api.status import SKIP, Status, error, unresolvable, unschedulable
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.binding_hints import claim_of_pod
from mooring.plugins.volumes.migration import BY_PLUGIN, CsiVolume
from mooring.plugins.volumes.pod_volumes import ClaimUse, not_owner, volumes_of
from mooring.plugins.volumes.storage import NO_CLAIM, Storage
from mooring.plugins.volumes.storage_objects import Claim, CsiNode, read_csi_node

STATE = "NodeVolumeLimits"
GATE = "VolumeLimitScaling"
TOO_MANY = "node(s) exceed max volume count"
NOT_INSTALLED = "{} CSI driver is not installed on the node"
LOOKING_UP = "looking up PVC {}: {}"
NAMELESS_CLAIM = "PersistentVolumeClaim had no name"


class Wanted(msgspec.Struct, frozen=True):
    """The volumes a pod brings along, or why they cannot be told."""

    volumes: tuple[CsiVolume, ...] = ()
    rejection: Status | None = None


class NodeVolumeLimits(Plugin):
    name = "NodeVolumeLimits"
    reads = (
        kinds.CLAIM,
        kinds.PERSISTENT_VOLUME,
        kinds.STORAGE_CLASS,
        kinds.CSI_NODE,
        kinds.CSI_DRIVER,
        kinds.ATTACHMENT,
    )

    too_many = unschedulable(TOO_MANY).by(name)

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._storage = Storage(handle)
        self._drivers_must_be_there = handle.gates.enabled(GATE)

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        volumes = volumes_of(pod.spec)
        return (volumes.claims, volumes.inline) if volumes.claims or volumes.inline else None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        volumes = volumes_of(pod.spec)
        if not volumes.claims and not volumes.inline:
            return SKIP
        cycle.write(STATE, self._wanted(pod))
        return None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        wanted: Wanted = cycle.read(STATE, Wanted())
        if wanted.rejection is not None:
            return wanted.rejection
        csi_node = self._storage.csi_node(node.name)
        new = _attached_by_csi(wanted.volumes, csi_node)
        if not new:
            return None
        if self._drivers_must_be_there and (missing := self._missing(new.values(), csi_node)):
            return unschedulable(NOT_INSTALLED.format(missing))
        if csi_node is None or not csi_node.limits:
            return None
        there = self._there(node, csi_node)
        counts = Counter(there.values())
        more = Counter(driver for unique, driver in new.items() if unique not in there)
        limits = csi_node.limits
        over = any(driver in limits and counts[driver] + n > limits[driver] for driver, n in more.items())
        return self.too_many if over else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Bools:
        """Only nodes with a limit of a driver that the pod needs are looked at one by one."""
        wanted: Wanted = cycle.read(STATE, Wanted())
        if wanted.rejection is not None:
            return np.zeros(len(nodes), np.bool_)
        ok = np.ones(len(nodes), np.bool_)
        drivers = {volume.driver for volume in wanted.volumes}
        asked = nodes.alive
        if not self._drivers_must_be_there:
            asked = asked & nodes.named(self._storage.nodes_with_limits(drivers))
        for index in np.flatnonzero(asked).tolist():
            ok[index] = self.filter(cycle, pod, self.handle.cluster.view(int(nodes.rows[index]))) is None
        return ok

    def events(self) -> tuple[Interest, ...]:
        return (
            Interest(kinds.CSI_NODE, Action.ADD | Action.UPDATE, limit_rose),
            Interest(POD, Action.DELETE, volumes_freed),
            Interest(kinds.CLAIM, Action.ADD, claim_of_pod),
            Interest(kinds.ATTACHMENT, Action.DELETE, volume_detached),
        )

    def _wanted(self, pod: Pod) -> Wanted:
        volumes = volumes_of(pod.spec)
        found = list(volumes.inline)
        for use in volumes.claims:
            name, key = use.claim_name(pod), use.key(pod)
            claim = self._storage.claim(key)
            if not name:
                return Wanted(rejection=error(NAMELESS_CLAIM))
            if claim is None:
                return Wanted(rejection=unresolvable(LOOKING_UP.format(key, NO_CLAIM.format(name))))
            if use.ephemeral and (why := not_owner(pod, claim)):
                return Wanted(rejection=error(why))
            found += self._volume_of(claim)
        return Wanted(tuple(found))

    def _there(self, node: NodeView, csi_node: CsiNode) -> dict[str, str]:
        """The volumes on a node, of pods and attachments, with their drivers; each once."""
        found: dict[str, str] = {}
        for other in node.pods:
            volumes = volumes_of(other.spec)
            if volumes.claims or volumes.inline:
                found |= _attached_by_csi([*volumes.inline, *self._claimed(other, volumes.claims)], csi_node)
        for attachment in self._storage.attachments(node.name):
            volume = attachment.inline
            if attachment.volume_name and (known := self._storage.volume(attachment.volume_name)):
                volume = known.csi
            if volume is not None and attachment.driver:
                found[f"{attachment.driver}/{volume.handle}"] = attachment.driver
        return found

    def _claimed(self, pod: Pod, uses: Iterable[ClaimUse]) -> Iterator[CsiVolume]:
        """Volumes of a placed pod. What became of a claim that is not there any more, nobody knows."""
        for use in uses:
            claim = self._storage.claim(use.key(pod))
            if claim is not None and not (use.ephemeral and not_owner(pod, claim)):
                yield from self._volume_of(claim)

    def _volume_of(self, claim: Claim) -> Iterator[CsiVolume]:
        """The volume of a claim; as long as there is none, one of its own with its class's driver."""
        volume = self._storage.volume(claim.volume_name) if claim.volume_name else None
        if volume is not None:
            if volume.csi is not None:
                yield volume.csi
            return
        found = self._storage.storage_class(claim.class_name) if claim.class_name else None
        if found is None or not found.provisioner:
            return
        handle = f"unbound claim {claim.key}"  # blanks: no driver names a volume like this
        tree = BY_PLUGIN.get(found.provisioner)
        yield CsiVolume(tree.driver, handle, tree.plugin) if tree else CsiVolume(found.provisioner, handle)

    def _missing(self, drivers: Iterable[str], csi_node: CsiNode | None) -> str:
        """A driver that must be on the node and is not."""
        installed = csi_node.drivers if csi_node is not None else frozenset()
        for driver in drivers:
            known = self._storage.csi_driver(driver) if driver not in installed else None
            if known is not None and known.must_be_installed:
                return driver
        return ""


def _attached_by_csi(volumes: Iterable[CsiVolume], csi_node: CsiNode | None) -> dict[str, str]:
    """Volumes with their drivers; in-tree ones only where a CSI driver stands in for their plugin."""
    migrated = csi_node.migrated if csi_node is not None else frozenset()
    return {
        volume.unique: volume.driver
        for volume in volumes
        if volume.driver and volume.handle and (not volume.plugin or volume.plugin in migrated)
    }


def limit_rose(pod: Pod, old: Object | None, new: Object) -> Hint:
    """The node's drivers are known now, or one of them can attach more than before, or has less to attach."""
    if old is None:
        return Hint.QUEUE
    was, now = read_csi_node(old), read_csi_node(new)
    before, after = was.limits, now.limits
    rose = any(limit > before[driver] for driver, limit in after.items() if driver in before)
    rose = rose or bool(before.keys() - after.keys())
    return Hint.QUEUE if rose or was.migrated - now.migrated else Hint.SKIP


def volumes_freed(pod: Pod, old: Pod, new: None) -> Hint:
    """The pod that went had a place and, perhaps, volumes attached to it."""
    placed = old.spec.node_name or old.status.nominated_node_name
    volumes = volumes_of(old.spec)
    return Hint.QUEUE if placed and (volumes.claims or volumes.inline) else Hint.SKIP


def volume_detached(pod: Pod, old: Object, new: None) -> Hint:
    """A volume went from a node, and the pod brings some that may be of its driver."""
    volumes = volumes_of(pod.spec)
    driver = kinds.read_attachment(old).driver
    helps = volumes.claims or any(volume.driver == driver for volume in volumes.inline)
    return Hint.QUEUE if helps else Hint.SKIP
