"""A line to the API server that is long, thin, or forgets: it passes on bytes, and reads none of them.

with Relay(control_plane, round_trip_s=0.2) as relay:
    start_mooring(kubeconfig=relay.kubeconfig)
    relay.forget()      # the connections there are lead nowhere from now on; new ones work
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from e2e.certificates import Pair
from e2e.control_plane import ControlPlane
from e2e.kubeconfig import Server
from e2e.process import LOOPBACK, free_ports

CHUNK = 1 << 16
CALLED_SECONDS = 10
T = TypeVar("T")


class Direction:
    """One way along the line, for all connections together: so many bytes a second."""

    def __init__(self, delay_s: float, bytes_per_s: float | None) -> None:
        self._delay_s = delay_s
        self._bytes_per_s = bytes_per_s
        self._free_at = 0.0

    def arrival(self, size: int, now: float) -> float:
        """When bytes that are sent now have all come."""
        if self._bytes_per_s is not None:
            self._free_at = max(self._free_at, now) + size / self._bytes_per_s
        return max(self._free_at, now) + self._delay_s


class Relay:
    """Use it as a context manager. Its methods may be called from the test's thread."""

    def __init__(
        self,
        plane: ControlPlane,
        *,
        user: Pair | str | None = None,
        round_trip_s: float = 0.0,
        bytes_per_s: float | None = None,
        name: str = "relay",
    ) -> None:
        (self._port,) = free_ports(1)
        self._plane = plane
        self._round_trip_s = round_trip_s
        self._there = Direction(round_trip_s / 2, bytes_per_s)
        self._back = Direction(round_trip_s / 2, bytes_per_s)
        server = Server(f"https://{LOOPBACK}:{self._port}", plane.authority.certificate)
        path = plane.folder / f"{name}-{self._port}.kubeconfig"
        self.kubeconfig = server.kubeconfig(path, user or plane.admin)
        self._dead: set[asyncio.StreamWriter] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def __enter__(self) -> Relay:
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

    def forget(self) -> int:
        """What comes over the connections there are goes nowhere, and nobody is told. Returns how many."""

        async def now() -> int:
            self._dead |= self._writers
            return len(self._dead) // 2

        return self._call(now())

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, self._port, limit=CHUNK)

    async def _stop(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await asyncio.sleep(self._round_trip_s)  # to make a connection takes one
            onward, back = await asyncio.open_connection(LOOPBACK, self._plane.ports["api"], limit=CHUNK)
            both = {writer, back}
            self._writers |= both
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pump(reader, back, self._there))
                    group.create_task(self._pump(onward, writer, self._back))
            finally:
                self._writers -= both
                self._dead -= both
                back.close()
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction
    ) -> None:
        loop = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=4096)

        async def deliver() -> None:
            while True:
                due, data = await under_way.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if writer in self._dead:
                    continue
                if not data:
                    with suppress(OSError):
                        writer.write_eof() if writer.can_write_eof() else writer.close()
                    return
                writer.write(data)
                await writer.drain()

        delivering = loop.create_task(deliver())
        try:
            while data := await reader.read(CHUNK):
                await under_way.put((direction.arrival(len(data), loop.time()), data))
            await under_way.put((direction.arrival(0, loop.time()), b""))
            await delivering
        finally:
            delivering.cancel()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALLED_SECONDS)
