"""A heap of waiting pods with cheap removal: entries that no longer count are skipped when met.

Keys come from a policy, so they may turn out not to be comparable. Then it is said once, and from there on
keys that cannot be compared count as equal: the pods stay, in the order they came.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from mooring.engine.queue.queued_pod import QueuedPod
from mooring.errors import wants_the_end

Failed = Callable[[BaseException], object]


class Heap:
    """Smallest key first; of equal keys, the one pushed first."""

    # Of all heaps together: a ticket a pod brings from one heap must mean nothing to another.
    _next = count(1).__next__

    def __init__(self, key: Callable[[QueuedPod], Any], failed: Failed = lambda error: None) -> None:
        self._key = key
        self._failed = failed  # told when keys cannot be compared
        self._guarded = False
        self._entries: list[tuple[Any, int, QueuedPod]] = []
        self.tickets: set[int] = set()  # of the entries that count: never another set

    def __len__(self) -> int:
        return len(self.tickets)

    def __contains__(self, queued: QueuedPod) -> bool:
        return queued.ticket in self.tickets

    def push(self, queued: QueuedPod) -> None:
        """Adds a pod, or moves it to where its key now belongs."""
        key = self._key(queued)
        if self._guarded:
            key = Guarded(key)
        tickets = self.tickets
        if queued.ticket:
            tickets.discard(queued.ticket)
        queued.ticket = ticket = self._next()
        tickets.add(ticket)
        try:
            heappush(self._entries, (key, ticket, queued))
        except BaseException as error:  # the entry is in the list, wherever it got to
            self._guard(error)

    def pop(self) -> QueuedPod | None:
        while self._entries:
            _, ticket, queued = self._first()
            if ticket in self.tickets:
                self.tickets.remove(ticket)
                return queued
        return None

    def peek(self) -> QueuedPod | None:
        while self._entries and self._entries[0][1] not in self.tickets:
            self._first()
        return self._entries[0][2] if self._entries else None

    def comes_before(self, other: Heap) -> bool:
        """Whether the first here is before the first there. Neither is empty."""
        (key, ticket, _), (their_key, their_ticket, _) = self._entries[0], other._entries[0]
        one, another = Guarded(key), Guarded(their_key)
        return one < another or (not another < one and ticket < their_ticket)

    def discard(self, queued: QueuedPod) -> None:
        self.tickets.discard(queued.ticket)
        if len(self._entries) > 2 * len(self.tickets) + 64:
            self._entries = [entry for entry in self._entries if entry[1] in self.tickets]
            try:
                heapify(self._entries)
            except BaseException as error:
                self._guard(error)

    def _first(self) -> tuple[Any, int, QueuedPod]:
        """Takes the first entry out."""
        first = self._entries[0]
        try:
            heappop(self._entries)
        except BaseException as error:  # it is out; the others are in no order
            self._guard(error)
        return first

    def _guard(self, error: BaseException) -> None:
        self._failed(error)
        self._guarded = True
        self._entries = [(Guarded(key), ticket, queued) for key, ticket, queued in self._entries]
        heapify(self._entries)


class Guarded:
    """A key of which nothing is expected: where comparing fails, two keys are equal."""

    __slots__ = ("_key",)

    def __init__(self, key: Any) -> None:
        self._key: Any = key._key if isinstance(key, Guarded) else key

    def __lt__(self, other: Guarded) -> bool:
        try:
            return bool(self._key < other._key)
        except BaseException as error:
            if wants_the_end(error):
                raise
            return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guarded) and not self < other and not other < self

    __hash__ = None  # type: ignore[assignment]
