"""Keeps one object from filling the cluster with Events about it."""

from __future__ import annotations

from collections.abc import Callable

from mooring.cluster.newest_entries import Recent

BURST = 25
REFILL_S = 300.0  # client-go's: one more Event every five minutes
REMEMBERED = 8192


class SpamFilter:
    """A token bucket for each reporter and object."""

    def __init__(self, clock: Callable[[], float], *, burst: int = BURST, refill_s: float = REFILL_S) -> None:
        self._clock = clock
        self._burst = burst
        self._refill_s = refill_s
        self._buckets = Recent[tuple[str, str], tuple[float, float]](REMEMBERED)  # tokens, and as of when

    def lets_pass(self, reporter: str, uid: str) -> bool:
        """Whether one more Event about the object is fine."""
        now, key = self._clock(), (reporter, uid)
        tokens, since = self._buckets.get(key) or (float(self._burst), now)
        tokens = min(float(self._burst), tokens + (now - since) / self._refill_s)
        passes = tokens >= 1
        self._buckets.put(key, (tokens - 1 if passes else tokens, now))
        return passes
