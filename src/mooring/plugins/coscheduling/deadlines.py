"""Moments at which something is to be looked at, without anybody telling."""

from __future__ import annotations

import heapq

Key = tuple[str, str]  # of what, and what is to be looked at


class Deadlines:
    """Keys with a moment each. Setting a key again moves its moment."""

    def __init__(self) -> None:
        self._moments: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []

    def set(self, key: Key, moment: float) -> None:
        if self._moments.get(key) != moment:
            self._moments[key] = moment
            heapq.heappush(self._heap, (moment, key))

    def clear(self, key: Key) -> None:
        self._moments.pop(key, None)

    @property
    def next(self) -> float | None:
        """The next moment; None when there is none."""
        while self._heap and self._moments.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> list[Key]:
        """Keys whose moment has come, each once."""
        keys = []
        while (moment := self.next) is not None and moment <= now:
            key = heapq.heappop(self._heap)[1]
            del self._moments[key]
            keys.append(key)
        return keys
