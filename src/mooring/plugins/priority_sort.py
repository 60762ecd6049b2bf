"""PrioritySort: the pod of the higher priority first, then the one that waits longer."""

from __future__ import annotations

from typing import Protocol

from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Pod


class Queued(Protocol):
    """A pod in the queue."""

    @property
    def pod(self) -> Pod: ...

    @property
    def timestamp(self) -> float:
        """When it joined the queue, in seconds."""

    @property
    def group(self) -> tuple[float, str] | None:
        """Since when it waits together with others, and what they are called."""


class PrioritySort(Plugin):
    name = "PrioritySort"

    def less(self, first: Queued, second: Queued) -> bool:
        """Whether the first is to be tried before the second."""
        return self.sort_key(first) < self.sort_key(second)

    def sort_key(self, queued: Queued) -> tuple[int, float] | tuple[int, float, str]:
        """Pods that wait together are sorted by when they began to, however often they were tried since."""
        priority = -(queued.pod.spec.priority or 0)
        return (priority, queued.timestamp) if queued.group is None else (priority, *queued.group)
