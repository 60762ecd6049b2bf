"""Storage objects by name, as the listers have them, and what is said when one is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from mooring.framework.api.handle import Handle
from mooring.model.objects import Object
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.storage_objects import (
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

    def __init__(self, key: Callable[[T], str]) -> None:
        self._key = key
        self._version: int | None = None
        self._groups: dict[str, list[T]] = {}

    def of(self, key: str, version: int, values: Callable[[], Iterable[T]]) -> list[T]:
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
        self._room_of_class = Grouped[Capacity](lambda capacity: capacity.class_name)
        self._limited = Grouped[tuple[str, str]](lambda pair: pair[0])
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
        return self._group(self._by_class, name, kinds.PERSISTENT_VOLUME, kinds.read_volume)

    def capacities(self, class_name: str) -> list[Capacity]:
        return self._group(self._room_of_class, class_name, kinds.CAPACITY, kinds.read_capacity)

    def nodes_with_limits(self, drivers: Iterable[str]) -> Iterator[str]:
        """Names of the nodes that attach only so many volumes of one of the drivers."""
        lister = self._handle.lister(kinds.CSI_NODE)
        for driver in drivers:
            pairs = self._limited.of(driver, lister.version, lambda: _limits(lister))
            yield from (name for _, name in pairs)

    def attachments(self, node_name: str) -> list[Attachment]:
        return self._group(self._by_node, node_name, kinds.ATTACHMENT, kinds.read_attachment)

    def _get(self, kind: str, key: str, read: ReadOnce[T]) -> T | None:
        lister = self._handle.lister(kind)
        found = lister.get(key)
        return None if found is None else read(found, lister)

    def _group(self, groups: Grouped[T], name: str, kind: str, read: ReadOnce[T]) -> list[T]:
        lister = self._handle.lister(kind)
        return groups.of(name, lister.version, lambda: (read(each, lister) for each in lister))


def _limits(nodes: Iterable[Object]) -> Iterator[tuple[str, str]]:
    """Drivers and the names of nodes where they have a limit."""
    for node in nodes:
        for driver in kinds.read_csi_node(node, nodes).limits:
            yield driver, node.metadata.name
