"""The objects of the embedded cluster, as its API server keeps them."""

from __future__ import annotations

import random
from collections.abc import Callable, Container

from msgspec.structs import replace

from mooring.errors import ApiError
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from mooring.sim.world.naming import generated_name, made_up_uid, plural_of


class Store:
    """Everything there is. `version` counts the changes that can matter to where a pod fits."""

    def __init__(self, source: random.Random, timestamp: Callable[[], str]) -> None:
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.objects: dict[tuple[str, str], dict[str, Object]] = {}  # by group and kind, then by key
        self.version = 0
        self._writes = 0
        self._created = 0
        self._random = source
        self._timestamp = timestamp

    def next_version(self) -> str:
        """A resourceVersion: every write has its own."""
        self._writes += 1
        return str(self._writes)

    def new_meta(self, kind: str, meta: ObjectMeta, taken: Container[str]) -> ObjectMeta:
        """Metadata of an object being created: name, uid and creation time are given here."""
        if not meta.name:
            meta = self._named(meta, taken)
        key = key_of(meta)
        if key in taken:
            raise ApiError(409, f'{kind.lower()}s "{meta.name}" already exists')
        self._created += 1
        return replace(
            meta,
            uid=meta.uid or made_up_uid(kind, key, self._created),
            resource_version=self.next_version(),
            creation_timestamp=meta.creation_timestamp or self._timestamp(),
        )

    def touched(self, meta: ObjectMeta) -> ObjectMeta:
        return replace(meta, resource_version=self.next_version())

    def pod(self, key: str) -> Pod:
        try:
            return self.pods[key]
        except KeyError:
            raise ApiError(404, f'pods "{key.rpartition("/")[2]}" not found') from None

    def node(self, name: str) -> Node:
        try:
            return self.nodes[name]
        except KeyError:
            raise ApiError(404, f'nodes "{name}" not found') from None

    def object(self, kind: str, key: str) -> Object:
        """An object by its kind, or by `group/version/plural`."""
        group, slash, rest = kind.partition("/")
        plural = rest.rpartition("/")[2]
        for (of, known), found in self.objects.items():
            same = (of == group and plural_of(known) == plural) if slash else known == kind
            if same and key in found:
                return found[key]
        raise ApiError(404, f'{kind} "{key}" not found')

    def find(self, kind: str, key: str) -> Pod | Node | Object:
        """An object of any kind."""
        if kind == "Pod":
            return self.pod(key)
        return self.node(key) if kind == "Node" else self.object(kind, key)

    def of_kind(self, api_version: str, kind: str) -> dict[str, Object]:
        """The objects of one kind, by key; a table to read and to write."""
        return self.objects.setdefault((api_version.rpartition("/")[0], kind), {})

    def _named(self, meta: ObjectMeta, taken: Container[str]) -> ObjectMeta:
        while True:
            named = replace(meta, name=generated_name(meta.generate_name, self._random))
            if key_of(named) not in taken:
                return named


def key_of(meta: ObjectMeta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
