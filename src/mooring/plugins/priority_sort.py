"""PrioritySort: the pod of the higher priority first, then the one that waits longer."""

from __future__ import annotations

from mooring.framework.api.plugin import Plugin
from mooring.framework.api.queued import Queued


class PrioritySort(Plugin):
    name = "PrioritySort"

    def less(self, first: Queued, second: Queued) -> bool:
        """Whether the first is to be tried before the second."""
        return self.sort_key(first) < self.sort_key(second)

    def sort_key(self, queued: Queued) -> tuple[int, float] | tuple[int, float, str]:
        """Pods that wait together are sorted by when they began to, however often they were tried since."""
        priority = -(queued.pod.spec.priority or 0)
        return (priority, queued.timestamp) if queued.group is None else (priority, *queued.group)
