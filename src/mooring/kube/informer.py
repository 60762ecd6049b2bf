"""Follows the objects of one kind: lists them, watches them, and tells of each change once.

Whatever happens to the connection, what is told adds up to what the server has. Of each object one
hears that it appears, then how it changes, then that it goes; an object that is deleted and made
again under its name goes first. A change that makes no difference to what is kept of the object
(a heartbeat) is not told at all.

    list, in pages          the first time, and whenever the server has forgotten where we were (410)
    watch                   from there on; a watch that ends is taken up where it was, by the version
                            of the last event or bookmark
    404                     the kind is not installed: nothing is there, which is as good as an empty
                            list; asked again now and then
    anything else           logged in the server's words, once as long as they stay the same, and
                            tried again after a while
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import msgspec

from mooring.errors import ApiError, Gone, NotFound, Unreachable
from mooring.kube.backoff import Backoff
from mooring.kube.client import Client, WatchEvent
from mooring.kube.lists import ReadList, read_raw
from mooring.kube.metadata import HalfRead, WireMeta, decode_head
from mooring.kube.resources import Resource
from mooring.kube.store import HasMetadata, Store
from mooring.kube.transport import Query

log = logging.getLogger(__name__)

ABSENT_SECONDS = 30.0  # how often a kind that is not installed is asked for
AT_ONCE = 500  # changes told before others have their turn
BELIEVED_AFTER = 2  # times in a row that a kind is said not to exist, before what is known of it goes

T = TypeVar("T", bound=HasMetadata)
Read = msgspec.Raw | HalfRead  # an object as it came, or half read
Deliver = Callable[[T | None, T | None], None]  # (before, now): added, changed or deleted
Sleep = Callable[[float], Awaitable[None]]


def always_different(old: object, new: object) -> bool:
    return False


class Informer(Generic[T]):
    """One kind of objects. `run` never returns; `synced` is set when all of the first list is told, and the
    server lets what follows be watched: who knows how things were but not how they go on is not in sync."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        decode: Callable[[Any], T],
        deliver: Deliver[T],
        *,
        query: Query = (),
        same: Callable[[T, T], bool] = always_different,
        backoff: Backoff | None = None,
        absent_seconds: float = ABSENT_SECONDS,
        sleep: Sleep = asyncio.sleep,
        read_list: ReadList = read_raw,
        synced: asyncio.Event | None = None,
    ) -> None:
        self.resource = resource
        self.synced = synced or asyncio.Event()
        self._client = client
        self._decode = decode
        self._read_list = read_list
        self._deliver = deliver
        self._query = query
        self._same = same
        self._backoff = backoff or Backoff()
        self._absent_seconds = absent_seconds
        self._sleep = sleep
        self._known: Store[T] = Store()
        self._version = ""  # where the watch goes on; "" when there must be a list first
        self._heard = False  # the server has said something since the last failure
        self._missing = 0  # times in a row that the kind was not there
        self._complaint = ""

    def __len__(self) -> int:
        """How many objects are known."""
        return len(self._known)

    async def run(self) -> None:
        """Follows the objects until cancelled."""
        while True:
            await self._sleep_if(await self._follow())

    async def _follow(self) -> float | None:
        """Lists if need be and watches until something ends it. Returns how long to wait before the next."""
        heard, self._heard = self._heard, False
        try:
            if not self._version:
                await self._list()
            await self._watch()
        except NotFound as error:
            return self._not_there(error)
        except Gone:
            self._version = ""
            # Once, at once. A server that forgets faster than we list is not asked in a hurry.
            return None if heard or self._heard else self._backoff.next()
        except ApiError as error:
            self._complain(error)
            return self._backoff.next(error.retry_after)
        return None if self._heard else self._backoff.next()

    async def _sleep_if(self, seconds: float | None) -> None:
        if seconds is not None:
            await self._sleep(seconds)

    # the two ways of learning

    async def _list(self) -> None:
        """Learns what there is. What is not known yet is told page by page, else all in one go at the
        end: only then is it certain what is gone, and that has to be told first."""
        first, listed, version = not len(self._known), list[T](), ""
        async for page in self._client.list_pages(self.resource, query=self._query, read=self._read_list):
            found = self._read_page(page.items)
            version = page.resource_version
            if first:
                await self._met_all(found)
            else:
                listed += found
        if not first:
            await self._now_there_are(listed)
        self._version = version
        self._missing = 0
        self._content()

    async def _watch(self) -> None:
        changes = self._client.watch(self.resource, self._version, query=self._query, opened=self.synced.set)
        async for events in changes:
            for event in events:
                self._take(event)
                if not self._heard:
                    self._heard = True
                    self._backoff.reset()
                    self._content()

    def _take(self, event: WatchEvent) -> None:
        if event.type in ("ADDED", "MODIFIED"):
            found = self._read(event.object)
            if found is not None:
                self._met(found)
                self._version = found.metadata.resource_version
                return
        head = _head(event.object)
        if head is None:
            raise Unreachable(0, f"the object of an event of type {event.type!r} cannot be read")
        if event.type == "DELETED":
            known = self._known.find(head)
            if known is not None and known.metadata.uid == head.uid:
                self._gone(known)
        self._version = head.resource_version or self._version

    # what is told

    def _met(self, found: T) -> None:
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

    def _gone(self, known: T) -> None:
        self._known.drop(known)
        self._deliver(known, None)

    async def _met_all(self, found: list[T]) -> None:
        for number, each in enumerate(found, 1):
            self._met(each)
            if not number % AT_ONCE:
                await self._sleep(0)

    async def _now_there_are(self, listed: list[T]) -> None:
        """Tells the differences between what is known and what there is: first what is gone."""
        there: Store[T] = Store()
        for each in listed:
            there.put(each)
        for known in self._known:
            now = there.find(known.metadata)
            if now is None or now.metadata.uid != known.metadata.uid:
                self._gone(known)
        await self._met_all(listed)

    # what can go wrong

    def _read(self, raw: Read) -> T | None:
        try:
            return self._decode(raw)
        except msgspec.DecodeError as error:
            self._pass_over(raw, error)
            return None

    def _read_page(self, items: list[Read]) -> list[T]:
        """Objects of a list. One that cannot be read is not gone for that: it stays as it is known."""
        decode, found = self._decode, list[T]()
        for raw in items:
            try:
                found.append(decode(raw))
            except msgspec.DecodeError as error:
                head = self._pass_over(raw, error)
                if head is not None and (known := self._known.find(head)) is not None:
                    found.append(known)
        return found

    def _pass_over(self, raw: Read, error: msgspec.DecodeError) -> WireMeta | None:
        """Says that an object cannot be read. Returns who it is, if that much can be."""
        head = _head(raw)
        name = f"{head.namespace}/{head.name}" if head is not None else "an object without a name"
        log.error("%s %s cannot be read and is passed over: %s", self.resource.kind, name, error)
        return head

    def _not_there(self, error: NotFound) -> float:
        """The kind is not installed. What is known of it goes only when that is said again: a server that
        has just started may not have heard of all its kinds yet."""
        self._version = ""
        self._missing += 1
        if not len(self._known) or self._missing >= BELIEVED_AFTER:
            for known in self._known:
                self._gone(known)
            self.synced.set()
        if self._missing == 1:
            log.info("there is no %s: %s", self._name, error)
        return self._absent_seconds

    def _complain(self, error: ApiError) -> None:
        complaint = f"{type(error).__name__} {error}"
        if complaint != self._complaint:
            log.warning("cannot follow %s: %s", self._name, error)
        self._complaint = complaint

    def _content(self) -> None:
        if self._complaint:
            log.info("following %s again", self._name)
        self._complaint = ""

    @property
    def _name(self) -> str:
        group = self.resource.group
        return f"{self.resource.plural}.{group}" if group else self.resource.plural


def _head(raw: Read) -> WireMeta | None:
    """Who an object is, if that much can be read."""
    if not isinstance(raw, msgspec.Raw):
        return raw.metadata
    try:
        return decode_head(raw).metadata
    except msgspec.DecodeError:
        return None
