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


class Turns:
    """Two heaps that behave as one, but for the turns that are owed."""

    def __init__(self, key: Callable[[QueuedPod], Any], failed: Failed) -> None:
        self._first_come = Heap(key, failed)
        self._again = Heap(key, failed)  # groups that failed before
        self._owed = -FREE

    def __len__(self) -> int:
        return len(self._first_come) + len(self._again)

    def __contains__(self, queued: QueuedPod) -> bool:
        return queued in self._first_come or queued in self._again

    def push(self, queued: QueuedPod) -> None:
        if queued.group is None or not queued.backoff_count:
            if self._again.tickets:
                self._again.discard(queued)
            self._first_come.push(queued)
        else:
            self._first_come.discard(queued)
            self._again.push(queued)

    def pop(self) -> QueuedPod | None:
        if not self._again.tickets:
            if (queued := self._first_come.pop()) is None:
                self._owed = -FREE  # everybody had a turn
            return queued
        again, other = self._again.peek(), self._first_come.peek()
        if again is None or other is None:
            self._owed = -FREE  # to nobody
            return self._first_come.pop() or self._again.pop()
        if self._first_come.comes_before(self._again):
            return self._first_come.pop()
        if self._owed > 0 and other.pod.priority >= again.pod.priority:
            self._owed -= 1
            return self._first_come.pop()
        return self._again.pop()

    def discard(self, queued: QueuedPod) -> None:
        self._first_come.discard(queued)
        self._again.discard(queued)

    def has_failed(self) -> None:
        """A member of a group did not get its place."""
        self._owed += 1
