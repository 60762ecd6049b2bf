"""At most so many requests a second, with some at once: a token bucket, first come first served."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

DEFAULT_QPS = 50.0
DEFAULT_BURST = 100


class Limiter:
    """`burst` requests at once, `qps` a second from then on. A negative `qps` is no limit at all.

    0 counts as not given, as in a KubeSchedulerConfiguration: the default.
    """

    def __init__(
        self,
        qps: float = DEFAULT_QPS,
        burst: int = DEFAULT_BURST,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._qps = qps or DEFAULT_QPS
        self._burst = float(burst or DEFAULT_BURST)
        self._clock = clock
        self._sleep = sleep or self._sleep_unless_opened
        self._opened = asyncio.Event()
        self._tokens = self._burst  # below zero: so many are waiting
        self._filled = clock()

    def open(self) -> None:
        """Lets everybody pass from now on, also those who wait."""
        self._qps = -1.0
        self._opened.set()

    def try_acquire(self) -> bool:
        """Takes a token if there is one: the quick way, without waiting."""
        if self._qps < 0:
            return True
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def acquire(self) -> None:
        """Takes a token, or a place in the line for one."""
        if self.try_acquire():
            return
        self._tokens -= 1
        try:
            await self._sleep(-self._tokens / self._qps)
        except BaseException:
            self._tokens += 1  # the place is free again
            raise

    async def _sleep_unless_opened(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._opened.wait()

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._qps)
        self._filled = now
