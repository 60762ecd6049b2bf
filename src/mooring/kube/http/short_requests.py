"""Short requests over kept connections, for as little as HTTP/1.1 can cost.

A scheduler writes twice for every pod, thousands of times a second. Several requests go out in one write,
which costs more than all else about a request, when that holds none of them up: when there are more than
connections, or the server answers so quickly that waiting for each other takes no time. Answers of a slow
server are read together (`gathered_answers`). How many connections there are is up to `connection_count`;
those that have died without a word are found by `dead_connections`.
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
QUICK_S = 0.001  # who answers within this is asked several things at a time, over
SPREAD = 4  # so many connections, and
GATHER_S = 0.002  # what is to be sent waits so long for more while there are answers to come
SMOOTHING = 0.1  # weight of the last answer in how quick a server is
ALONE_S = 60.0  # who ends a connection with several requests on it gets them one by one for so long
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
        self._under_way = 0  # requests on all connections
        self._queue: deque[PendingRequest] = deque()
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._alone_until = 0.0
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
        if self._flush is None:
            self._plan(loop)
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

    def _plan(self, loop: asyncio.AbstractEventLoop) -> None:
        """At the end of this turn; a moment later when answers to come will wake us then anyway."""
        if self._answer_s < QUICK_S and len(self._idle) < len(self._open):
            self._flush = loop.call_later(GATHER_S, self._send)
        else:
            self._flush = loop.call_soon(self._send)

    def _send(self) -> None:
        """Sends what is gathered, as far as there are connections."""
        self._flush = None
        queue, now = self._queue, asyncio.get_running_loop().time()
        at_once = self._at_once(now)
        while queue:
            connection = self._kept(now)
            if connection is None and len(self._open) + len(self._opening) >= self._width.now:
                self._wait_for_connection(now)
                return  # who comes to rest first goes on here
            batch = self._batch(at_once)
            if not batch:
                self._idle += [connection] if connection is not None else []
            elif connection is not None:
                self._ask(connection, batch, now)
            else:
                self._begin_opening(batch)

    def _at_once(self, now: float) -> int:
        """How many requests go out in one write."""
        if now < self._alone_until:
            return 1
        of_many = -(-(len(self._queue) + self._under_way) // self._width.now)
        if of_many > 1:
            self._wait_for_connection(now)
            is_slow = self._width.is_slow or not self._width.is_known
            if is_slow and not self._width.is_settled:
                return 1  # behind each other they would wait for longer than for a connection
            of_many = -(-(len(self._queue) + self._under_way) // self._width.now)
        of_quick = -(-len(self._queue) // SPREAD) if self._answer_s < QUICK_S else 1
        return min(self._width.depth, max(of_many, of_quick))

    def _wait_for_connection(self, now: float) -> None:
        if self._width.waited(now):
            self._on_width(self._width.calls)

    def _batch(self, size: int) -> list[PendingRequest]:
        batch: list[PendingRequest] = []
        while self._queue and len(batch) < size:
            asked = self._queue.popleft()
            if asked.may_be_sent():
                batch.append(asked)
        return batch

    def _ask(self, connection: Connection, batch: list[PendingRequest], now: float) -> None:
        self._under_way += len(batch)
        try:
            due = min(connection.ask(batch, now), now + LOOK_S)
            self._gathered.asked(connection, now)
        except Exception as error:  # whoever waits for an answer must hear of it, whatever it is
            connection.fail(UNFORESEEN.format(type(error).__name__, error))
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
        deadlines = (asked.deadline for each in self._open for asked in each.waiting)
        due = min(deadlines, default=None)
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
                connection.ask([asked], began)
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
            if asked in connection.waiting:
                if now - connection.heard_at > LOOK_S:
                    self._drop_unused(now)
                connection.given_up()

    # connections

    def _begin_opening(self, batch: list[PendingRequest]) -> None:
        task = asyncio.get_running_loop().create_task(self._ask_over_new(batch))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _ask_over_new(self, batch: list[PendingRequest]) -> None:
        try:
            connection = await self._connect(max(asked.timeout_s for asked in batch))
        except asyncio.CancelledError:
            self._never_sent(batch, Unreachable(0, "the connections were closed", sent=False))
            raise
        except Unreachable as error:
            self._never_sent(batch, error)
            return
        except Exception as error:  # whoever waits for an answer must hear of it, whatever it is
            self._never_sent(batch, Unreachable(0, UNFORESEEN.format(type(error).__name__, error)))
            return
        finally:
            self._opening.discard(asyncio.current_task())
        self._open.add(connection)
        still_wanted = [asked for asked in batch if asked.may_be_sent()]
        if still_wanted and connection.usable:
            self._ask(connection, still_wanted, asyncio.get_running_loop().time())
        else:
            self._never_sent(batch, Unreachable(0, "the connection was closed at once", sent=False))
            self._rested(connection)

    def _never_sent(self, batch: list[PendingRequest], error: Unreachable) -> None:
        for asked in batch:
            if not asked.waiter.done():
                asked.waiter.set_exception(Unreachable(0, str(error), sent=False))
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
        """Everything asked over a connection is answered, or it is over."""
        now = asyncio.get_running_loop().time()
        size, connection.size = connection.size, 0
        self._under_way -= size
        if connection.usable and connection in self._open:
            if size:
                took_s = now - connection.asked_at - connection.kept_s / 2  # half of it, on average
                self._learn(size, took_s, connection, now)
            connection.idle_since = now
            self._idle.append(connection)
            self._gathered.begin(self._answer_s)
        else:
            if connection.lost_several:
                self._alone_until = now + ALONE_S
            self._drop(connection)
        if self._queue:
            self._send_soon()

    def _learn(self, size: int, took_s: float, connection: Connection, now: float) -> None:
        """From requests that went out together and are all answered."""
        self._answer_s += SMOOTHING * (took_s / size - self._answer_s)
        self._silence.answered(connection.asked_at, took_s / size)
        if connection.only_read:  # that tells how far it is, and nothing of what a write takes there
            self._width.measured(took_s)
            return
        has_changed = self._width.answered(size, took_s, now, opening=bool(self._opening))
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
