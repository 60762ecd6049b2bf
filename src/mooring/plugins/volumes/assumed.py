"""Storage as it will be once what has been decided is written.

From reserve until the API server tells of the object anew, a volume counts as taken by the claim it was
chosen for, and a claim as bound for the node it was placed with. An object that came from the API server
after that says more than what was assumed of the one before. The book is one for all profiles: none gives out
what another has given.
"""

from __future__ import annotations

from typing import Any, Self, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.cluster.books.book import Book
from mooring.cluster.newest_entries import Recent
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes.storage import Storage
from mooring.plugins.volumes.storage_objects import CLAIM, PERSISTENT_VOLUME, Claim, ClaimRef, Volume

POD = "Pod"
RECENT = (
    1000  # pods that lost their volumes, at least; those who wait look at once, or when their attempt ends
)

Key = tuple[str, str]  # a kind, and the key of an object; of a pod, its uid
T = TypeVar("T", Claim, Volume)


class Assumed(msgspec.Struct, frozen=True):
    """A claim or a volume as it will be, for the sake of a pod."""

    thing: Any
    uid: str


class AssumedStorage(Book[Key, Any]):
    """Claims and volumes, with what is assumed of them; and of each pod, what was assumed for it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.lost: Recent[str, bool] = Recent(2 * RECENT)  # uids of pods that lost their volumes

    # reading

    def claim(self, key: str) -> Claim | None:
        found = self._storage.claim(key)
        return None if found is None else self._as_assumed(CLAIM, found)

    def volume(self, name: str) -> Volume | None:
        found = self._storage.volume(name)
        return None if found is None else self._as_assumed(PERSISTENT_VOLUME, found)

    def volumes_of_class(self, name: str) -> list[Volume]:
        found = self._storage.volumes_of_class(name)
        return [self._as_assumed(PERSISTENT_VOLUME, volume) for volume in found] if len(self) else found

    def _as_assumed(self, kind: str, actual: T) -> T:
        assumed = self.get((kind, actual.object.key))
        if assumed is None or not _same(assumed.thing.object, actual.object):
            return actual
        thing: T = assumed.thing
        return thing

    # choosing

    def take(self, pod: Pod, volume: Volume, claim: Claim) -> bool:
        """The volume is the claim's. False when it says so itself already."""
        ref = ClaimRef(claim.key, claim.uid)
        if volume.claim == ref:
            return False
        self._assume(pod.metadata.uid, (PERSISTENT_VOLUME, volume.name), replace(volume, claim=ref))
        return True

    def select(self, pod: Pod, claim: Claim, node_name: str) -> bool:
        """The claim's volume is to be made for the node. False when the claim says so itself already."""
        if claim.selected_node == node_name:
            return False
        self._assume(pod.metadata.uid, (CLAIM, claim.key), replace(claim, selected_node=node_name))
        return True

    def _assume(self, uid: str, key: Key, thing: Claim | Volume) -> None:
        if key in self:
            self._drop(key)
        self.set(key, Assumed(thing, uid))
        self.set((POD, uid), self._of(uid) | {key})

    def _of(self, uid: str) -> frozenset[Key]:
        """What was assumed for a pod."""
        found: frozenset[Key] = self.get((POD, uid)) or frozenset()
        return found

    # letting go

    def give_up(self, pod: Pod) -> None:
        """Takes back what was assumed for a pod, and not what was assumed for another since."""
        for key in sorted(self._of(pod.metadata.uid)):
            self._drop(key)

    def _drop(self, key: Key) -> None:
        uid = self[key].uid
        self.drop(key)
        if others := self._of(uid) - {key}:
            self.set((POD, uid), others)
        else:
            self.drop((POD, uid))

    def seen(self, old: Object | None, new: Object | None) -> None:
        """The API server tells of an object: what was assumed of the one before has had its time."""
        found = new or old
        key = (found.kind, found.key) if found is not None else ("", "")
        assumed = self.get(key)
        if assumed is not None and (new is None or not _same(assumed.thing.object, new)):
            self._drop(key)

    def begun(self, before: Self) -> None:
        """An assumption may outlive its pod: what is being written is taken back, or told of, later."""
        for (kind, key), assumed in before.items():
            latest = self._storage.claim(key) if kind == CLAIM else self._storage.volume(key)
            if kind != POD and latest is not None and _same(assumed.thing.object, latest.object):
                self._assume(assumed.uid, (kind, key), assumed.thing)


def _same(one: Object, other: Object) -> bool:
    """The same state of an object; the API server may tell of it twice."""
    version = one.metadata.resource_version
    return one is other or (
        bool(version)
        and version == other.metadata.resource_version
        and one.metadata.uid == other.metadata.uid
    )
