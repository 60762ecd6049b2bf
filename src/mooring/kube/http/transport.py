"""Sends requests to the API server: `ask` for an answer that is wanted whole, `follow` for one that goes on.

Whoever gets no answer in time gets `Unreachable`; every other answer, good or bad, is returned.
Credentials are renewed, and the request is sent once more, when the server does not accept them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from mooring.errors import ApiError, ConfigError, MooringError, Unreachable
from mooring.kube.access.access import Access, User
from mooring.kube.access.credentials import Credential, Credentials, FixedCredentials
from mooring.kube.access.exec_plugin import ExecCredentials
from mooring.kube.access.tls import check_tls
from mooring.kube.http.answer_parser import Answer
from mooring.kube.http.bandwidth import Line
from mooring.kube.http.channels import Channels
from mooring.kube.http.headers import APPLICATION_JSON, Headers
from mooring.kube.http.long_answers import LongAnswer, unreachable

Query = tuple[tuple[str, str], ...]
Check = Callable[[], None]
Way = Callable[[Channels, "Request", Check | None], Coroutine[Any, Any, Answer]]

POOL = 32  # connections for short requests; opening one costs as much as fifty binds
MOST = 512  # of them when the server is far away or slow, and bears it
WARM = 4  # connections that are there before anything is to be bound
CONNECT_TIMEOUT = 10.0


class Request(msgspec.Struct, frozen=True):
    """What to ask. `timeout` is for the whole answer; None is for watches, which end when they end."""

    method: str
    path: str
    query: Query = ()
    body: bytes = b""
    content_type: str = APPLICATION_JSON
    timeout: float | None = 30.0
    idle: float | None = None  # seconds without a byte after which the server counts as gone
    silence_ends: bool = False  # and that is as good an end as any
    fresh: bool = False  # over a connection that nobody has used before
    compress: bool = False  # whether the answer may be worth compressing
    accept: str = (
        APPLICATION_JSON  # what is wanted of an answer that is long; a short one is always all there is
    )


class Stream(Protocol):
    """An answer that is read as it comes."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """All of it."""

    def bursts(self) -> AsyncIterator[list[bytes]]:
        """Lines as they come, those that come together in one go, without the line ends and of any length."""


class Sender(Protocol):
    """Whatever can send a request: a Transport, or something in a test."""

    async def ask(self, request: Request, check: Check | None = None) -> Answer:
        """The whole answer; Unreachable when there is none. What `check` raises, just before the request
        would be sent, is raised instead of sending it."""

    def follow(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """An answer that goes on, within `async with`; Unreachable when there is none."""


class Transport:
    """One API server and one user of it. ConfigError when it cannot be: a certificate that is none."""

    def __init__(
        self,
        access: Access,
        *,
        credentials: Credentials | None = None,
        connections: int = POOL,
    ) -> None:
        self.on_width: Callable[[int], None] = lambda calls: None  # hears how many may be under way
        self._access = access
        self._limits = (connections, MOST if connections == POOL else connections)
        self._credentials = credentials or credentials_of(access.user)
        self._credential: Credential | None = None  # that of the headers and channels below
        known = self._credentials.current() or Credential()
        check_tls(access, known)
        self._headers = Headers(access, known)
        self._channels: Channels | None = None
        self._line = Line()
        self._prefix = self._headers.prefix
        self._timeouts: dict[tuple[float | None, float | None], aiohttp.ClientTimeout] = {}

    async def ask(self, request: Request, check: Check | None = None) -> Answer:
        """The whole answer. A short one, with credentials that have not changed, takes no detours."""
        used, channels = self._credentials.current(), self._channels
        if used is None or used is not self._credential or channels is None:
            used = used or await self._credentials.renew()
            channels = await self._ready(used)
        answer = await self._way(channels, request)(channels, request, check)
        if answer.status != 401 or (fresh := await self._other_than(used)) is None:
            return answer
        channels = await self._ready(fresh)
        return await self._way(channels, request)(channels, request, check)

    @asynccontextmanager
    async def follow(self, request: Request) -> AsyncIterator[Stream]:
        """For watches: an answer that ends when it ends."""
        used = self._credentials.current() or await self._credentials.renew()
        stream = await self._begin(await self._ready(used), request)
        try:
            fresh = await self._other_than(used) if stream.status == 401 else None
            if fresh is None:
                yield stream
                return
        finally:
            await stream.release()
        stream = await self._begin(await self._ready(fresh), request)
        try:
            yield stream
        finally:
            await stream.release()

    async def warm(self) -> None:
        """Opens a few connections ahead of the first request that is in a hurry. Never fails."""
        with suppress(MooringError):
            channels = await self._ready(self._credentials.current() or await self._credentials.renew())
            if channels.short is not None:
                await channels.short.warm(WARM)

    async def close(self) -> None:
        """Closes every connection. A request after that opens new ones."""
        old, self._channels, self._credential = self._channels, None, None
        if old is not None:
            await old.close()

    async def _other_than(self, refused: Credential) -> Credential | None:
        """Credentials that the server has not refused yet, if there are any."""
        try:
            fresh = await self._credentials.renew(refused)
        except ApiError:
            return None  # the server's own words say more
        return None if fresh == refused else fresh

    def _way(self, channels: Channels, request: Request) -> Way:
        """Short requests go over connections of our own."""
        is_short = channels.short is not None and request.timeout is not None and not request.compress
        return self._exchange if is_short else self._ask_at_length

    async def _exchange(self, channels: Channels, request: Request, check: Check | None) -> Answer:
        assert channels.short is not None
        assert request.timeout is not None
        target = self._target(request)
        asked = self._headers.head(request.method, target, request.content_type, request.body)
        channels.take()
        try:
            return await channels.short.exchange(asked, request.timeout, check)
        except Unreachable as error:
            what = f'{request.method.capitalize()} "{self._access.server}{request.path}": {error}'
            raise Unreachable(0, what, sent=error.sent) from error
        finally:
            if channels.was_last():
                await channels.close()

    async def _ask_at_length(self, channels: Channels, request: Request, check: Check | None) -> Answer:
        """For answers worth compressing, and whatever goes through a proxy."""
        if check is not None:
            check()
        stream = await self._begin(channels, request)
        try:
            return Answer(stream.status, stream.fields, await stream.read())
        finally:
            await stream.release()

    async def _begin(self, channels: Channels, request: Request) -> LongAnswer:
        url = URL(self._headers.origin + self._target(request), encoded=True)
        channels.take()
        try:
            answer = await channels.session(fresh=request.fresh).request(
                request.method,
                url,
                data=request.body or None,
                headers=self._headers.fields(
                    request.content_type, request.accept, compress=request.compress and self._line.packs
                ),
                timeout=self._timeout(request),
                allow_redirects=False,
                server_hostname=self._access.server_name or None,
                proxy=channels.proxy,
                proxy_headers=channels.proxy_headers,
            )
        except BaseException as error:
            if isinstance(error, TimeoutError):
                channels.doubt()
            await channels.give_back()
            if isinstance(error, Exception):
                raise unreachable(request.method, url, error) from error
            raise
        return LongAnswer(answer, channels, self._line, silence_ends=request.silence_ends)

    async def _ready(self, credential: Credential) -> Channels:
        """Channels with the certificate of a credential; headers are then those of the credential too."""
        now, old = self._credential, self._channels
        if credential is now and old is not None:
            return old
        self._credential = credential
        try:
            self._headers = Headers(self._access, credential)
            is_kept = old is not None and now is not None and now.has_certificate_of(credential)
            new = old if old is not None and is_kept else self._new_channels(credential)
        except ConfigError as error:
            if old is None:
                raise Unreachable(0, str(error), sent=False) from error
            return old  # a certificate whose key has not been replaced yet
        self._channels = new
        if old is not None and old is not new:
            await old.retire()
        return new

    def _new_channels(self, credential: Credential) -> Channels:
        return Channels(
            self._access, credential, self._limits, self._line, lambda calls: self.on_width(calls)
        )

    def _target(self, request: Request) -> str:
        target = self._prefix + request.path
        return f"{target}?{urlencode(request.query, quote_via=quote)}" if request.query else target

    def _timeout(self, request: Request) -> aiohttp.ClientTimeout:
        kept = self._timeouts.get((request.timeout, request.idle))
        if kept is None:
            kept = aiohttp.ClientTimeout(
                total=request.timeout, sock_connect=CONNECT_TIMEOUT, sock_read=request.idle
            )
            self._timeouts[request.timeout, request.idle] = kept
        return kept


def credentials_of(user: User) -> Credentials:
    """Where a user's credentials come from."""
    fixed = FixedCredentials(user)
    return ExecCredentials(user.exec, base=fixed.current()) if user.exec else fixed
