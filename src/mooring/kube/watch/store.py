"""What an informer knows: the objects of one kind, by namespace and name.

Names and namespaces are the objects' own strings, so knowing an object costs one entry of a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from mooring.model.objects import ObjectMeta


class HasMetadata(Protocol):
    """Pods, nodes and all other objects."""

    @property
    def metadata(self) -> ObjectMeta: ...


class HasName(Protocol):
    """Metadata, of the model or off the wire."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...


T = TypeVar("T", bound=HasMetadata)


class Store(Generic[T]):
    """Objects by namespace and name; those without a namespace are under ""."""

    def __init__(self) -> None:
        self._namespaces: dict[str, dict[str, T]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    def __iter__(self) -> Iterator[T]:
        for objects in list(self._namespaces.values()):
            yield from list(objects.values())

    def find(self, meta: HasName) -> T | None:
        objects = self._namespaces.get(meta.namespace)
        return None if objects is None else objects.get(meta.name)

    def put(self, found: T) -> None:
        meta = found.metadata
        objects = self._namespaces.get(meta.namespace)
        if objects is None:
            objects = self._namespaces[meta.namespace] = {}
        objects[meta.name] = found

    def drop(self, found: T) -> None:
        meta = found.metadata
        objects = self._namespaces[meta.namespace]
        del objects[meta.name]
        if not objects:
            del self._namespaces[meta.namespace]
