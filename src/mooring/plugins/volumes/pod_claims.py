"""The claims of one pod in one attempt: sorted out once, then asked about for each node."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from mooring.cluster.columns import Bools, StaticColumns
from mooring.cluster.view import StaticNode
from mooring.framework.api.status import Status, unresolvable
from mooring.model.objects import Pod
from mooring.plugins.node_terms import any_term
from mooring.plugins.volumes.assumed import AssumedStorage
from mooring.plugins.volumes.matching import Offer, offer
from mooring.plugins.volumes.pod_volumes import ClaimUse, not_owner, volumes_of
from mooring.plugins.volumes.provisioning import Provision, Verdict, provision
from mooring.plugins.volumes.storage import NO_CLAIM, Storage
from mooring.plugins.volumes.storage_objects import WAIT_FOR_FIRST_CONSUMER, Claim, StorageClass, Volume

LOST = 'persistentvolumeclaim "{}" bound to non-existent persistentvolume "{}"'
DELETING = 'persistentvolumeclaim "{}" is being deleted'
AWAITED = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "{}"'
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
NO_BINDING_MODE = 'VolumeBindingMode not set for StorageClass "{}"'

OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NONE_TO_BIND = "node(s) didn't find available persistent volumes to bind"
NO_ROOM = "node(s) did not have enough free storage"
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Unreadable(ValueError):
    """A storage class that does not say when its claims are bound."""


class Unbound(msgspec.Struct, frozen=True):
    """A claim that gets its volume with the pod's node."""

    claim: Claim
    offer: Offer
    provision: Provision


class Choice(msgspec.Struct, frozen=True):
    """What to do about a pod's claims if it goes to a certain node."""

    bindings: tuple[tuple[Claim, Volume], ...] = ()
    provisions: tuple[Provision, ...] = ()


class PodClaims:
    """The state of an attempt, from pre_filter to pre_bind."""

    def __init__(self, bound: Iterable[Claim], waiting: Iterable[Unbound], assumed: AssumedStorage) -> None:
        self._volumes = [assumed.volume(claim.volume_name) for claim in bound]
        self._waiting = sorted(waiting, key=lambda each: each.claim.size or 0)
        self.chosen: Choice | None = None  # from reserve on
        self.assumes = False  # whether what was chosen is not what the objects say

    @property
    def all_bound(self) -> bool:
        return not self._waiting

    def status(self, node: StaticNode) -> Status | None:
        """Whether the node will do."""
        first, last = self._bound_reasons(node)
        between = self.choose(node)[1] if self._waiting else ""
        reasons = [reason for reason in (first, between, last) if reason]
        return unresolvable(*reasons) if reasons else None

    def passing(self, nodes: StaticColumns) -> Bools:
        """The nodes that will do."""
        ok = np.ones(len(nodes), np.bool_)
        for volume in self._volumes:
            ok &= _reachable(volume, nodes) if volume is not None else False
        for each in self._waiting:
            selected = each.claim.selected_node
            can = each.provision.passing(nodes)
            ok &= can & nodes.named([selected]) if selected is not None else can | _offered(each.offer, nodes)
        if self._compete:
            for index in np.flatnonzero(ok & nodes.alive).tolist():
                ok[index] = not self.choose(nodes.at_row(int(nodes.rows[index])))[1]
        return ok

    @property
    def _compete(self) -> bool:
        """Claims may want the same volume: what each can have does not say what all can have."""
        return sum(bool(each.offer.free) for each in self._waiting) > 1

    def _bound_reasons(self, node: StaticNode) -> tuple[str, str]:
        """What keeps bound claims off the node: the reason that is named first, and the one named last."""
        name, labels = node.name, node.labels
        for volume in self._volumes:
            if volume is None:
                return "", NO_SUCH_VOLUME
            if not volume.reachable(name, labels):
                return OUT_OF_REACH, ""
        return "", ""

    def choose(self, node: StaticNode) -> tuple[Choice, str]:
        """Volumes for the claims that have none, or why there are none. The smaller claims choose first."""
        name, labels = node.name, node.labels
        selected = [each.claim.selected_node for each in self._waiting]
        if any(other is not None and other != name for other in selected):
            return Choice(), NONE_TO_BIND
        bindings: list[tuple[Claim, Volume]] = []
        to_make = [each.provision for each in self._waiting if each.claim.selected_node is not None]
        taken: set[str] = set()
        for each in self._waiting:
            if each.claim.selected_node is not None:
                continue
            volume = each.offer.pick(name, labels, taken)
            if volume is None:
                to_make.append(each.provision)
            else:
                taken.add(volume.name)
                bindings.append((each.claim, volume))
        for making in to_make:
            if (verdict := making.possible(labels)) is not Verdict.YES:
                return Choice(), NO_ROOM if verdict is Verdict.FULL else NONE_TO_BIND
        return Choice(tuple(bindings), tuple(to_make)), ""


def _reachable(volume: Volume, nodes: StaticColumns) -> Bools:
    return np.ones(len(nodes), np.bool_) if volume.affinity is None else any_term(volume.affinity, nodes)


def _offered(offered: Offer, nodes: StaticColumns) -> Bools:
    """Nodes at which there is a volume for the claim."""
    volumes = offered.free if offered.own is None else (offered.own,)
    if any(volume.affinity is None for volume in volumes):
        return np.ones(len(nodes), np.bool_)
    return any_term((term for volume in volumes for term in volume.affinity or ()), nodes)


def claims_of(pod: Pod, storage: Storage, assumed: AssumedStorage) -> PodClaims | Status:
    """Sorts a pod's claims out, or says why the pod has to wait for them, whatever the node."""
    uses = volumes_of(pod.spec).claims
    for use in uses:
        if why := _unusable(pod, use, storage):
            return unresolvable(why)
    bound, waiting, immediate = [], [], False
    for use in uses:
        claim = assumed.claim(use.key(pod))
        assert claim is not None  # it has just been looked at
        if claim.bound:
            bound.append(claim)
            continue
        storage_class = _class_that_waits(claim, storage)
        if storage_class is None or claim.volume_name:
            immediate = True
        else:
            offered = offer(claim, assumed.volumes_of_class(claim.class_name))
            waiting.append(Unbound(claim, offered, provision(claim, storage_class, storage)))
    return unresolvable(UNBOUND_IMMEDIATE) if immediate else PodClaims(bound, waiting, assumed)


def _unusable(pod: Pod, use: ClaimUse, storage: Storage) -> str:
    """What is wrong with a claim as such; "" when nothing is."""
    name = use.claim_name(pod)
    claim = storage.claim(use.key(pod))
    if claim is None:
        return (AWAITED if use.ephemeral else NO_CLAIM).format(name)
    if claim.phase == "Lost":
        return LOST.format(name, claim.volume_name)
    if claim.object.metadata.deletion_timestamp is not None:
        return DELETING.format(name)
    return not_owner(pod, claim) if use.ephemeral else ""


def _class_that_waits(claim: Claim, storage: Storage) -> StorageClass | None:
    """The claim's storage class, if it binds volumes only when a pod needs them."""
    found = storage.storage_class(claim.class_name) if claim.class_name else None
    if found is None:
        return None
    if found.binding_mode is None:
        raise Unreadable(NO_BINDING_MODE.format(claim.class_name))
    return found if found.binding_mode == WAIT_FOR_FIRST_CONSUMER else None
