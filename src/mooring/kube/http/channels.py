"""All connections to an API server that show one certificate: for short requests, long ones and watches."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import aiohttp
from aiohttp.typedefs import LooseHeaders

from mooring.kube.access.access import Access
from mooring.kube.access.credentials import Credential
from mooring.kube.access.proxies import proxy_authorization, proxy_for
from mooring.kube.access.tls import tls_context
from mooring.kube.http.bandwidth import Line
from mooring.kube.http.short_requests import Connections
from mooring.kube.http.sockets import watch_over

BUFFER = 1 << 18  # bytes of an answer that may wait to be read
DEFAULT_PORTS = {"http": 80, "https": 443}
PROBE = "GET {}/version HTTP/1.1\r\nHost: {}\r\n\r\n"  # anybody may ask; any answer will do
OWN_HEADERS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Channels:
    """Closed when they are retired and nobody uses them any more."""

    def __init__(
        self,
        access: Access,
        credential: Credential,
        limits: tuple[int, int],
        line: Line | None = None,
        on_width: Callable[[int], None] = lambda width: None,
    ) -> None:
        limit, most = limits
        parts = urlsplit(access.server)
        tls = tls_context(access, credential) if parts.scheme == "https" else None
        self.proxy = proxy_for(access) or None
        self.proxy_headers: LooseHeaders | None = proxy_authorization(self.proxy or "") or None
        self.short: Connections | None = None  # without a proxy only
        if self.proxy is None:
            port = parts.port or DEFAULT_PORTS[parts.scheme]
            host = parts.hostname or ""
            probe = PROBE.format(parts.path.rstrip("/"), parts.netloc.rpartition("@")[2])
            self.short = Connections(
                host,
                port,
                tls,
                server_name=access.server_name,
                limit=limit,
                most=most,
                probe=probe.encode("ascii", "ignore"),
                line=line,
                on_width=on_width,
            )
        ssl = True if tls is None else tls
        # A watch takes over the connection of the list it goes on from, and its own from the one before it.
        self._long = _session(
            aiohttp.TCPConnector(limit=most if self.proxy else 0, ssl=ssl, socket_factory=_socket)
        )
        self._fresh = _session(
            aiohttp.TCPConnector(limit=0, ssl=ssl, force_close=True, socket_factory=_socket)
        )
        self._in_use = 0
        self._is_retired = False

    def session(self, *, fresh: bool) -> aiohttp.ClientSession:
        """For what is long or goes through a proxy; a fresh one never uses a connection again."""
        return self._fresh if fresh else self._long

    def doubt(self) -> None:
        """A connection has died without a word: nobody is to meet others that have."""
        if self.short is not None:
            self.short.doubt()

    def take(self) -> None:
        self._in_use += 1

    def was_last(self) -> bool:
        """Gives them back. True for the last who used retired ones: it has to close them."""
        self._in_use -= 1
        return self._is_retired and not self._in_use

    async def give_back(self) -> None:
        if self.was_last():
            await self.close()

    async def retire(self) -> None:
        """No new requests come; those under way go on."""
        self._is_retired = True
        if not self._in_use:
            await self.close()

    async def close(self) -> None:
        if self.short is not None:
            await self.short.close()
        await self._long.close()
        await self._fresh.close()
        await asyncio.sleep(0)  # lets connections see that they are closed


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=OWN_HEADERS,
        read_bufsize=BUFFER,
        auto_decompress=False,
    )


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    watch_over(made)
    return made
