"""The objects of one kind as they were last told, and the telling of what is different now.

Of each object one hears that it appears, then how it changes, then that it goes; one that is deleted and made
again under its name goes first. One that cannot be read is passed over, and stays as it is known.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from mooring.kube.decode.deep_json import read_deeply
from mooring.kube.decode.metadata import HalfRead, WireMeta, decode_head, identity
from mooring.kube.resources import Resource
from mooring.kube.watch.store import HasMetadata, Store
from mooring.model.objects import Object

log = logging.getLogger(__name__)

T = TypeVar("T", bound=HasMetadata)
Read = msgspec.Raw | HalfRead  # an object as it came, or half read
Deliver = Callable[[T | None, T | None], None]  # (before, now): added, changed or deleted
NotRead = Callable[[Object, str], None]  # about whom, and why


def always_different(old: object, new: object) -> bool:
    return False


class KnownObjects(Generic[T]):
    """Decodes objects, and delivers those that are different from what is known."""

    def __init__(
        self,
        resource: Resource,
        decode: Callable[[Any], T],
        deliver: Deliver[T],
        same: Callable[[T, T], bool],
        not_read: NotRead,
    ) -> None:
        self._resource = resource
        self._decode = decode
        self._deliver = deliver
        self._same = same
        self._not_read = not_read
        self._known: Store[T] = Store()

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[T]:
        return iter(self._known)

    # telling

    def show(self, found: T) -> None:
        """The server shows an object as it is now."""
        meta = found.metadata
        known = self._known.find(meta)
        if known is not None:
            before = known.metadata
            if before.uid != meta.uid:
                self._gone(known)
                known = None
            elif before.resource_version == meta.resource_version or self._same(known, found):
                return
        self._known.put(found)
        self._deliver(known, found)

    def show_all(self, found: Iterable[T]) -> Iterator[None]:
        """One after the other, for who wants to do something else between."""
        for each in found:
            self.show(each)
            yield

    def now_there_are(self, listed: list[T]) -> Iterator[None]:
        """Tells the differences between what is known and what there is: first what is gone."""
        there: Store[T] = Store()
        for each in listed:
            there.put(each)
        for known in self._known:
            now = there.find(known.metadata)
            if now is None or now.metadata.uid != known.metadata.uid:
                self._gone(known)
        yield from self.show_all(listed)

    def drop(self, meta: WireMeta) -> None:
        """The server says that an object is gone."""
        known = self._known.find(meta)
        if known is not None and known.metadata.uid == meta.uid:
            self._gone(known)

    def drop_all(self) -> None:
        for known in self._known:
            self._gone(known)

    def _gone(self, known: T) -> None:
        self._known.drop(known)
        self._deliver(known, None)

    # reading

    def read(self, raw: Read) -> T | None:
        """An object; None when it cannot be read."""
        try:
            return self._decode(raw)
        except Exception as error:
            self._pass_over(raw, error)
            return None

    def read_all(self, items: list[Read]) -> list[T]:
        """Objects of a list. One that cannot be read is not gone for that: it stays as it is known."""
        decode, found = self._decode, list[T]()
        for raw in items:
            if (known := self._as_known(raw)) is not None:
                found.append(known)
                continue
            try:
                found.append(decode(raw))
            except Exception as error:
                head = self._pass_over(raw, error)
                if head is not None and (known := self._known.find(head)) is not None:
                    found.append(known)
        return found

    def _as_known(self, raw: Read) -> T | None:
        """An object that has not changed since it was read, where that is seen without reading it."""
        if not len(self._known) or isinstance(raw, msgspec.Raw):
            return None
        meta = raw.metadata
        known = self._known.find(meta)
        if known is None or known.metadata.uid != meta.uid:
            return None
        same = meta.resource_version and known.metadata.resource_version == meta.resource_version
        return known if same else None

    def _pass_over(self, raw: Read, error: Exception) -> WireMeta | None:
        """Says that an object cannot be read. Returns who it is, if that much can be."""
        head = head_of(raw)
        name = f"{head.namespace}/{head.name}" if head is not None else "an object without a name"
        log.error("%s %s cannot be read and is passed over: %s", self._resource.kind, name, error)
        version, kind = self._resource.api_version, self._resource.kind
        about = Object(api_version=version, kind=kind, metadata=identity(head or WireMeta()), data={})
        self._not_read(about, str(error))
        return head


def head_of(raw: Read) -> WireMeta | None:
    """Who an object is, if that much can be read."""
    if not isinstance(raw, msgspec.Raw):
        return raw.metadata
    try:
        return read_deeply(decode_head, raw).metadata
    except Exception:
        return None
