"""Objects of kinds other than Pod and Node, as plugins look them up."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.model.objects import Object


class ObjectsOfKind:
    """A lister: objects by `namespace/name`, or by name when they have no namespace."""

    def __init__(self) -> None:
        self._objects: dict[str, Object] = {}
        self.version = 0

    def get(self, key: str) -> Object | None:
        return self._objects.get(key)

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self._objects.values()))

    def put(self, found: Object) -> Object | None:
        """Keeps an object; returns what was there before."""
        before = self._objects.get(found.key)
        self._objects[found.key] = found
        self.version += 1
        return before

    def drop(self, found: Object) -> Object | None:
        self.version += 1
        return self._objects.pop(found.key, None)


class Objects:
    """All other objects, by kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, ObjectsOfKind] = {}

    def kinds(self) -> frozenset[str]:
        """The kinds anybody has asked for."""
        return frozenset(self._kinds)

    def of(self, kind: str) -> ObjectsOfKind:
        return self._kinds.setdefault(kind, ObjectsOfKind())
