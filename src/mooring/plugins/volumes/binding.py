"""VolumeBinding: a pod goes where its volumes are, can be bound or can be made, and takes them with it.

Claims whose class waits for the first consumer get their volume with the pod's node. The choice is
assumed at reserve, so that no other pod counts on the same volume, and written before the pod is bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from mooring.cluster.columns import Bools, NodeColumns
from mooring.cluster.view import NodeView
from mooring.errors import ArgsError, FieldMistake
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.api.status import SKIP, Status, error
from mooring.model.objects import Object, Pod
from mooring.plugins.node_resources_fit.args import UtilizationShapePoint, unsorted_points
from mooring.plugins.volumes import binding_hints as hints
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.assumed import AssumedStorage
from mooring.plugins.volumes.binding_writes import bind_volumes
from mooring.plugins.volumes.capacity_score import CapacityScore
from mooring.plugins.volumes.pod_claims import Choice, PodClaims, Unreadable, claims_of
from mooring.plugins.volumes.pod_volumes import volumes_of
from mooring.plugins.volumes.storage import Storage

STATE = "VolumeBinding"
GATE = "StorageCapacityScoring"
NO_API = "there is no API server to bind volumes with"
NO_CHOICE = 'no pod volumes found for node "{}": {}'
NO_NODE = 'node "{}" not found'
SHAPE_WITHOUT_GATE = f"shape needs the feature gate {GATE}"


class VolumeBindingArgs(PluginArgs, frozen=True):
    """How long to wait until volumes are bound, and how full the storage of a node should be."""

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] = ()

    def __post_init__(self) -> None:
        mistakes = unsorted_points(self.shape)
        if self.bind_timeout_seconds < 0:
            what = "invalid BindTimeoutSeconds, should not be a negative value"
            mistakes.append(FieldMistake(("bindTimeoutSeconds",), what))
        ArgsError.unless_right(mistakes)


class VolumeBinding(Plugin):
    name = "VolumeBinding"
    Args = VolumeBindingArgs
    reads = (
        kinds.CLAIM,
        kinds.PERSISTENT_VOLUME,
        kinds.STORAGE_CLASS,
        kinds.CSI_NODE,
        kinds.CSI_DRIVER,
        kinds.CAPACITY,
    )

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._storage = Storage(handle)
        self._assumed = handle.book(AssumedStorage, self._storage)
        scores = handle.gates.enabled(GATE)
        if args.shape and not scores:
            raise ArgsError([FieldMistake(("shape",), SHAPE_WITHOUT_GATE)])
        self._score = CapacityScore(args.shape) if scores else None

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return volumes_of(pod.spec).claims or None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        if not volumes_of(pod.spec).claims:
            return SKIP
        try:
            found = claims_of(pod, self._storage, self._assumed)
        except Unreadable as mistake:
            return error(str(mistake))
        if isinstance(found, Status):
            return found
        cycle.write(STATE, found)
        return None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        claims: PodClaims | None = cycle.read(STATE, None)
        return None if claims is None else claims.status(node)

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Bools:
        claims: PodClaims | None = cycle.read(STATE, None)
        return np.ones(len(nodes), np.bool_) if claims is None else claims.passing(nodes)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        claims: PodClaims | None = cycle.read(STATE, None)
        return SKIP if self._score is None or claims is None or claims.all_bound else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        claims: PodClaims | None = cycle.read(STATE, None)
        if self._score is None or claims is None:
            return 0
        return self._score.of(claims.choose(node)[0], node.labels)

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        claims: PodClaims | None = cycle.read(STATE, None)
        if claims is None or claims.all_bound:
            return None
        node = self.handle.cluster.node(node_name)
        choice, why_not = claims.choose(node) if node is not None else (Choice(), NO_NODE.format(node_name))
        if why_not:
            return error(NO_CHOICE.format(node_name, why_not))
        claims.chosen = choice
        taken = [self._assumed.take(pod, volume, claim) for claim, volume in choice.bindings]
        made = [self._assumed.select(pod, making.claim, node_name) for making in choice.provisions]
        claims.assumes = any(taken) or any(made)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        """Takes back what this pod had assumed, and nothing else. Does no harm when called again."""
        claims: PodClaims | None = cycle.read(STATE, None)
        if claims is None:
            return
        if claims.assumes:
            self._assumed.lost.put(pod.metadata.uid, True)
            self._assumed.give_up(pod)
        claims.assumes, claims.chosen = False, None

    def object_seen(self, old: Object | None, new: Object | None) -> None:
        self._assumed.seen(old, new)

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        """Nothing is left to do when every claim is bound."""
        claims: PodClaims | None = cycle.read(STATE, None)
        return SKIP if claims is None or claims.chosen is None else None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        claims: PodClaims | None = cycle.read(STATE, None)
        if claims is None or claims.chosen is None:
            return None
        if self.handle.api is None:
            return error(NO_API)
        node = self.handle.cluster.node(node_name)
        labels = node.labels if node is not None else {}
        timeout_s = self.args.bind_timeout_seconds
        problem = await bind_volumes(self.handle.api, claims.chosen, pod, node_name, labels, timeout_s)
        return error(problem) if problem else None

    def events(self) -> tuple[Interest, ...]:
        changed = Action.ADD | Action.UPDATE
        return (
            Interest(kinds.STORAGE_CLASS, changed, hints.class_changed),
            Interest(kinds.CLAIM, changed, hints.claim_of_pod),
            Interest(kinds.PERSISTENT_VOLUME, changed),
            Interest(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            Interest(kinds.CSI_NODE, changed, hints.csi_node_changed),
            Interest(kinds.CSI_DRIVER, Action.UPDATE, hints.driver_stopped_checking),
            Interest(kinds.CAPACITY, changed, hints.more_room),
            Interest(POD, Action.DELETE, self._volumes_let_go),
        )

    def _volumes_let_go(self, pod: Pod, old: Pod, new: None) -> Hint:
        """The pod that lost its place was to have volumes that nobody has taken in its stead. The API
        server never knew, so nothing but this tells those who wait for such volumes."""
        return Hint.QUEUE if self._assumed.lost.get(old.metadata.uid) else Hint.SKIP
