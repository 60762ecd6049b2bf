"""Whose turn it is among the pods that are ready.

A group that failed before is tried again whenever something happens that may help it, and comes first where
it is older. Trying a large one costs as much as many pods: a few hopeless ones would leave no time for
anybody else. So for each of their members that failed, beyond a few, one turn is owed to others of the same
or a higher priority who are ready, until a moment comes when none is. Where no other is ready groups go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.engine.queue.heap import Failed, Heap
from mooring.engine.queue.queued_pod import QueuedPod

FREE = 64  # members that may fail at no cost: small groups hold nobody up


class Turns(Heap):
    """Two heaps that behave as one, but for the turns that are owed. This one has the pods that are tried for
    the first time, and those in no group."""

    def __init__(self, key: Callable[[QueuedPod], Any], failed: Failed) -> None:
        super().__init__(key, failed)
        self.again = Heap(key, failed)  # groups that failed before
        self._owed = -FREE

    def __len__(self) -> int:
        return len(self.tickets) + len(self.again)

    def __contains__(self, queued: QueuedPod) -> bool:
        return queued.ticket in self.tickets or queued in self.again

    def enter(self, queued: QueuedPod) -> None:
        """Adds a pod, or moves it to where it now belongs."""
        self.discard(queued)
        (self.again if queued.group is not None and queued.backoff_count else self).push(queued)

    def next(self) -> QueuedPod | None:
        """Takes out whose turn it is. Where `again` is empty, `pop` does as well."""
        again, other = self.again.peek(), self.peek()
        if again is None or other is None:
            self.rest()
            return self.pop() or self.again.pop()
        if self.comes_before(self.again):
            return self.pop()
        if self._owed > 0 and other.pod.priority >= again.pod.priority:
            self._owed -= 1
            return self.pop()
        return self.again.pop()

    def discard(self, queued: QueuedPod) -> None:
        super().discard(queued)
        self.again.discard(queued)

    def rest(self) -> None:
        """Nobody waits for a turn: none is owed."""
        self._owed = -FREE

    def has_failed(self) -> None:
        """A member of a group did not get its place."""
        self._owed += 1
