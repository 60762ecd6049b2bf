"""Whether the API server answers, as all who follow it find out together.

A server that was away is asked often, and by everybody the moment anybody gets through; so is one that has
just come back, since it refuses a good deal until it has read its roles and kinds. A server that is there and
says no is asked less and less often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from mooring.errors import ApiError, TooManyRequests, Unreachable

SETTLING_S = 30.0  # how long a server may refuse what it will grant, once it answers again
NEVER = float("-inf")
BETWEEN_CALLS_S = 1.0  # a server that comes and goes is not asked by everybody each time


def is_away(error: ApiError) -> bool:
    """Whether an error says that the server cannot answer, rather than that it will not."""
    return isinstance(error, (Unreachable, TooManyRequests)) or error.code >= 500


class Server(IntEnum):
    """What a server does, as was seen last."""

    AWAY = 0
    REFUSES = 1
    WORKS = 2


class Contact:
    """With one server. Whoever waits hears when it answers again, and when it grants what it is asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._server = Server.WORKS
        self._back_at = clock()  # who has just started does not know how long the server has been there
        self._called_at = {Server.REFUSES: NEVER, Server.WORKS: NEVER}
        self._waiting: set[Callable[[], object]] = set()

    @property
    def is_unsettled(self) -> bool:
        """The server is away, or has come back just now."""
        return self._server is Server.AWAY or self._clock() - self._back_at < SETTLING_S

    @contextmanager
    def waiting(self, wake: Callable[[], object]) -> Iterator[None]:
        """`wake` is called if it is worth asking again meanwhile."""
        self._waiting.add(wake)
        try:
            yield
        finally:
            self._waiting.discard(wake)

    def failed(self, error: ApiError) -> None:
        """Somebody got an error."""
        if is_away(error):
            self._server = Server.AWAY
        else:
            self._rises(Server.REFUSES)

    def worked(self) -> None:
        """Somebody got what was asked for."""
        self._rises(Server.WORKS)

    def _rises(self, to: Server) -> None:
        if to <= self._server:
            return
        now = self._clock()
        if self._server is Server.AWAY:
            self._back_at = now
        self._server = to
        if now - self._called_at[to] >= BETWEEN_CALLS_S:
            self._called_at[to] = now
            for wake in tuple(self._waiting):
                wake()
