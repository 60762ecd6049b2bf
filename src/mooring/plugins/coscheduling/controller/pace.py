"""How often something is written: a few times at once, and from then on once a second.

A gang of thousands has thousands of pods that begin to run one after the other; nobody reads each number.
"""

from __future__ import annotations

from typing import Generic, TypeVar

AT_ONCE = 5.0
PER_SECOND = 1.0

K = TypeVar("K")


class Pace(Generic[K]):
    """What is left of each key's share. A key of which all is left is not remembered."""

    def __init__(self) -> None:
        self._left: dict[K, tuple[float, float]] = {}  # how much, and when

    def ready_at(self, key: K, now: float) -> float:
        """When the next write may be; not later than now when it may be now."""
        return now + max(0.0, 1.0 - self._now(key, now)) / PER_SECOND

    def take(self, key: K, now: float) -> None:
        self._left[key] = self._now(key, now) - 1.0, now

    def forget(self, key: K) -> None:
        self._left.pop(key, None)

    def _now(self, key: K, now: float) -> float:
        left, at = self._left.get(key, (AT_ONCE, now))
        return min(AT_ONCE, left + max(0.0, now - at) * PER_SECOND)
