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
    """All other objects: by kind, and by `Kind.group` for kinds that several groups have."""

    def __init__(self) -> None:
        self._kinds: dict[str, ObjectsOfKind] = {}
        self._of_group: dict[tuple[str, str], ObjectsOfKind] = {}  # by kind and apiVersion

    def kinds(self) -> frozenset[str]:
        """The kinds anybody has asked for."""
        return frozenset(self._kinds)

    def of(self, kind: str) -> ObjectsOfKind:
        return self._kinds.setdefault(kind, ObjectsOfKind())

    def all(self) -> list[Object]:
        """Every object, whatever its kind."""
        return [found for lister in dict.fromkeys(self._of_group.values()) for found in lister]

    def put(self, found: Object) -> Object | None:
        """Keeps an object; returns what was there before."""
        for lister in self._listers(found):
            before = lister.put(found)
        return before

    def drop(self, found: Object) -> Object | None:
        for lister in self._listers(found):
            before = lister.drop(found)
        return before

    def _listers(self, found: Object) -> tuple[ObjectsOfKind, ...]:
        """All that list the object. The last lists nothing but its group's."""
        own = self._of_group.get((found.kind, found.api_version))
        if own is None:
            group = found.api_version.rpartition("/")[0]
            own = self.of(f"{found.kind}.{group}") if group else self.of(found.kind)
            self._of_group[found.kind, found.api_version] = own
        shared = self.of(found.kind)
        return (own,) if shared is own else (shared, own)
