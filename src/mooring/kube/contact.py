"""Whether the API server answers, as all who follow it find out together.

A server that was away is asked often, and by everybody the moment anybody gets through; so is one that has
just come back, since it refuses a good deal until it has read its roles and kinds. A server that is there and
says no is asked less and less often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mooring.errors import ApiError, TooManyRequests, Unreachable

SETTLING_S = 30.0  # how long a server may refuse what it will grant, once it answers again
BETWEEN_CALLS_S = 1.0  # a server that comes and goes is not asked by everybody each time


def is_away(error: ApiError) -> bool:
    """Whether an error says that the server cannot answer, rather than that it will not."""
    return isinstance(error, (Unreachable, TooManyRequests)) or error.code >= 500


class Contact:
    """With one server. Whoever waits hears when it answers again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lost = False
        self._back_at = float("-inf")
        self._waiting: set[Callable[[], object]] = set()

    @property
    def is_unsettled(self) -> bool:
        """The server is away, or has come back just now."""
        return self._lost or self._clock() - self._back_at < SETTLING_S

    @contextmanager
    def waiting(self, wake: Callable[[], object]) -> Iterator[None]:
        """`wake` is called if the server answers again meanwhile."""
        self._waiting.add(wake)
        try:
            yield
        finally:
            self._waiting.discard(wake)

    def failed(self, error: ApiError) -> None:
        """Somebody got an error. A refusal shows that the server is there."""
        if is_away(error):
            self._lost = True
        else:
            self.worked()

    def worked(self) -> None:
        """Somebody got an answer."""
        if not self._lost:
            return
        self._lost, before, self._back_at = False, self._back_at, self._clock()
        if self._back_at - before >= BETWEEN_CALLS_S:
            for wake in tuple(self._waiting):
                wake()
