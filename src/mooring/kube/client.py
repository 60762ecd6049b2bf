"""The calls of the API server that a scheduler makes: bytes in, bytes out, typed errors.

What is asked for is tried again when that is safe: when the server says so (Retry-After), when the
request never left, and when it only reads. A write that may have been carried out is the caller's to
look after, except where it says `retry=True`.
"""

from __future__ import annotations

import asyncio
import random as randomness
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from mooring.errors import ApiError, TooManyRequests, Unreachable
from mooring.kube.decode.deep_json import read_deeply
from mooring.kube.decode.list_pages import Listed, ReadList, read_pieces, read_raw
from mooring.kube.http.api_errors import error_from, error_of_event
from mooring.kube.http.backoff import REQUESTS, Backoff, Pace
from mooring.kube.http.headers import APPLICATION_JSON
from mooring.kube.http.rate_limiter import Limiter
from mooring.kube.http.rest_client_metrics import Traffic
from mooring.kube.http.transport import Query, Request, Sender
from mooring.kube.resources import Resource

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"

METADATA = f"{APPLICATION_JSON};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io, {APPLICATION_JSON}"

PAGE = 500
FIRST_PAGE = 4 * PAGE  # a round trip less for most clusters
LARGEST_PAGE = 4 * FIRST_PAGE
FAR_S = 0.1  # pages that take longer than this are asked for in larger pieces: each costs a round trip
LIST_TIMEOUT = 120.0
LIST_IDLE = 15.0  # seconds without a byte, at first: a server that is slow is given longer the next time
OF_FIRST_PAGE = ("resourceVersion", "resourceVersionMatch")  # a continue token says it all
WATCH_SECONDS = 300.0  # at least; up to twice as long, so that watches do not end all at once
BUSY_IDLE = 8.0  # so much silence where much happens is worth a new watch
BUSY_EVENTS = 20  # in one watch: much happens
# All quiet watches are as long, so that those begun together end together: a turn of the loop for each of
# them alone costs more. The server says something 2 s before the end.
QUIET_SECONDS = 11.0
QUIET_MORE = 2.5  # seconds later than its end, a watch of which nothing was heard is dead
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
        traffic: Traffic | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._traffic = traffic or Traffic()
        self._busy: set[str] = set()  # paths of what is watched and of which much was heard lately
        self._doubted: set[str] = set()  # and of what was last watched over a connection that failed
        self._transport = transport
        self._send = transport.ask
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
        limit: int = FIRST_PAGE,
        namespace: str = "",
        read: ReadList = read_raw,
        is_short: bool = False,
        what: str = APPLICATION_JSON,
    ) -> AsyncGenerator[Page, None]:
        """Every object, a part of a page at a time, as of one moment. Gone: that moment is too long ago;
        start over.

        `read` may read the items at once. Those of a part that it cannot read are handed on as they are.
        One that is known to be short goes over the connections of short requests, which are open. Of one
        that is not, METADATA may be all that is wanted, if the server can do that.
        """
        version, fetching = "", None
        later = tuple(pair for pair in query if pair[0] not in OF_FIRST_PAGE)
        request = Request(
            "GET",
            resource.path(namespace),
            (*query, ("limit", str(limit))),
            timeout=LIST_TIMEOUT,
            idle=LIST_IDLE,
            compress=not is_short,
            accept=what,
        )
        answer, took_s = await self._fetch_page(request)
        try:
            while True:
                more = ""
                for found in _pieces(answer, read):
                    version = version or found.metadata.resource_version
                    more = more or found.metadata.continue_
                    yield Page(found.items or [], version)
                    if more and fetching is None:  # the next comes while this one is made use of
                        limit = min(4 * limit, max(limit, LARGEST_PAGE)) if took_s > FAR_S else limit
                        asked = (*later, ("limit", str(limit)), ("continue", more))
                        following = msgspec.structs.replace(request, query=asked)
                        fetching = asyncio.get_running_loop().create_task(self._fetch_page(following))
                if fetching is None:
                    return
                (answer, took_s), fetching = await fetching, None
        finally:
            if fetching is not None:
                fetching.cancel()
                with suppress(asyncio.CancelledError, ApiError):
                    await fetching

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
        path = resource.path(namespace)
        is_busy = path in self._busy and timeout_seconds is None
        seconds = timeout_seconds or self._watch_seconds(is_busy)
        asked = (
            *query,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", resource_version),
            ("timeoutSeconds", str(int(seconds))),
        )
        if self._limiter is not None:
            await self._wait_turn("GET", self._limiter)
        request = Request(
            "GET",
            path,
            asked,
            timeout=None,
            idle=BUSY_IDLE if is_busy else int(seconds) + QUIET_MORE,
            silence_ends=is_busy,
            fresh=path in self._doubted,
        )
        heard = 0
        try:
            async with self._transport.follow(request) as response:
                self._traffic.opened("GET", response.status)
                if response.status >= 300:
                    raise error_from(response.status, await response.read(), response.headers)
                opened()
                async for lines in response.bursts():
                    events, error = _events(lines)
                    heard += len(events)
                    if events:
                        yield events
                    if error is not None:
                        raise error
            self._doubted.discard(path)
        except Unreachable:
            self._doubted.add(path)
            raise
        finally:
            (self._busy.add if heard >= BUSY_EVENTS else self._busy.discard)(path)

    def _watch_seconds(self, is_busy: bool) -> float:
        """Where little happens a watch is short: that it ends in order shows that the connection is alive."""
        if is_busy:
            return WATCH_SECONDS * (1 + self._random())
        return QUIET_SECONDS

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
        left, method, traffic = self._retries, request.method, self._traffic
        while True:
            if self._limiter is not None:
                if self._limiter.try_acquire():
                    traffic.limited(method, 0.0)
                else:
                    await self._wait_turn(method, self._limiter)
            began = self._clock()
            try:
                answer = await self._send(request)
                status, body = answer.status, answer.body
                traffic.answered(method, status, self._clock() - began, len(request.body), len(body))
                if status < 300:
                    return body
                raise error_from(status, body, answer.headers)
            except ApiError as error:
                if isinstance(error, Unreachable):
                    traffic.answered(method, 0, self._clock() - began, len(request.body), 0)
                if left <= 0 or not _worth_retrying(error, anyway=retry):
                    raise
                backoff = backoff or Backoff(self._pace, random=self._random)
                left -= 1
                if isinstance(error, Unreachable) and request.idle is not None:
                    request = msgspec.structs.replace(request, idle=2 * request.idle, fresh=True)
                await self._sleep(backoff.next(error.retry_after))
                traffic.retried(method, error.code)

    async def _fetch_page(self, request: Request) -> tuple[bytes, float]:
        """A page, and how long it took."""
        began = self._clock()
        return await self._ask(request, retry=True), self._clock() - began

    async def _wait_turn(self, method: str, limiter: Limiter) -> None:
        began = self._clock()
        await limiter.acquire()
        self._traffic.limited(method, self._clock() - began)


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
            event = read_deeply(_decode_event, line)
        except msgspec.DecodeError:
            return events, Unreachable(0, CUT_SHORT)
        if event.type == "ERROR":
            return events, error_of_event(event.object)
        events.append(event)
    return events, None


def _pieces(answer: bytes, read: ReadList) -> Iterator[Listed[Any]]:
    try:
        yield from read_pieces(answer, read)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreachable(0, f"the server's answer cannot be read: {error}") from None
