"""How long to wait before trying again: longer each time, never in step with others."""

from __future__ import annotations

import random as randomness
import time
from collections.abc import Callable

import msgspec


class Pace(msgspec.Struct, frozen=True):
    """The first wait, and how waits grow. Each is stretched by a random part, up to `jitter` of it."""

    initial: float = 0.8
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 1.0
    reset_after: float = 120.0  # seconds without a failure, after which the first wait comes again


RELISTING = Pace()  # client-go's reflectors
RETURNING = Pace(
    initial=0.1, cap=1.0, jitter=0.5, reset_after=5.0
)  # a server that is away, or is back just now
REQUESTS = Pace(initial=0.1, cap=5.0, jitter=0.5)  # one request, tried a few times


class Backoff:
    """Waits, one after the other. Time and chance are passed in."""

    def __init__(
        self,
        pace: Pace = RELISTING,
        *,
        random: Callable[[], float] = randomness.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = pace
        self._random = random
        self._clock = clock
        self._wait = pace.initial
        self._asked: float | None = None

    def next(self, retry_after: float | None = None) -> float:
        """Seconds to wait now; at least those the server asks for."""
        pace, now = self._pace, self._clock()
        if self._asked is not None and now - self._asked > pace.reset_after:
            self.reset()
        wait = self._wait
        self._wait = min(wait * pace.factor, pace.cap)
        stretched = wait * (1 + pace.jitter * self._random())
        answer = max(stretched, retry_after or 0.0)
        self._asked = now + answer
        return answer

    def reset(self) -> None:
        """Begins again with the first wait: something has worked."""
        self._wait = self._pace.initial
