"""A heap of waiting pods with cheap removal: entries that no longer count are skipped when met."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from mooring.engine.queued import QueuedPod


class Heap:
    """Smallest key first; of equal keys, the one pushed first."""

    # Of all heaps together: a ticket a pod brings from one heap must mean nothing to another.
    _next = count(1).__next__

    def __init__(self, key: Callable[[QueuedPod], Any]) -> None:
        self._key = key
        self._entries: list[tuple[Any, int, QueuedPod]] = []
        self._tickets: set[int] = set()

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, queued: QueuedPod) -> bool:
        return queued.ticket in self._tickets

    def push(self, queued: QueuedPod) -> None:
        """Adds a pod, or moves it to where its key now belongs."""
        key = self._key(queued)
        self._tickets.discard(queued.ticket)
        queued.ticket = ticket = self._next()
        self._tickets.add(ticket)
        heappush(self._entries, (key, ticket, queued))

    def pop(self) -> QueuedPod | None:
        while self._entries:
            _, ticket, queued = heappop(self._entries)
            if ticket in self._tickets:
                self._tickets.remove(ticket)
                return queued
        return None

    def peek(self) -> QueuedPod | None:
        while self._entries and self._entries[0][1] not in self._tickets:
            heappop(self._entries)
        return self._entries[0][2] if self._entries else None

    def discard(self, queued: QueuedPod) -> None:
        self._tickets.discard(queued.ticket)
        if len(self._entries) > 2 * len(self._tickets) + 64:
            self._entries = [entry for entry in self._entries if entry[1] in self._tickets]
            heapify(self._entries)
