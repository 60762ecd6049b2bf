"""The door: accepts connections, one at a time, and keeps strangers from holding it shut or storming it.

A connection is a stranger's until a request of it was allowed something that not everybody may have. A
stranger has so long for the handshake and for a request, so many bytes, and one answer, and goes then. When
there is no room for one more, whoever has the most connections loses the oldest of them: so a kubelet that
asks for health gets in at any time, however many others hold on to what they have.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, cast

import msgspec

log = logging.getLogger("mooring.web")

BACKLOG = 128
BREATH_S = 1.0  # after the system could not accept
EVERYWHERE = ("", "0.0.0.0", "::")


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    connections: int = 256
    handshakes: int = 64
    handshake_s: float = 10.0
    request_s: float = 10.0  # for a request, from the moment a client is connected or was answered
    stranger_bytes: int = 64 * 1024  # from a stranger, in all: a request with the longest of tokens
    write_s: float = 30.0  # for a client to read on, when it has not read what it was sent
    linger_s: float = 1.0  # for what a client goes on sending when it was answered
    shutdown_s: float = 1.0  # for connections to be gone when serving ends


BOUNDS = Bounds()


class Caller(asyncio.Protocol):
    """One connection: what it may cost, and the HTTP behind it."""

    def __init__(self, address: str, sock: socket.socket, http: asyncio.Protocol, bounds: Bounds) -> None:
        self.address = address
        self.is_known = False
        self.transport: asyncio.Transport | None = None  # after the handshake
        self.ended = asyncio.get_running_loop().create_future()
        self._sock = sock
        self._http = http
        self._bounds = bounds
        self._heard = 0
        self._unread: asyncio.TimerHandle | None = None

    def drop(self) -> None:
        """Ends it without a word."""
        if self.transport is not None:
            self.transport.abort()
        else:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._heard += len(data)
        if self.is_known or self._heard <= self._bounds.stranger_bytes:
            self._http.data_received(data)
        else:
            self.drop()

    def eof_received(self) -> bool | None:
        return self._http.eof_received()

    def pause_writing(self) -> None:
        self._unread = asyncio.get_running_loop().call_later(self._bounds.write_s, self.drop)
        self._http.pause_writing()

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
        self._http.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        if self._unread is not None:
            self._unread.cancel()
        self._http.connection_lost(error)
        if not self.ended.done():
            self.ended.set_result(None)


class Door:
    """Listens on sockets; `http` makes the protocol of a connection, `tls` says what it is made with."""

    def __init__(
        self,
        http: Callable[[], asyncio.Protocol],
        tls: Callable[[], ssl.SSLContext | None],
        bounds: Bounds = BOUNDS,
    ) -> None:
        self._http = http
        self._tls = tls
        self._bounds = bounds
        self.callers: dict[Caller, None] = {}  # the oldest first
        self._sockets: list[socket.socket] = []
        self._listeners: list[asyncio.Task[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, address: str, port: int, *, share_port: bool = False) -> int:
        """Listens; the port. OSError when that cannot be."""
        listening = _listen(address, port, share_port)
        listening.setblocking(False)
        self._sockets.append(listening)
        self._listeners.append(self._begin(self._accept(listening)))
        return int(listening.getsockname()[1])

    def shut(self) -> None:
        """Nobody comes in any more; who is in stays."""
        for task in self._listeners:
            task.cancel()
        for listening in self._sockets:
            listening.close()
        self._sockets.clear()

    async def clear(self) -> None:
        """Whoever is still in is shown out."""
        for caller in list(self.callers):
            caller.drop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._bounds.shutdown_s)

    async def _accept(self, listening: socket.socket) -> None:
        """One connection a turn of the event loop, so that what schedules has its turn as well."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, address = await loop.sock_accept(listening)
            except OSError as error:
                log.warning("no connection can be accepted: %s", error)
                await asyncio.sleep(BREATH_S)
                continue
            try:
                self._admit(sock, _group(address[0]))
            except Exception as error:  # it costs this connection: others are waiting at the door
                log.error("a connection cannot be served", exc_info=error)
                sock.close()
            await asyncio.sleep(0)

    def _admit(self, sock: socket.socket, address: str) -> None:
        shaking = [each for each in self.callers if each.transport is None]
        if len(shaking) >= self._bounds.handshakes:
            self._show_out(shaking)
        elif len(self.callers) >= self._bounds.connections:
            self._show_out(self.callers)
        caller = Caller(address, sock, self._http(), self._bounds)
        self.callers[caller] = None
        self._begin(self._serve(caller, sock))

    def _show_out(self, among: Iterable[Caller]) -> None:
        """The oldest of whoever has most; of those that are known only when there are no others."""
        candidates = [each for each in among if not each.is_known] or list(among)
        counts = Counter(each.address for each in candidates)
        most = max(counts.values())
        victim = next(each for each in candidates if counts[each.address] == most)
        del self.callers[victim]
        victim.drop()

    async def _serve(self, caller: Caller, sock: socket.socket) -> None:
        """From the handshake until the connection is gone."""
        loop, tls = asyncio.get_running_loop(), self._tls()
        timeouts = {"ssl_handshake_timeout": self._bounds.handshake_s} if tls is not None else {}
        try:
            await loop.connect_accepted_socket(lambda: caller, sock, ssl=tls, **timeouts)
            await caller.ended
        except Exception as error:  # a handshake goes wrong in many ways, and none is our concern
            log.debug("a connection from %s comes to nothing: %s", caller.address, error)
            sock.close()
        finally:
            self.callers.pop(caller, None)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _listen(address: str, port: int, share_port: bool) -> socket.socket:
    if address in EVERYWHERE:
        if socket.has_dualstack_ipv6():
            with suppress(OSError):
                return socket.create_server(
                    ("", port),
                    family=socket.AF_INET6,
                    dualstack_ipv6=True,
                    backlog=BACKLOG,
                    reuse_port=share_port,
                )
        address = "0.0.0.0"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family, backlog=BACKLOG, reuse_port=share_port)


def _group(address: str) -> str:
    """Whose connection it is: an address, or of IPv6 the network a single machine has to itself."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
