"""Has the answers of a slow server read together, a moment later, in one turn of the loop.

A turn for each answer of a busy server costs more than all that is done in it. So the system keeps what
comes on the connections that await answers, and hands all of it over when the moment is past. Everything
else goes on meanwhile: timers, watches, other connections. Nobody gathers for a few requests, nor from a
server that is quick.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from mooring.kube.http.connection import Connection
from mooring.kube.http.connection_count import SLOW_S

PART = 1 / 2  # of the time a slow server takes for an answer passes before it is read; but
LONGEST_S = 0.03  # never more than this, and only with answers to come over
MANY = 8  # connections or more
TURNS = 4  # of the loop after answers are let in; by then what they lead to is sent


class GatheredAnswers:
    """Goes on from the first call of `begin` for as long as it pays."""

    def __init__(self, connections: Collection[Connection]) -> None:
        self._connections = connections
        self._answer_s = 0.0
        self._until = 0.0  # when what is held back is let in
        self._next: asyncio.Handle | None = None  # what comes next, as long as it goes on

    def begin(self, answer_s: float) -> None:
        """An answer is there; they take so long, lately."""
        self._answer_s = answer_s
        if self._next is None and answer_s > SLOW_S:
            self._hold_back(TURNS)

    def asked(self, connection: Connection, now: float) -> None:
        """Something was asked over a connection: its answer is read with the others."""
        if self._until > now:
            connection.hold_back(self._until - now)

    def end(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _hold_back(self, turns: int) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            self._next = loop.call_soon(self._hold_back, turns - 1)
            return
        awaiting = [each for each in self._connections if each.waiting]
        if self._answer_s <= SLOW_S or len(awaiting) < MANY:
            self._next = None
            return
        moment_s = min(LONGEST_S, PART * self._answer_s)
        for connection in awaiting:
            connection.hold_back(moment_s)
        self._next = loop.call_later(moment_s, self._let_in)
        self._until = loop.time() + moment_s

    def _let_in(self) -> None:
        self._until = 0.0
        for connection in self._connections:
            connection.let_in()
        self._hold_back(TURNS)
