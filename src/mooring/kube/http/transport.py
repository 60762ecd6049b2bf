"""Sends requests to the API server: one class with one method, `send`.

Whoever gets no answer in time gets `Unreachable`; every other answer, good or bad, is a `Response`.
Credentials are renewed, and the request is sent once more, when the server does not accept them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Protocol, runtime_checkable
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
from mooring.kube.http.long_answers import HttpResponse, unreachable
from mooring.kube.http.short_requests import AnswerResponse

Query = tuple[tuple[str, str], ...]
Check = Callable[[], None]

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


class Response(Protocol):
    """What the server answers."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """All of it."""

    def bursts(self) -> AsyncIterator[list[bytes]]:
        """Lines as they come, those that come together in one go, without the line ends and of any length."""


class Whole(Protocol):
    """An answer that is all there."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def body(self) -> bytes: ...


class Sender(Protocol):
    """Whatever can send a request: a Transport, or something in a test."""

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]: ...


@runtime_checkable
class Asker(Protocol):
    """A sender that knows a quicker way to an answer that is wanted whole.

    What `check` raises, just before the request would be sent, is raised instead of sending it.
    """

    async def ask(self, request: Request, check: Check | None = None) -> Whole: ...


class ReadAnswer(msgspec.Struct, frozen=True):
    """An answer that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def asking(sender: Sender) -> Asker:
    """Whoever has the whole answers of a sender: itself when it knows a quicker way."""
    return sender if isinstance(sender, Asker) else _Reading(sender)


class _Reading:
    """Reads answers to their end."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    async def ask(self, request: Request, check: Check | None = None) -> Whole:
        if check is not None:
            check()
        async with self._sender.send(request) as response:
            return ReadAnswer(response.status, response.headers, await response.read())


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

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """The answer, within `async with`; Unreachable when there is none."""
        return _Sending(self, request)

    async def ask(self, request: Request, check: Check | None = None) -> Whole:
        """The whole answer. A short one, with credentials that have not changed, takes no detours."""
        used, channels = self._credentials.current(), self._channels
        if used is None or used is not self._credential or not is_short(channels, request):
            return await self._whole(await self.start(request, check))
        assert channels is not None
        answer = await self._exchange(channels, request, check)
        if answer.status != 401:
            return answer
        return await self._whole(await self._again(request, used, AnswerResponse(answer), check))

    async def _whole(self, response: HttpResponse | AnswerResponse) -> Whole:
        try:
            return ReadAnswer(response.status, response.headers, await response.read())
        finally:
            await release(response)

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

    async def start(self, request: Request, check: Check | None = None) -> HttpResponse | AnswerResponse:
        """Sends a request, and once more with fresh credentials when those it has are not accepted."""
        used = self._credentials.current() or await self._credentials.renew()
        response = await self._try(request, used, check)
        return response if response.status != 401 else await self._again(request, used, response, check)

    async def _again(
        self,
        request: Request,
        used: Credential,
        response: HttpResponse | AnswerResponse,
        check: Check | None = None,
    ) -> HttpResponse | AnswerResponse:
        """Once more, with fresh credentials if there are any; else the answer that is there."""
        try:
            fresh = await self._credentials.renew(used)
        except ApiError:
            return response  # the server's own words say more
        except BaseException:
            await release(response)
            raise
        if fresh == used:
            return response
        await release(response)
        return await self._try(request, fresh, check)

    async def _try(
        self, request: Request, credential: Credential, check: Check | None = None
    ) -> HttpResponse | AnswerResponse:
        channels = await self._ready(credential)
        if not is_short(channels, request):
            if check is not None:
                check()
            return await self._ask_at_length(channels, request)
        return AnswerResponse(await self._exchange(channels, request, check))

    async def _exchange(self, channels: Channels, request: Request, check: Check | None = None) -> Answer:
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

    async def _ask_at_length(self, channels: Channels, request: Request) -> HttpResponse:
        """For watches, answers worth compressing, and whatever goes through a proxy."""
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
        return HttpResponse(answer, channels, self._line, silence_ends=request.silence_ends)

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


class _Sending:
    """A request and its answer, for the length of an `async with`."""

    __slots__ = ("_request", "_response", "_transport")

    def __init__(self, transport: Transport, request: Request) -> None:
        self._transport = transport
        self._request = request
        self._response: HttpResponse | AnswerResponse | None = None

    async def __aenter__(self) -> Response:
        self._response = await self._transport.start(self._request)
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            await release(self._response)


def is_short(channels: Channels | None, request: Request) -> bool:
    """Whether a request goes over connections of our own."""
    return (
        channels is not None
        and channels.short is not None
        and request.timeout is not None
        and not request.compress
    )


async def release(response: HttpResponse | AnswerResponse) -> None:
    """An answer that is all there has given its connection back already."""
    if isinstance(response, HttpResponse):
        await response.release()


def credentials_of(user: User) -> Credentials:
    """Where a user's credentials come from."""
    fixed = FixedCredentials(user)
    return ExecCredentials(user.exec, base=fixed.current()) if user.exec else fixed
