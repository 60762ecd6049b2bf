"""A way for bytes between a scheduler and a server, on loopback, on which connections fail as networks do.

It sees TLS from outside and changes nothing: what it does to connections is all it does.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from e2e.process import LOOPBACK, free_ports

CHUNK = 1 << 16
ANSWER_SECONDS = 10
RESET = struct.pack("ii", 1, 0)  # linger, for no time
T = TypeVar("T")


class Connection:
    """Two sockets, and bytes that go from one to the other until it is forgotten."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self.writers = writers
        self.forgotten = False

    def close(self) -> None:
        for writer in self.writers:
            writer.close()

    def abort(self) -> None:
        """Both ends are told by a reset."""
        for writer in self.writers:
            with suppress(OSError):  # it is closed already
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()


class Wire:
    """Use it as a context manager. Its methods may be called from any thread."""

    def __init__(self, upstream: int) -> None:
        (self.port,) = free_ports(1)
        self._upstream = upstream
        self._connections: set[Connection] = set()
        self._delay = 0.0
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)

    def __enter__(self) -> Wire:
        self._thread.start()
        self._call(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> int:
        """Ends every connection without a word; how many there were."""

        async def now() -> int:
            found = list(self._connections)
            for each in found:
                each.abort()
            return len(found)

        return self._call(now())

    def forget(self) -> int:
        """Nothing goes through the connections there are, ever again, and nobody is told. New ones work."""

        async def now() -> int:
            for each in self._connections:
                each.forgotten = True
            return len(self._connections)

        return self._call(now())

    def hold(self) -> None:
        """Nothing goes through at all, until `let_go`, and nobody is told."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def let_go(self) -> None:
        """New connections work. Those there were are reset: a write that arrives after a lease has run out
        is more than a lease can guard against."""
        self.cut()
        self._loop.call_soon_threadsafe(self._open.set)

    def slow(self, seconds: float) -> None:
        """Whatever goes through takes so much longer, each way."""
        self._delay = seconds

    async def _start(self) -> None:
        self._open.set()
        self._server = await asyncio.start_server(self._connected, LOOPBACK, self.port)

    async def _stop(self) -> None:
        self._server.close()
        for each in list(self._connections):
            each.abort()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What asyncio calls; it complains of tasks that were cancelled."""
        with suppress(asyncio.CancelledError):
            await self._carry(reader, writer)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        try:
            there_reader, there_writer = await asyncio.open_connection(LOOPBACK, self._upstream)
        except OSError:
            Connection(writer).abort()
            return
        connection = Connection(writer, there_writer)
        self._connections.add(connection)
        ways = [
            asyncio.ensure_future(self._pump(connection, reader, there_writer)),
            asyncio.ensure_future(self._pump(connection, there_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if connection.forgotten:
                await ways[0]  # the server may end it; the client is not told
        finally:
            for way in ways:
                way.cancel()
            self._connections.discard(connection)
            connection.close()

    async def _pump(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """A forgotten connection is read from and nothing comes of it: only its end is noticed."""
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                if self._delay:
                    await asyncio.sleep(self._delay)
                await self._open.wait()
                if not connection.forgotten:
                    writer.write(chunk)
                    await writer.drain()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_SECONDS)
