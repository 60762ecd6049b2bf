"""Storage as it will be once what has been decided is written.

From reserve until the API server tells of the object anew, a volume counts as taken by the claim it was
chosen for, and a claim as bound for the node it was placed with. An object that came from the API server
after that says more than what was assumed of the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from msgspec.structs import replace

from mooring.model.objects import Object
from mooring.plugins.volumes.storage import Storage
from mooring.plugins.volumes.storage_objects import Claim, ClaimRef, Volume

SWEEP_ABOVE = 1024  # assumptions; those that no longer hold are then swept out

RECENT = 1000  # pods that lost their volumes; those who wait look at once, or when their attempt ends


class _HasObject(Protocol):
    @property
    def object(self) -> Object: ...


T = TypeVar("T", bound=_HasObject)


class Assumptions(Generic[T]):
    """Things as they will be, each as long as the object it was assumed of is the latest."""

    def __init__(self, latest: Callable[[str], T | None]) -> None:
        self._latest = latest
        self._by_key: dict[str, T] = {}
        self._sweep_above = SWEEP_ABOVE

    def of(self, actual: T) -> T:
        """What is assumed of a thing; itself when nothing is."""
        key = actual.object.key
        assumed = self._by_key.get(key)
        if assumed is None:
            return actual
        if _same(assumed.object, actual.object):
            return assumed
        del self._by_key[key]
        return actual

    def assume(self, assumed: T) -> T:
        self._by_key[assumed.object.key] = assumed
        if len(self._by_key) > self._sweep_above:
            self._by_key = {key: each for key, each in self._by_key.items() if self._holds(key, each)}
            self._sweep_above = 2 * len(self._by_key) + SWEEP_ABOVE
        return assumed

    def forget(self, assumed: T) -> None:
        """Takes this back, and not what another has assumed of the same thing since."""
        key = assumed.object.key
        if self._by_key.get(key) is assumed:
            del self._by_key[key]

    def _holds(self, key: str, assumed: T) -> bool:
        latest = self._latest(key)
        return latest is not None and _same(assumed.object, latest.object)


class Recent:
    """The last few names."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def add(self, name: str) -> None:
        self._names.pop(name, None)
        self._names[name] = None
        if len(self._names) > RECENT:
            del self._names[next(iter(self._names))]

    def __contains__(self, name: str) -> bool:
        return name in self._names


class AssumedStorage:
    """Claims and volumes, with what is assumed of them."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._claims = Assumptions(storage.claim)
        self._volumes = Assumptions(storage.volume)

    def claim(self, key: str) -> Claim | None:
        found = self._storage.claim(key)
        return None if found is None else self._claims.of(found)

    def volume(self, name: str) -> Volume | None:
        found = self._storage.volume(name)
        return None if found is None else self._volumes.of(found)

    def volumes_of_class(self, name: str) -> list[Volume]:
        return [self._volumes.of(volume) for volume in self._storage.volumes_of_class(name)]

    def take(self, volume: Volume, claim: Claim) -> Volume | None:
        """The volume is the claim's: the volume as it will be. None when it says so itself already."""
        ref = ClaimRef(claim.key, claim.uid)
        return None if volume.claim == ref else self._volumes.assume(replace(volume, claim=ref))

    def give_back(self, assumed: Volume) -> None:
        self._volumes.forget(assumed)

    def select(self, claim: Claim, node_name: str) -> Claim | None:
        """The claim's volume is to be made for the node. None when the claim says so itself already."""
        if claim.selected_node == node_name:
            return None
        return self._claims.assume(replace(claim, selected_node=node_name))

    def deselect(self, assumed: Claim) -> None:
        self._claims.forget(assumed)


def _same(one: Object, other: Object) -> bool:
    """The same state of an object; the API server may tell of it twice."""
    version = one.metadata.resource_version
    return one is other or (
        bool(version)
        and version == other.metadata.resource_version
        and one.metadata.uid == other.metadata.uid
    )
