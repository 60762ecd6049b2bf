"""Pods being decided, and the events that came meanwhile.

A pod that fails must learn of everything that happened since it was taken from the queue: what it
waited for may have come just then.
"""

from __future__ import annotations

from mooring.engine.queue.queued_pod import IN_FLIGHT, QueuedPod
from mooring.framework.api.events import ClusterEvent


class InFlight:
    """Pods in flight, each with its position in the list of events."""

    def __init__(self) -> None:
        self.pods: dict[str, QueuedPod] = {}  # the longest in flight first
        self._events: list[ClusterEvent] = []
        self._base = 0

    def begin(self, queued: QueuedPod) -> QueuedPod:
        """An attempt at a pod begins."""
        queued.attempts += 1
        queued.where = IN_FLIGHT
        queued.since = self._base + len(self._events)
        self.pods[queued.pod.metadata.uid] = queued
        return queued

    @property
    def events(self) -> tuple[ClusterEvent, ...]:
        """All that are kept for pods in flight."""
        return tuple(self._events)

    def record(self, event: ClusterEvent) -> None:
        if self.pods:
            self._events.append(event)

    def events_for(self, uid: str) -> list[ClusterEvent]:
        """What happened since the pod was taken from the queue."""
        queued = self.pods.get(uid)
        return [] if queued is None else self._events[queued.since - self._base :]

    def done(self, uid: str) -> None:
        """The pod is no longer in flight; events nobody can ask for any more are dropped."""
        if self.pods.pop(uid, None) is None or not self._events:
            return
        first = next(iter(self.pods.values()), None)
        oldest = self._base + len(self._events) if first is None else first.since
        del self._events[: oldest - self._base]
        self._base = oldest
