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
                            tried again after a while: soon when the server is away or has just come back

Whoever must not decide on what is old asks it to `catch_up`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

from mooring.errors import ApiError, Gone, NotFound, Unreachable
from mooring.kube.client import PAGE, Client, WatchEvent
from mooring.kube.contact import Contact, is_away
from mooring.kube.decode.list_pages import ReadList, read_raw
from mooring.kube.http.backoff import RETURNING, Backoff
from mooring.kube.http.transport import Query
from mooring.kube.resources import Resource
from mooring.kube.watch.freshness import NO_ORDER, glimpse, newest_version, order_of
from mooring.kube.watch.known_objects import Deliver, KnownObjects, always_different, head_of
from mooring.kube.watch.store import HasMetadata
from mooring.model.objects import Object

log = logging.getLogger(__name__)

AT_ONCE = 500  # changes told before others have their turn
ABSENT_SECONDS = 30.0  # how often a kind that is not installed is asked for
BELIEVED_AFTER = 2  # times in a row that a kind is said not to exist, before what is known of it goes
ON_THEIR_WAY_S = 0.25  # events of what has happened are here by then, if there are any
SHORT_WATCH_S = 3.0  # the server says where a watch is 2 s before it ends, so here after about one
FEW = 4 * PAGE  # objects that are listed in less time than that
SMALL = PAGE // 4  # objects whose list is not worth packing, nor a connection of its own

T = TypeVar("T", bound=HasMetadata)
Sleep = Callable[[float], Awaitable[None]]


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
        returning: Backoff | None = None,
        contact: Contact | None = None,
        clock: Callable[[], float] = time.monotonic,
        absent_seconds: float = ABSENT_SECONDS,
        sleep: Sleep = asyncio.sleep,
        read_list: ReadList = read_raw,
        listed: asyncio.Event | None = None,
        synced: asyncio.Event | None = None,
        after: asyncio.Event | None = None,
        not_read: Callable[[Object, str], None] = lambda about, error: None,
    ) -> None:
        self.resource = resource
        self.synced = synced or asyncio.Event()
        self.listed = listed or asyncio.Event()  # all of the first list is told
        self._after = after  # nothing is told before; what is there is asked for meanwhile
        self._client = client
        self._read_list = read_list
        self._query = query
        self._backoff = backoff or Backoff()
        self._returning = returning or Backoff(RETURNING)
        self._contact = contact or Contact()
        self._clock = clock
        self._absent_seconds = absent_seconds
        self._sleep = sleep
        self._known = KnownObjects(resource, decode, deliver, same, not_read)
        self._version = ""  # where the watch goes on; "" when there must be a list first
        self._heard = False  # the server has said something since the last failure
        self._may_hurry = True  # whether the next try may come before its time
        self._missing = 0  # times in a row that the kind was not there
        self._complaint = ""
        self.down_since: float | None = clock()  # when it was last followed; None as long as it is
        self._lists_begun = self._lists_done = 0
        self._is_listing = self._is_outdated = False  # a list that is outdated is followed by another
        self._is_there = False  # the kind has been listed
        self._watch_seconds: float | None = None
        self._doing: asyncio.Future[Any] | None = None  # what is cancelled when there is a hurry
        self._moved: asyncio.Event | None = None  # for who waits until it knows more

    def __len__(self) -> int:
        """How many objects are known."""
        return len(self._known)

    async def run(self) -> None:
        """Follows the objects until cancelled."""
        while True:
            attempt = asyncio.ensure_future(self._follow())
            if await self._unless_hurried(attempt) and (seconds := attempt.result()) is not None:
                await self._rest(seconds)

    async def _follow(self) -> float | None:
        """Lists if need be and watches until something ends it. Returns how long to wait before the next."""
        heard, self._heard, self._may_hurry = self._heard, False, True
        try:
            while not self._version:
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
            if is_unknown_version(error):
                self._version = ""
            self._contact.failed(error)
            self._may_hurry = error.retry_after is None  # a server that names a time means it
            soon = is_away(error) or self._contact.is_unsettled
            return (self._returning if soon else self._backoff).next(error.retry_after)
        return None if self._heard else self._returning.next()

    async def _rest(self, seconds: float) -> None:
        """Waits, unless the server comes back or somebody is in a hurry."""
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        with self._contact.waiting(sleeping.cancel if self._may_hurry else _not_now):
            await self._unless_hurried(sleeping)

    async def _unless_hurried(self, doing: asyncio.Future[Any]) -> bool:
        """Whether something was done to its end: else the next begins at once."""
        self._doing = doing
        try:
            await asyncio.wait((doing,))
        finally:
            doing.cancel()
        return not doing.cancelled()

    # being sure

    async def catch_up(self) -> None:
        """Returns when all that had happened when it was called has been told.

        Of few objects a list is the quickest way to be sure. Of many, the version the server is at is asked
        for; it is reached by events that are on their way, or by the bookmark of a short watch. Only who
        cannot be made sure in this way takes up everything anew.
        """
        wanted = self._lists_begun + 1
        is_sure = self._is_as_listed if len(self._known) <= FEW else self._is_at_newest
        if self._version and self.down_since is None and await is_sure():
            return
        if not self._is_listing or self._lists_begun < wanted:
            self._list_afresh()
        await self._until(lambda: self._lists_done >= wanted)

    async def _is_as_listed(self) -> bool:
        """Whether all that a list shows is told, or on its way. Not if the list is older than what was told:
        the server is another then, one that was restored from a backup, say."""
        seen, told = None, order_of(self._version)
        with contextlib.suppress(ApiError):
            is_short = len(self._known) <= SMALL
            seen = await glimpse(self._client, self.resource, self._query, is_short=is_short)
        if seen is None or seen.moment < told:
            return False
        return await self._soon(lambda: seen.is_known(self._known, self._version), ON_THEIR_WAY_S)

    async def _is_at_newest(self) -> bool:
        """Whether all up to the version the server is at is told within a short while."""
        newest, told = NO_ORDER, order_of(self._version)
        with contextlib.suppress(ApiError):
            newest = await newest_version(self._client, self.resource)
        if newest == NO_ORDER or newest < told:
            return False

        def is_there() -> bool:
            return order_of(self._version) >= newest

        if await self._soon(is_there, ON_THEIR_WAY_S):
            return True
        self._watch_seconds = SHORT_WATCH_S
        self._hurry()
        return await self._soon(is_there, SHORT_WATCH_S)

    async def _soon(self, true: Callable[[], bool], within: float) -> bool:
        """Whether something becomes true within a while. It may cost something to tell."""
        try:
            async with asyncio.timeout(within):
                await self._until(true)
        except TimeoutError:
            return False
        return True

    def _list_afresh(self) -> None:
        """Has a list begin that is newer than this moment."""
        if self._is_listing:
            self._is_outdated = True
        else:
            self._version = ""
            self._hurry()

    def _hurry(self) -> None:
        if self._doing is not None:
            self._doing.cancel()

    async def _until(self, true: Callable[[], bool]) -> None:
        while not true():
            if self._moved is None:
                self._moved = asyncio.Event()
            await self._moved.wait()

    def _say_moved(self) -> None:
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    # the two ways of learning

    async def _list(self) -> None:
        """Learns what there is. What is not known yet is told page by page, else all in one go at the
        end: only then is it certain what is gone, and that has to be told first."""
        self._lists_begun += 1
        number, self._is_listing, self._is_outdated = self._lists_begun, True, False
        try:
            version = await self._read_list_pages()
        finally:
            self._is_listing = False
        self._version = "" if self._is_outdated else version
        self._missing = 0
        self._is_there = True
        self._answered()
        self._lists_done = number
        self.listed.set()
        self._say_moved()

    async def _read_list_pages(self) -> str:
        first, listed, version = not len(self._known), list[T](), ""
        async for page in self._client.list_pages(self.resource, query=self._query, read=self._read_list):
            if self._after is not None:
                await self._after.wait()
            found = self._known.read_all(page.items)
            version = page.resource_version
            if first:
                await self._in_turns(self._known.show_all(found))
            else:
                listed += found
        if not first:
            await self._in_turns(self._known.now_there_are(listed))
        return version

    async def _in_turns(self, telling: Iterable[None]) -> None:
        """Tells many changes, and lets others have their turn between."""
        for number, _ in enumerate(telling, 1):
            if not number % AT_ONCE:
                await self._sleep(0)

    async def _watch(self) -> None:
        seconds, self._watch_seconds = self._watch_seconds, None
        changes = self._client.watch(
            self.resource, self._version, query=self._query, timeout_seconds=seconds, opened=self._opened
        )
        try:
            async with contextlib.aclosing(changes):
                async for events in changes:
                    self._take_all(events)
        finally:
            if self.down_since is None:
                self.down_since = self._clock()

    def _take_all(self, events: list[WatchEvent]) -> None:
        for event in events:
            self._take(event)
            if not self._heard:
                self._heard = True
                self._backoff.reset()
                self._returning.reset()
                self._answered()
        self._say_moved()

    def _opened(self) -> None:
        self.down_since = None
        self._contact.worked()
        self.synced.set()

    def _take(self, event: WatchEvent) -> None:
        if event.type in ("ADDED", "MODIFIED"):
            found = self._known.read(event.object)
            if found is not None:
                self._known.show(found)
                self._version = found.metadata.resource_version
                return
        head = head_of(event.object)
        if head is None:
            raise Unreachable(0, f"the object of an event of type {event.type!r} cannot be read")
        if event.type == "DELETED":
            self._known.drop(head)
        self._version = head.resource_version or self._version

    # what can go wrong

    def _not_there(self, error: NotFound) -> float:
        """The kind is not installed. What is known of it goes only when that is said again: a server that
        has just started may not have heard of all its kinds yet."""
        self._version = ""
        self._contact.worked()
        if self._is_there and self._contact.is_unsettled:
            return self._returning.next()
        self._missing += 1
        if not len(self._known) or self._missing >= BELIEVED_AFTER:
            self._known.drop_all()
            self._is_there = False
            self._lists_done = self._lists_begun
            self.listed.set()
            self.synced.set()
            self._say_moved()
        if self._missing == 1:
            log.info("there is no %s: %s", self._name, error)
        return self._absent_seconds

    def _complain(self, error: ApiError) -> None:
        """Once, as long as the words stay the same but for what was asked."""
        complaint = type(error).__name__ + str(error).rpartition('": ')[2]
        if complaint != self._complaint:
            log.warning("cannot follow %s: %s", self._name, error)
        self._complaint = complaint

    def _answered(self) -> None:
        self._contact.worked()
        if self._complaint:
            log.info("following %s again", self._name)
        self._complaint = ""

    @property
    def _name(self) -> str:
        group = self.resource.group
        return f"{self.resource.plural}.{group}" if group else self.resource.plural


def _not_now() -> None:
    """For who has been told when to come back."""


def is_unknown_version(error: ApiError) -> bool:
    """Whether the server has never had the version that was named: one that is none, or one of a history that
    is not its own any more, as after it was restored from a backup. Only a list helps."""
    return error.code in (400, 422) or "Too large resource version" in str(error)
