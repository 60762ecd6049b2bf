"""Short requests over kept connections, for as little as HTTP/1.1 can cost.

A scheduler writes twice for every pod, thousands of times a second. The general client spends ten times
as long on each of those writes as this: one write to a connection, one answer read whole, no layers.
What is long, compressed, streamed or goes through a proxy is not for here.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import cast

from mooring.errors import Unreachable
from mooring.kube.http_answer import Answer, AnswerReader, BadAnswer

IDLE_S = 45.0  # servers close connections idle for longer; a write must not meet that
CUT = "the connection was closed before the answer"


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self.usable = False
        self._transport: asyncio.Transport | None = None
        self._reader = AnswerReader()
        self._waiter: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self.usable = cast(asyncio.Transport, transport), True

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:
            self.close()  # nobody asked: whatever this is, it answers no request of ours
            return
        try:
            answer = self._reader.feed(data)
        except BadAnswer as error:
            self._fail(str(error))
            return
        if answer is not None:
            self._answered(answer)

    def eof_received(self) -> None:
        self._ended()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended(exc)

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        """Sends a request; the future has the answer, or Unreachable."""
        assert self._transport is not None
        assert self._waiter is None
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        self._reader.start()
        self._transport.write(request)
        return waiter

    def abandon(self) -> None:
        """Nobody waits for the answer any more, so nothing else can be asked here."""
        self._waiter = None
        self.close()

    def close(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.close()

    def _answered(self, answer: Answer) -> None:
        waiter, self._waiter = self._waiter, None
        if not answer.keeps_alive or self._reader.has_more:
            self.close()
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def _ended(self, error: Exception | None = None) -> None:
        self.usable = False
        if self._waiter is None:
            return
        answer = self._reader.end()
        if answer is not None:
            self._answered(answer)
        else:
            self._fail(str(error) if error and str(error) else CUT)

    def _fail(self, why: str) -> None:
        waiter, self._waiter = self._waiter, None
        self.close()
        if waiter is not None and not waiter.done():
            waiter.set_exception(Unreachable(0, why, sent=True))


class Connections:
    """Up to `limit` connections to one server. Requests beyond that wait for their turn, first come first."""

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, *, server_name: str = "", limit: int = 64
    ) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._server_name = (server_name or host) if tls is not None else None
        self._idle: list[Connection] = []
        self._slots = limit
        self._queue: deque[asyncio.Future[None]] = deque()
        self._open: set[Connection] = set()

    async def exchange(self, request: bytes, timeout_s: float) -> Answer:
        """The answer to the bytes of a whole request, or Unreachable."""
        loop = asyncio.get_running_loop()
        await self._slot()
        try:
            connection = self._kept(loop.time()) or await self._connect(timeout_s)
            waiter = connection.ask(request)
            timer = loop.call_later(timeout_s, _too_late, waiter)
            try:
                answer = await waiter
            except BaseException:
                connection.abandon()
                raise
            finally:
                timer.cancel()
            self._keep(connection, loop.time())
            return answer
        finally:
            self._free_slot()

    async def close(self) -> None:
        for connection in self._open:
            connection.close()
        self._open.clear()
        self._idle.clear()

    async def _connect(self, timeout_s: float) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                _, connection = await loop.create_connection(
                    Connection, self._host, self._port, ssl=self._tls, server_hostname=self._server_name
                )
        except TimeoutError:
            raise Unreachable(0, f"no connection to {self._host}:{self._port} in time", sent=False) from None
        except (OSError, ssl.CertificateError) as error:
            raise Unreachable(0, str(error) or type(error).__name__, sent=False) from error
        self._open.add(connection)
        return connection

    def _kept(self, now: float) -> Connection | None:
        """The connection used last, so that those not needed grow old and go."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and now - connection.idle_since < IDLE_S:
                return connection
            self._drop(connection)
        return None

    def _keep(self, connection: Connection, now: float) -> None:
        if connection.usable:
            connection.idle_since = now
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._open.discard(connection)
        connection.close()

    async def _slot(self) -> None:
        if self._slots > 0 and not self._queue:
            self._slots -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free_slot()  # it was just our turn: the next one has it
            raise

    def _free_slot(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._slots += 1


def _too_late(waiter: asyncio.Future[Answer]) -> None:
    if not waiter.done():
        waiter.set_exception(Unreachable(0, "no answer in time", sent=True))


class AnswerResponse:
    """An answer that is all there, as a response."""

    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self._answer = answer

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    async def read(self) -> bytes:
        return self._answer.body

    async def lines(self) -> AsyncIterator[bytes]:
        for line in self._answer.body.splitlines():
            yield line
