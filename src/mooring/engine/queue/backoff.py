"""How long a pod that failed waits before it is tried again. Exact, in whole seconds."""

from __future__ import annotations

from math import floor

import msgspec

from mooring.engine.queue.queued_pod import QueuedPod

MOST_DOUBLINGS = 63  # any maximum is reached by then


def backoff_duration(initial: float, maximum: float, count: int) -> float:
    """Doubles with each failure up to the maximum; none before the first failure."""
    if count == 0 or maximum == 0:
        return 0
    return min(initial * (1 << min(count - 1, MOST_DOUBLINGS)), maximum)


class Backoff(msgspec.Struct, frozen=True):
    """Back-off as configured (`podInitialBackoffSeconds`, `podMaxBackoffSeconds`)."""

    initial_s: float = 1
    maximum_s: float = 10

    def expiration(self, queued: QueuedPod) -> float:
        duration = backoff_duration(self.initial_s, self.maximum_s, queued.backoff_count)
        return floor(queued.timestamp + duration) if duration else queued.timestamp

    def backing_off(self, queued: QueuedPod, now: float) -> bool:
        """Whether its back-off lasts still: until the second after it expires begins."""
        if not queued.backoff_count or not self.maximum_s:
            return False
        return self.expiration(queued) >= floor(now)
