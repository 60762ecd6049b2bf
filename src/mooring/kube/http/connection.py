"""One connection to a server, over which one request is under way at a time.

Whatever ends a connection ends the request that is under way on it: it may have been carried out.
"""

from __future__ import annotations

import asyncio
import logging
import time
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
    """`on_rest` hears when a request is answered, or the connection is over."""

    def __init__(
        self, on_rest: Callable[[Connection], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.idle_since = 0.0
        self.usable = False
        self.asked_at = 0.0
        self.only_read = False  # what was asked last was not to change anything
        self.answered = False  # it is, and nobody has learned from it yet
        self.heard_at = 0.0  # when something came last, or was asked
        self.refused = False  # the server said that it is asked too much
        self.waiting: PendingRequest | None = None
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
        if self.waiting is None:
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

    def ask(self, asked: PendingRequest, now: float) -> float:
        """Sends a request, with nothing else under way. Returns when the answer is due."""
        assert self._transport is not None
        assert self.waiting is None
        self.waiting = asked
        asked.deadline = now + asked.timeout_s
        self.asked_at, self.heard_at, self.kept_s, self.answered = now, now, 0.0, False
        self.only_read = asked.request.startswith(READING)
        self._transport.write(asked.request)
        return asked.deadline

    def hold_back(self, seconds: float) -> None:
        """What comes stays with the system until it is let in, which is so much later."""
        if self._gate.close():
            self.kept_s = seconds

    def let_in(self) -> None:
        self._gate.open()

    def given_up(self) -> None:
        """Nobody waits for the answer any more, which is still to come: nothing more is asked here."""
        self.usable, self.waiting = False, None
        self._rest()

    def expire(self, now: float) -> None:
        """Ends it when an answer is overdue."""
        if self.waiting is not None and self.waiting.deadline <= now:
            self.fail(TOO_LATE)

    def close(self) -> None:
        self._use_no_more()
        if self._transport is not None:
            self._transport.close()

    def _take(self, answers: list[Answer]) -> None:
        """Hands the answer to who asked."""
        reader = self._reader
        if not answers:
            if reader.mistake:
                self.fail(reader.mistake)
            return
        self._hand_over(answers[0])
        if len(answers) > 1 or reader.has_begun or reader.mistake or not answers[0].keeps_alive:
            self.close()  # nobody asked for what follows
        self._rest()

    def _hand_over(self, answer: Answer) -> None:
        assert self.waiting is not None
        waiter, self.waiting, self.answered = self.waiting.waiter, None, True
        if answer.status == TOO_MANY:
            self.refused = True
        if not waiter.done():
            waiter.set_result(answer)

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
        if self.waiting is None:
            return
        answer = self._reader.end() if error is None else None  # what was cut off is no end
        if answer is not None:
            self._hand_over(answer)
            self._rest()
        else:
            self.fail(str(error) if error and str(error) else CUT)

    def fail(self, why: str) -> None:
        """Ends it at once, with what is under way on it."""
        self._use_no_more()
        if self._transport is not None:
            self._transport.abort()
        failed, self.waiting = self.waiting, None
        if failed is not None:
            failed.fail(why)
        self._on_rest(self)
