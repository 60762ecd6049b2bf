"""One connection to a server: several requests in one write, their answers in the order they were asked.

Whatever ends a connection ends every request that is under way on it, each in the same words: it may have
been carried out.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from mooring.errors import Unreachable
from mooring.kube.http.answer_parser import Answer, AnswerReader
from mooring.kube.http.sockets import Gate, watch_over

log = logging.getLogger("mooring.kube")

TOO_MANY = 429
READING = b"GET "
CUT = "the connection was closed before the answer"
TOO_LATE = "no answer in time"
NEVER_SENT = "no connection was free in time"
UNFORESEEN = "reading the answer failed: {}: {}"


class PendingRequest:
    """A request, whoever waits for its answer, and until when once it is sent."""

    __slots__ = ("check", "deadline", "request", "timeout_s", "waiter")

    def __init__(
        self,
        request: bytes,
        timeout_s: float,
        waiter: asyncio.Future[Answer],
        check: Callable[[], None] | None,
        now: float = 0.0,
    ) -> None:
        self.request = request
        self.timeout_s = timeout_s
        self.deadline = now + timeout_s  # to be sent by then; once it is sent, to be answered by
        self.waiter = waiter
        self.check = check

    def may_be_sent(self) -> bool:
        """Whether somebody still waits for it, and it is still allowed: else whoever waits is told why."""
        if self.waiter.done():
            return False
        if self.check is not None:
            try:
                self.check()
            except Exception as error:
                self.waiter.set_exception(error)
                return False
        return True

    def fail(self, why: str, *, sent: bool = True) -> None:
        if not self.waiter.done():
            self.waiter.set_exception(Unreachable(0, why, sent=sent))


class Connection(asyncio.Protocol):
    """`on_rest` hears when everything is answered, or the connection is over."""

    def __init__(
        self, on_rest: Callable[[Connection], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.idle_since = 0.0
        self.usable = False
        self.lost_several = False  # it ended before all that went out together was answered
        self.size, self.asked_at = 0, 0.0  # how many requests went out together last, and when
        self.only_read = False  # none of them was to change anything
        self.heard_at = 0.0  # when something came last, or was asked
        self.refused = False  # the server said that it is asked too much
        self.waiting: deque[PendingRequest] = deque()  # in the order they were sent
        self._on_rest = on_rest
        self._clock = clock
        self._transport: asyncio.Transport | None = None
        self._gate = Gate(None)
        self.kept_s = 0.0  # how long what was asked last may have been answered before it was let in
        self._reader = AnswerReader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self.usable = cast(asyncio.Transport, transport), True
        if (made := transport.get_extra_info("socket")) is not None:
            self._gate = Gate(made)
            with suppress(OSError):
                watch_over(made)

    def data_received(self, data: bytes) -> None:
        if not self.waiting:
            self.close()  # nobody asked: whatever this is, it answers no request of ours
            return
        self.heard_at = self._clock()
        try:
            self._take(self._reader.feed(data))
        except Exception as error:  # whoever waits here must hear of it, whatever it is
            log.exception("reading an answer")
            self.fail(UNFORESEEN.format(type(error).__name__, error))

    def eof_received(self) -> None:
        self._ended()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended(exc)

    def ask(self, batch: list[PendingRequest], now: float) -> float:
        """Sends requests, in one write, with nothing else under way. Returns when the first answer is due."""
        assert self._transport is not None
        assert not self.waiting
        due = math.inf
        for asked in batch:
            asked.deadline = now + asked.timeout_s
            due = min(due, asked.deadline)
        self.waiting.extend(batch)
        self.size, self.asked_at, self.heard_at, self.kept_s = len(batch), now, now, 0.0
        self.only_read = all(asked.request.startswith(READING) for asked in batch)
        self._transport.write(batch[0].request if len(batch) == 1 else b"".join([a.request for a in batch]))
        return due

    def hold_back(self, seconds: float) -> None:
        """What comes stays with the system until it is let in, which is so much later."""
        if self._gate.close():
            self.kept_s = seconds

    def let_in(self) -> None:
        self._gate.open()

    def given_up(self) -> None:
        """Somebody no longer waits for an answer that is still to come: nothing more is asked here."""
        self.usable = False
        if all(asked.waiter.done() for asked in self.waiting):
            self.waiting.clear()
            self._rest()

    def expire(self, now: float) -> None:
        """Ends everything here when an answer is overdue."""
        for asked in self.waiting:
            if asked.deadline <= now:
                asked.fail(TOO_LATE)
                self.fail(CUT)
                return

    def close(self) -> None:
        self._use_no_more()
        if self._transport is not None:
            self._transport.close()

    def _take(self, answers: list[Answer]) -> None:
        """Hands answers to those who asked, in their order."""
        reader = self._reader
        for number, answer in enumerate(answers, 1):
            if not self._answered(answer):
                return
            if not self.waiting:
                if number < len(answers) or reader.has_begun or reader.mistake:
                    self.close()  # nobody asked for what follows
                self._rest()
                return
        if reader.mistake:
            self.fail(reader.mistake)

    def _answered(self, answer: Answer) -> bool:
        """Hands an answer to who asked first. False when it is the last over this connection."""
        waiter = self.waiting.popleft().waiter
        if answer.status == TOO_MANY:
            self.refused = True
        if not waiter.done():
            waiter.set_result(answer)
        if not answer.keeps_alive:
            self.fail(CUT)
        return answer.keeps_alive

    def _rest(self) -> None:
        if not self.usable:
            self.close()
        self._on_rest(self)

    def _use_no_more(self) -> None:
        """The connection is over, or is to end."""
        self.usable = False
        self._gate.remove()

    def _ended(self, error: Exception | None = None) -> None:
        self._use_no_more()
        if not self.waiting:
            return
        answer = self._reader.end() if error is None else None  # what was cut off is no end
        if answer is not None:
            self._answered(answer)
        else:
            self.fail(str(error) if error and str(error) else CUT)

    def fail(self, why: str) -> None:
        """Ends it at once, with everything that is under way on it."""
        self._use_no_more()
        if self._transport is not None:
            self._transport.abort()
        failed, self.waiting = self.waiting, deque()
        self.lost_several = self.size > 1 and bool(failed)
        for asked in failed:
            asked.fail(why)
        self._on_rest(self)
