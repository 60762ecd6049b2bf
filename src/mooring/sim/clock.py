"""Simulated time: a number that jumps from one planned action to the next.

Actions planned for the same moment run in the order they were planned, so a run repeats exactly.
A moment is seconds since the Unix epoch, as in object timestamps: an object's `creationTimestamp`
and the `now` a scheduler is given name the same moment.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from mooring.workloads.written_values import timestamp

Action = Callable[[], None]


class Clock:
    """The present moment and everything planned after it."""

    def __init__(self, start: float = 0.0) -> None:
        self.start = start
        self.now = start
        self._planned: list[tuple[float, int, Action]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._planned)

    @property
    def elapsed(self) -> float:
        """Seconds since the simulation began."""
        return seconds_between(self.start, self.now)

    @property
    def next_time(self) -> float | None:
        """The moment of the next planned action; None when nothing is planned."""
        return self._planned[0][0] if self._planned else None

    def at(self, time: float, action: Action) -> None:
        """Plans an action. A moment that has passed means now."""
        heapq.heappush(self._planned, (max(time, self.now), next(self._order), action))

    def after(self, seconds: float, action: Action) -> None:
        """Plans an action for `seconds` from now."""
        self.at(self.now + seconds, action)

    def pop(self) -> Action:
        """Moves on to the next planned action and hands it over; the caller runs it."""
        time, _, action = heapq.heappop(self._planned)
        self.now = time
        return action

    def advance(self, time: float) -> None:
        """Moves on to a moment at which nothing is planned. Time never runs backwards."""
        self.now = max(self.now, time)

    def timestamp(self) -> str:
        """Now, the way the API server writes it."""
        return timestamp(int(self.now))


def seconds_between(start: float, end: float) -> float:
    """The time between two moments, to the microsecond: a float holds no more of a calendar date."""
    return round(end - start, 6)
