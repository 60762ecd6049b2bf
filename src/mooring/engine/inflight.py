"""Pods being decided, and the events that came meanwhile.

A pod that fails must learn of everything that happened since it was taken from the queue: what it
waited for may have come just then.
"""

from __future__ import annotations

from mooring.engine.queued import QueuedPod, Where
from mooring.framework.events import ClusterEvent


class InFlight:
    """Pods in flight, each with its position in the list of events."""

    def __init__(self) -> None:
        self.pods: dict[str, QueuedPod] = {}
        self._since: dict[str, int] = {}
        self._events: list[ClusterEvent] = []
        self._base = 0

    def add(self, queued: QueuedPod) -> None:
        uid = queued.pod.metadata.uid
        queued.where = Where.IN_FLIGHT
        self.pods[uid] = queued
        self._since[uid] = self._base + len(self._events)

    @property
    def events(self) -> tuple[ClusterEvent, ...]:
        """All that are kept for pods in flight."""
        return tuple(self._events)

    def record(self, event: ClusterEvent) -> None:
        if self.pods:
            self._events.append(event)

    def events_for(self, uid: str) -> list[ClusterEvent]:
        """What happened since the pod was taken from the queue."""
        since = self._since.get(uid)
        return [] if since is None else self._events[since - self._base :]

    def done(self, uid: str) -> None:
        """The pod is no longer in flight; events nobody can ask for any more are dropped."""
        if self.pods.pop(uid, None) is None:
            return
        del self._since[uid]
        if not self._events:
            return
        oldest = next(iter(self._since.values()), self._base + len(self._events))
        del self._events[: oldest - self._base]
        self._base = oldest
