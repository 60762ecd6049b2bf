"""Short requests over kept connections, for as little as HTTP/1.1 can cost.

A scheduler writes twice for every pod, thousands of times a second. Each request has a connection to itself
while it is under way. Answers of a slow server are read together (`gathered_answers`). How many connections
there are is up to `connection_count`; those that have died without a word are found by `dead_connections`.
What is long, compressed, streamed or goes through a proxy is not for here.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable

from mooring.errors import Unreachable
from mooring.kube.http.answer_parser import Answer
from mooring.kube.http.bandwidth import Line
from mooring.kube.http.connection import NEVER_SENT, Connection, PendingRequest
from mooring.kube.http.connection_count import Width
from mooring.kube.http.dead_connections import LOOK_S, Silence
from mooring.kube.http.gathered_answers import GatheredAnswers

IDLE_S = 45.0  # servers close connections idle for longer; a write must not meet that
SMOOTHING = 0.1  # weight of the last answer in how quick a server is
PROBE_S = 5.0  # for the answer to a question that only asks whether somebody is there
UNFORESEEN = "the connection failed: {}: {}"

Check = Callable[[], None]


class Connections:
    """Up to `limit` connections to one server, or up to `most` when that pays: `on_width` hears how many
    requests may then be under way.

    Requests beyond that wait for their turn, first come first. `probe` is a request that anybody may make.
    """

    def __init__(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
        *,
        server_name: str = "",
        limit: int = 64,
        most: int = 0,
        probe: bytes = b"",
        line: Line | None = None,
        on_width: Callable[[int], None] = lambda width: None,
    ) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._server_name = (server_name or host) if tls is not None else None
        self._width = Width(limit, max(limit, most), line)
        self._on_width = on_width
        self._silence = Silence()
        self._probe, self._probing = probe, False
        self._queue: deque[PendingRequest] = deque()
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._answer_s = 1.0  # how long an answer takes, lately; nobody is known to be quick at first
        self._flush: asyncio.Handle | None = None  # the next time that something is sent
        self._sweep: asyncio.TimerHandle | None = None  # the next look for answers that are overdue
        self._gathered = GatheredAnswers(self._open)

    async def exchange(self, request: bytes, timeout_s: float, check: Check | None = None) -> Answer:
        """The answer to the bytes of a whole request, or Unreachable. What `check` raises, just before the
        request would be sent, is raised instead of sending it."""
        loop = asyncio.get_running_loop()
        asked = PendingRequest(request, timeout_s, loop.create_future(), check, loop.time())
        self._queue.append(asked)
        self._send_soon()
        try:
            return await asked.waiter
        except asyncio.CancelledError:
            self._give_up(asked)
            raise

    async def warm(self, count: int) -> None:
        """Opens connections, and learns how far away the server is, before that matters."""
        asking = (self.exchange(self._probe, PROBE_S) for _ in range(count))
        await asyncio.gather(*asking, return_exceptions=True)

    def doubt(self) -> None:
        """Somebody has found that connections die without a word: those nobody waits on are used no more."""
        self._drop_unused(asyncio.get_running_loop().time())

    async def close(self) -> None:
        opening, still_open = list(self._opening), list(self._open)
        for task in opening:
            task.cancel()
        for connection in still_open:
            connection.close()
        if self._sweep is not None:
            self._sweep.cancel()
        self._sweep = None
        self._gathered.end()
        self._open.clear()
        self._idle.clear()
        await asyncio.gather(*opening, return_exceptions=True)

    # sending

    def _send(self) -> None:
        """Sends what was asked in this turn, as far as there are connections."""
        self._flush = None
        queue, now = self._queue, asyncio.get_running_loop().time()
        while queue:
            if not queue[0].may_be_sent():
                queue.popleft()
            elif (connection := self._kept(now)) is not None:
                self._ask(connection, queue.popleft(), now)
            elif self._may_open(now):
                self._begin_opening(queue.popleft())
            else:
                return  # who comes to rest first goes on here

    def _may_open(self, now: float) -> bool:
        used = len(self._open) + len(self._opening)
        if used >= self._width.now and self._width.waited(now):
            self._on_width(self._width.calls)
        return used < self._width.now

    def _ask(self, connection: Connection, asked: PendingRequest, now: float) -> None:
        try:
            due = min(connection.ask(asked, now), now + LOOK_S)
            self._gathered.asked(connection, now)
        except Exception as error:  # whoever waits for an answer must hear of it, whatever it is
            why = UNFORESEEN.format(type(error).__name__, error)
            connection.fail(why)
            asked.fail(why)
            return
        if self._sweep is None or due < self._sweep.when():
            if self._sweep is not None:
                self._sweep.cancel()
            self._sweep = asyncio.get_running_loop().call_at(due, self._look_for_overdue)

    def _look_for_overdue(self) -> None:
        """One timer for all requests: it goes off when the first of those that were waiting is due, and
        every few seconds meanwhile."""
        loop = asyncio.get_running_loop()
        self._sweep, now = None, loop.time()
        for connection in list(self._open):
            connection.expire(now)
        while self._queue and (self._queue[0].waiter.done() or self._queue[0].deadline <= now):
            self._queue.popleft().fail(NEVER_SENT, sent=False)
        self._look_for_silent(now)
        due = min((each.waiting.deadline for each in self._open if each.waiting), default=None)
        if due is not None:
            self._sweep = loop.call_at(min(due, now + LOOK_S), self._look_for_overdue)

    # connections that have died without a word

    def _look_for_silent(self, now: float) -> None:
        silent, is_suspicious = self._silence.among(self._open, now)
        for connection in silent:
            connection.fail(self._silence.words(connection, now))
        if silent:
            self._drop_unused(now)
        elif is_suspicious and self._probe and not self._probing:
            self._probing = True
            task = asyncio.get_running_loop().create_task(self._ask_whether_there())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _ask_whether_there(self) -> None:
        """Over a connection of its own: that one is answered tells what those are that are not."""
        loop = asyncio.get_running_loop()
        connection: Connection | None = None
        asked = PendingRequest(self._probe, PROBE_S, loop.create_future(), None, loop.time())
        try:
            async with asyncio.timeout(PROBE_S):
                connection = await self._connect(PROBE_S, rested=lambda _: None)
                began = loop.time()
                connection.ask(asked, began)
                await asked.waiter
            self._silence.answered(began)
        except (Unreachable, TimeoutError):
            return  # nobody is there, so silence means nothing
        finally:
            self._probing = False
            if connection is not None:
                connection.close()
            asked.waiter.cancel()

    def _drop_unused(self, now: float) -> None:
        """Those that nobody waits on may be as dead as the one that was found."""
        for connection in [each for each in self._idle if now - each.idle_since > LOOK_S]:
            self._idle.remove(connection)
            self._drop(connection)

    def _give_up(self, asked: PendingRequest) -> None:
        """Nobody waits for the answer any more."""
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            if connection.waiting is asked:
                if now - connection.heard_at > LOOK_S:
                    self._drop_unused(now)
                connection.given_up()

    # connections

    def _begin_opening(self, asked: PendingRequest) -> None:
        task = asyncio.get_running_loop().create_task(self._ask_over_new(asked))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _ask_over_new(self, asked: PendingRequest) -> None:
        try:
            connection = await self._connect(asked.timeout_s)
        except asyncio.CancelledError:
            self._never_sent(asked, "the connections were closed")
            raise
        except Unreachable as error:
            self._never_sent(asked, str(error))
            return
        except Exception as error:  # whoever waits for an answer must hear of it, whatever it is
            self._never_sent(asked, UNFORESEEN.format(type(error).__name__, error))
            return
        finally:
            self._opening.discard(asyncio.current_task())
        self._open.add(connection)
        if connection.usable and asked.may_be_sent():
            self._ask(connection, asked, asyncio.get_running_loop().time())
        else:
            self._never_sent(asked, "the connection was closed at once")
            self._rested(connection)

    def _never_sent(self, asked: PendingRequest, why: str) -> None:
        asked.fail(why, sent=False)
        if self._queue:
            self._send_soon()  # its place is free for others

    async def _connect(
        self, timeout_s: float, rested: Callable[[Connection], None] | None = None
    ) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                _, connection = await loop.create_connection(
                    lambda: Connection(rested or self._rested, loop.time),
                    self._host,
                    self._port,
                    ssl=self._tls,
                    server_hostname=self._server_name,
                )
        except TimeoutError:
            raise Unreachable(0, f"no connection to {self._host}:{self._port} in time", sent=False) from None
        except (OSError, ssl.CertificateError) as error:
            raise Unreachable(0, str(error) or type(error).__name__, sent=False) from error
        return connection

    def _kept(self, now: float) -> Connection | None:
        """The connection used last, so that those not needed grow old and go."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and now - connection.idle_since < IDLE_S:
                return connection
            self._drop(connection)
        return None

    def _rested(self, connection: Connection) -> None:
        """What was asked over a connection is answered, or it is over."""
        now = asyncio.get_running_loop().time()
        if connection.usable and connection in self._open:
            if connection.answered:
                connection.answered = False
                took_s = now - connection.asked_at - connection.kept_s / 2  # half of it, on average
                self._learn(took_s, connection, now)
            connection.idle_since = now
            self._idle.append(connection)
            self._gathered.begin(self._answer_s)
        else:
            self._drop(connection)
        if self._queue:
            self._send_soon()

    def _learn(self, took_s: float, connection: Connection, now: float) -> None:
        """From a request that is answered."""
        self._answer_s += SMOOTHING * (took_s - self._answer_s)
        self._silence.answered(connection.asked_at, took_s)
        if connection.only_read:  # that tells how far it is, and nothing of what a write takes there
            self._width.measured(took_s)
            return
        has_changed = self._width.answered(took_s, now, opening=bool(self._opening))
        if connection.refused:
            connection.refused = False
            has_changed = self._width.refused(now) or has_changed
        if has_changed:
            self._on_width(self._width.calls)

    def _send_soon(self) -> None:
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_soon(self._send)

    def _drop(self, connection: Connection) -> None:
        self._open.discard(connection)
        connection.close()
