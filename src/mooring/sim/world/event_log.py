"""Kubernetes Events as the embedded cluster keeps them: repeats counted, old ones forgotten."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

LONGEST_NOTE = 1024
KEPT = 10_000


class Recorded(msgspec.Struct):
    """One Event; a repeat of it counts up and moves `time`."""

    time: float
    type: str
    reason: str
    action: str
    kind: str
    key: str
    message: str
    count: int = 1


class Recorder:
    """The Events of a run, the most recent ones."""

    def __init__(self, kept: int = KEPT) -> None:
        self._events: deque[Recorded] = deque(maxlen=kept)
        self._last: dict[tuple[str, str], Recorded] = {}

    def __iter__(self) -> Iterator[Recorded]:
        return iter(self._events)

    def record(self, event: Recorded) -> None:
        event.message = shortened(event.message)
        last = self._last.get((event.kind, event.key))
        if last is not None and (last.reason, last.message) == (event.reason, event.message):
            last.count += 1
            last.time = event.time
            return
        self._events.append(event)
        self._last[event.kind, event.key] = event


def shortened(note: str) -> str:
    """A note as long as the API takes, the cut marked."""
    return note if len(note) <= LONGEST_NOTE else note[: LONGEST_NOTE - 4] + " ..."
