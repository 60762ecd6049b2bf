"""An API server of a test's own making, on loopback, with or without TLS."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import trustme
from aiohttp import web

from mooring.kube.access.access import Access
from mooring.kube.access.credentials import Credentials
from mooring.kube.http.transport import Request, Transport

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Received(msgspec.Struct, frozen=True):
    """What a server was asked."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class Server:
    """Notes what it is asked, and answers as it is told."""

    def __init__(self, handler: Handler) -> None:
        self.received: list[Received] = []
        self.url = ""
        self.peers: set[object] = set()
        self._handler = handler

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        path, _, query = request.raw_path.partition("?")
        self.received.append(Received(request.method, path, query, headers, body))
        if request.transport is not None:
            self.peers.add(request.transport.get_extra_info("peername"))
        return await self._handler(request)

    @property
    def authorizations(self) -> list[str]:
        return [each.headers.get("authorization", "") for each in self.received]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server for the length of a test; whatever is still under way then is cut off."""
    server = Server(handler)
    runner = web.ServerRunner(web.Server(server.handle, handler_cancellation=True), shutdown_timeout=0.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connected(access: Access, credentials: Credentials | None = None) -> AsyncIterator[Transport]:
    transport = Transport(access, credentials=credentials)
    try:
        yield transport
    finally:
        await transport.close()


async def ask(transport: Transport, path: str = "/version", **more: object) -> tuple[int, bytes]:
    """Status and body of a short request."""
    answer = await transport.ask(msgspec.structs.replace(Request("GET", path), **more))
    return answer.status, answer.body


async def ask_long(transport: Transport, path: str = "/version", **more: object) -> tuple[int, bytes]:
    """Status and body of a request whose answer may be long, and goes another way."""
    return await ask(transport, path, compress=True, **more)


async def say_ok(_request: web.Request) -> web.Response:
    return web.Response(body=b'{"ok":true}', content_type="application/json")


def server_tls(authority: trustme.CA, *names: str, clients: trustme.CA | None = None) -> ssl.SSLContext:
    """TLS of a server with a certificate for some names, which may want certificates of its clients."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
    if clients is not None:
        clients.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def pem(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()
