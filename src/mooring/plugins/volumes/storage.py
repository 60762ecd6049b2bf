"""Storage objects by name, as the listers have them, and what is said when one is not there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from mooring.framework.handle import Handle
from mooring.plugins.volumes import kinds
from mooring.plugins.volumes.kinds import (
    Attachment,
    Capacity,
    Claim,
    CsiDriver,
    CsiNode,
    ReadOnce,
    StorageClass,
    Volume,
)

NO_CLAIM = 'persistentvolumeclaim "{}" not found'
NO_VOLUME = 'persistentvolume "{}" not found'
NO_CLASS = 'storageclass.storage.k8s.io "{}" not found'

T = TypeVar("T")


class Grouped(Generic[T]):
    """Objects of a kind by something they have in common, grouped anew when any of them changed."""

    def __init__(self, key: Callable[[T], Hashable]) -> None:
        self._key = key
        self._version: int | None = None
        self._groups: dict[Hashable, list[T]] = {}

    def of(self, key: Hashable, version: int, values: Callable[[], Iterable[T]]) -> list[T]:
        if version != self._version:
            self._groups = {}
            for value in values():
                self._groups.setdefault(self._key(value), []).append(value)
            self._version = version
        return self._groups.get(key, [])


class Storage:
    """What a plugin looks up."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._by_class = Grouped[Volume](lambda volume: volume.class_name)
        self._by_node = Grouped[Attachment](lambda attachment: attachment.node)

    def claim(self, key: str) -> Claim | None:
        return self._get(kinds.CLAIM, key, kinds.read_claim)

    def volume(self, name: str) -> Volume | None:
        return self._get(kinds.PERSISTENT_VOLUME, name, kinds.read_volume)

    def storage_class(self, name: str) -> StorageClass | None:
        return self._get(kinds.STORAGE_CLASS, name, kinds.read_storage_class)

    def csi_node(self, name: str) -> CsiNode | None:
        return self._get(kinds.CSI_NODE, name, kinds.read_csi_node)

    def csi_driver(self, name: str) -> CsiDriver | None:
        return self._get(kinds.CSI_DRIVER, name, kinds.read_csi_driver)

    def volumes_of_class(self, name: str) -> list[Volume]:
        version = self._handle.lister(kinds.PERSISTENT_VOLUME).version
        return self._by_class.of(name, version, lambda: self._all(kinds.PERSISTENT_VOLUME, kinds.read_volume))

    def capacities(self, class_name: str) -> list[Capacity]:
        found = self._all(kinds.CAPACITY, kinds.read_capacity)
        return [capacity for capacity in found if capacity.class_name == class_name]

    def attachments(self, node_name: str) -> list[Attachment]:
        version = self._handle.lister(kinds.ATTACHMENT).version
        return self._by_node.of(
            node_name, version, lambda: self._all(kinds.ATTACHMENT, kinds.read_attachment)
        )

    def _get(self, kind: str, key: str, read: ReadOnce[T]) -> T | None:
        found = self._handle.lister(kind).get(key)
        return None if found is None else read(found)

    def _all(self, kind: str, read: ReadOnce[T]) -> Iterator[T]:
        return map(read, self._handle.lister(kind))
