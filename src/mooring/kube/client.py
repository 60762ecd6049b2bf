"""The calls of the API server that a scheduler makes: bytes in, bytes out, typed errors.

What is asked for is tried again when that is safe: when the server says so (Retry-After), when the
request never left, and when it only reads. A write that may have been carried out is the caller's to
look after, except where it says `retry=True`.
"""

from __future__ import annotations

import asyncio
import random as randomness
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any

import msgspec

from mooring.errors import ApiError, TooManyRequests, Unreachable
from mooring.kube.answers import error_from, error_of_event
from mooring.kube.backoff import REQUESTS, Backoff, Pace
from mooring.kube.limiter import Limiter
from mooring.kube.lists import Listed, ReadList, read_pieces, read_raw
from mooring.kube.resources import Resource
from mooring.kube.transport import Query, Request, Sender, asking

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"

PAGE = 500
LIST_TIMEOUT = 120.0
OF_FIRST_PAGE = ("resourceVersion", "resourceVersionMatch")  # a continue token says it all
WATCH_SECONDS = 300.0  # at least; up to twice as long, so that watches do not end all at once
WATCH_IDLE = 180.0  # bookmarks come about every minute, so this much silence is a dead connection
MOST_RETRIES = 5
CUT_SHORT = "the watch is cut short in the middle of an event"


class Page(msgspec.Struct, frozen=True):
    """A part of a list. The resource version is that of the whole list; it may come with the last part."""

    items: list[Any]  # as they are, or as who lists them reads them
    resource_version: str


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""

    type: str
    object: msgspec.Raw


_decode_event = msgspec.json.Decoder(WatchEvent).decode
_encode = msgspec.json.Encoder().encode


class Client:
    """Asks one API server."""

    def __init__(
        self,
        transport: Sender,
        limiter: Limiter | None = None,
        backoff: Pace = REQUESTS,
        *,
        retries: int = MOST_RETRIES,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self._transport = transport
        self._send = asking(transport).ask
        self._limiter = limiter
        self._pace = backoff
        self._retries = retries
        self._timeout = timeout
        self._sleep = sleep
        self._random = random

    async def get(self, resource: Resource, key: str, *, sub: str = "") -> bytes:
        """An object by its key: "namespace/name", or "name" of what has no namespace."""
        return await self._ask(Request("GET", resource.path_of(key, sub), timeout=self._timeout), retry=True)

    async def read(self, path: str) -> bytes:
        """Whatever a path answers: what the server has to say of its own resources, say."""
        return await self._ask(Request("GET", path, timeout=self._timeout), retry=True)

    async def list_pages(
        self,
        resource: Resource,
        *,
        query: Query = (),
        limit: int = PAGE,
        namespace: str = "",
        read: ReadList = read_raw,
    ) -> AsyncGenerator[Page, None]:
        """Every object, a part of a page at a time, as of one moment. Gone: that moment is too long ago;
        start over.

        `read` may read the items at once. Those of a part that it cannot read are handed on as they are.
        """
        path, asked, version = resource.path(namespace), (*query, ("limit", str(limit))), ""
        later = tuple(pair for pair in asked if pair[0] not in OF_FIRST_PAGE)
        while True:
            request = Request("GET", path, asked, timeout=LIST_TIMEOUT, compress=True)
            more = ""
            for found in _pieces(await self._ask(request, retry=True), read):
                version = version or found.metadata.resource_version
                more = more or found.metadata.continue_
                yield Page(found.items or [], version)
            if not more:
                return
            asked = (*later, ("continue", more))

    async def watch(
        self,
        resource: Resource,
        resource_version: str,
        *,
        query: Query = (),
        timeout_seconds: float | None = None,
        namespace: str = "",
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[list[WatchEvent], None]:
        """Changes since a resource version, until the server ends the watch. Never tried again here.

        Those that come together are handed on together, also those that came before something went wrong.
        `opened` is called once the server lets it be watched, which may be long before the first change.
        """
        seconds = timeout_seconds or WATCH_SECONDS * (1 + self._random())
        asked = (
            *query,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", resource_version),
            ("timeoutSeconds", str(int(seconds))),
        )
        await self._limit()
        request = Request("GET", resource.path(namespace), asked, timeout=None, idle=WATCH_IDLE)
        async with self._transport.send(request) as response:
            if response.status >= 300:
                raise error_from(response.status, await response.read(), response.headers)
            opened()
            async for lines in response.bursts():
                events, error = _events(lines)
                if events:
                    yield events
                if error is not None:
                    raise error

    async def create(
        self,
        resource: Resource,
        namespace: str,
        body: bytes,
        *,
        name: str = "",
        sub: str = "",
        retry: bool = False,
    ) -> bytes:
        """Makes an object, or posts to a subresource of the one that is named."""
        request = Request("POST", resource.path(namespace, name, sub), body=body, timeout=self._timeout)
        return await self._ask(request, retry=retry)

    async def replace(
        self, resource: Resource, key: str, body: bytes, *, sub: str = "", retry: bool = False
    ) -> bytes:
        """Puts an object in place of the one that is there."""
        request = Request("PUT", resource.path_of(key, sub), body=body, timeout=self._timeout)
        return await self._ask(request, retry=retry)

    async def patch(
        self,
        resource: Resource,
        key: str,
        body: bytes,
        *,
        how: str = STRATEGIC,
        sub: str = "",
        retry: bool = False,
    ) -> bytes:
        """Changes a part of an object. `how` is STRATEGIC, MERGE or JSON."""
        path = resource.path_of(key, sub)
        request = Request("PATCH", path, body=body, content_type=how, timeout=self._timeout)
        return await self._ask(request, retry=retry)

    async def delete(
        self,
        resource: Resource,
        key: str,
        *,
        uid: str = "",
        grace_seconds: int | None = None,
        retry: bool = False,
    ) -> None:
        """Removes an object; with `uid` only the very one (else Conflict)."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        request = Request("DELETE", resource.path_of(key), body=_encode(options), timeout=self._timeout)
        await self._ask(request, retry=retry)

    async def _ask(self, request: Request, *, retry: bool) -> bytes:
        """The answer to a request, tried again as often as is safe and allowed."""
        backoff: Backoff | None = None
        left = self._retries
        while True:
            if self._limiter is not None and not self._limiter.try_acquire():
                await self._limiter.acquire()
            try:
                answer = await self._send(request)
                if answer.status < 300:
                    return answer.body
                raise error_from(answer.status, answer.body, answer.headers)
            except ApiError as error:
                if left <= 0 or not _worth_retrying(error, anyway=retry):
                    raise
                backoff = backoff or Backoff(self._pace, random=self._random)
                left -= 1
                await self._sleep(backoff.next(error.retry_after))

    async def _limit(self) -> None:
        if self._limiter is not None and not self._limiter.try_acquire():
            await self._limiter.acquire()


def _worth_retrying(error: ApiError, *, anyway: bool) -> bool:
    """Whether the server asks for it, or the request certainly did nothing, or doing it twice is fine."""
    if isinstance(error, Unreachable):
        return anyway or not error.sent
    if error.retry_after is not None and (error.code == 429 or error.code >= 500):
        return True
    return anyway and (isinstance(error, TooManyRequests) or error.code >= 500)


def _events(lines: list[bytes]) -> tuple[list[WatchEvent], ApiError | None]:
    """The events of lines, up to the first that is none, or tells of an error; and that error."""
    events: list[WatchEvent] = []
    for line in lines:
        if not line:
            continue
        try:
            event = _decode_event(line)
        except msgspec.DecodeError:
            return events, Unreachable(0, CUT_SHORT)
        if event.type == "ERROR":
            return events, error_of_event(event.object)
        events.append(event)
    return events, None


def _pieces(answer: bytes, read: ReadList) -> Iterator[Listed[Any]]:
    try:
        yield from read_pieces(answer, read)
    except msgspec.DecodeError as error:
        raise Unreachable(0, f"the server's answer cannot be read: {error}") from None
