"""VolumeZone: a pod goes only to the zone and region its bound volumes carry as labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import msgspec
import numpy as np

from mooring.cluster.columns import Bools, NodeColumns, StaticColumns
from mooring.cluster.view import NodeView
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.api.status import SKIP, Status, unresolvable
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.pod_volumes import volumes_of
from mooring.plugins.volumes.storage import NO_CLAIM, NO_CLASS, NO_VOLUME, Storage
from mooring.plugins.volumes.storage_objects import WAIT_FOR_FIRST_CONSUMER, Claim

STATE = "VolumeZone"
OTHER_ZONE = "node(s) had no available volume zone"
NAMELESS_CLAIM = "PersistentVolumeClaim had no name"
NOTHING_NAMED = "PersistentVolumeClaim had no pv name and storageClass name"
NO_BINDING_MODE = 'VolumeBindingMode not set for StorageClass "{}"'
NAMELESS_VOLUME = "PersistentVolume had no name"

SEPARATOR = "__"  # between the zones of a volume that is in several
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
TODAYS = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class Topology(msgspec.Struct, frozen=True):
    """One label of a volume: the values a node's may have."""

    key: str
    values: frozenset[str]

    def includes(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key, labels.get(TODAYS.get(self.key, self.key)))
        return value is not None and value in self.values

    def including(self, nodes: StaticColumns) -> Bools:
        here = nodes.matching_label(self.key, self.values.__contains__)
        if self.key not in TODAYS:
            return here
        today = nodes.matching_label(TODAYS[self.key], self.values.__contains__)
        return np.asarray(here | (today & ~nodes.matching_label(self.key, _is_there)))


class VolumeZone(Plugin):
    name = "VolumeZone"
    reads = (kinds.CLAIM, kinds.PERSISTENT_VOLUME, kinds.STORAGE_CLASS)

    rejection = unresolvable(OTHER_ZONE).by(name)

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._storage = Storage(handle)

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return volumes_of(pod.spec).named_claims or None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        found: list[Topology] = []
        for name in volumes_of(pod.spec).named_claims:
            topologies = self._topologies(pod.namespace, name)
            if isinstance(topologies, Status):
                return topologies
            found += topologies
        if not found:
            return SKIP
        cycle.write(STATE, tuple(found))
        return None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        labels = node.labels
        if not any(key in labels for key in LABELS):
            return None  # a cluster of one zone need not label its nodes
        found: tuple[Topology, ...] = cycle.read(STATE, ())
        return None if all(topology.includes(labels) for topology in found) else self.rejection

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Bools:
        found: tuple[Topology, ...] = cycle.read(STATE, ())
        ok = np.ones(len(nodes), np.bool_)
        for topology in found:
            ok &= topology.including(nodes)
        placed = np.zeros(len(nodes), np.bool_)
        for key in LABELS:
            placed |= nodes.matching_label(key, _is_there)
        return ok | ~placed

    def events(self) -> tuple[Interest, ...]:
        changed = Action.ADD | Action.UPDATE
        return (
            Interest(kinds.STORAGE_CLASS, Action.ADD, class_waits),
            Interest(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            Interest(kinds.CLAIM, changed, claim_named),
            Interest(kinds.PERSISTENT_VOLUME, changed, volume_moved),
        )

    def _topologies(self, namespace: str, name: str) -> list[Topology] | Status:
        """Where the volume of a claim is; nowhere in particular while it waits for its first consumer."""
        if not name:
            return unresolvable(NAMELESS_CLAIM)
        claim = self._storage.claim(f"{namespace}/{name}")
        if claim is None:
            return unresolvable(NO_CLAIM.format(name))
        if not claim.volume_name:
            return self._unbound(claim) or []
        volume = self._storage.volume(claim.volume_name)
        if volume is None:
            return unresolvable(NO_VOLUME.format(claim.volume_name))
        return list(topologies_of(volume.object))

    def _unbound(self, claim: Claim) -> Status | None:
        if not claim.class_name:
            return unresolvable(NOTHING_NAMED)
        found = self._storage.storage_class(claim.class_name)
        if found is None:
            return unresolvable(NO_CLASS.format(claim.class_name))
        if found.binding_mode is None:
            return unresolvable(NO_BINDING_MODE.format(claim.class_name))
        return None if found.binding_mode == WAIT_FOR_FIRST_CONSUMER else unresolvable(NAMELESS_VOLUME)


def _is_there(value: str | None) -> bool:
    return value is not None


def topologies_of(volume: Object) -> Iterator[Topology]:
    """Zones and regions of a volume. A label with an empty name among its values is passed over."""
    labels = volume.metadata.labels
    for key in LABELS:
        if key in labels:
            values = [value.strip() for value in labels[key].split(SEPARATOR)]
            if all(values):
                yield Topology(key, frozenset(values))


def class_waits(pod: Pod, old: None, new: Object) -> Hint:
    """A new class whose claims are bound with the pod."""
    waits = kinds.read_storage_class(new).binding_mode == WAIT_FOR_FIRST_CONSUMER
    return Hint.QUEUE if waits else Hint.SKIP


def claim_named(pod: Pod, old: Object | None, new: Object) -> Hint:
    """A claim the pod names itself."""
    mine = new.metadata.namespace == pod.namespace
    return Hint.QUEUE if mine and new.metadata.name in volumes_of(pod.spec).named_claims else Hint.SKIP


def volume_moved(pod: Pod, old: Object | None, new: Object) -> Hint:
    """The volume is new, or its labels name other zones now."""
    moved = old is None or list(topologies_of(old)) != list(topologies_of(new))
    return Hint.QUEUE if moved else Hint.SKIP
