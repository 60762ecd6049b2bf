"""The order of the queue, as the profile's queue-sort plugin says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api import answers
from mooring.framework.running.inspection import built_in
from mooring.framework.running.profile import Profile


class Shown:
    """A pod in the queue as plugins see it: for reading."""

    __slots__ = ("_queued",)

    def __init__(self, queued: QueuedPod) -> None:
        self._queued = queued

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_queued"), name)


class Order:
    """Keys for heaps: the plugin's own, or made from its `less`. Whatever it does wrong is logged."""

    def __init__(self, profile: Profile) -> None:
        plugin = profile.queue_sort
        self._name = plugin.name
        own: Callable[[Any], Any] | None = getattr(plugin, "sort_key", None)
        self._point = "less" if own is None else "sort_key"
        if own is None:
            less = profile.timed(plugin.name, "less", plugin.less)
            own = cmp_to_key(lambda first, second: self._compare(less, first, second))
        elif not built_in(type(plugin)):  # those read what is there, without a copy for each pod
            sort_key = profile.timed(plugin.name, "sort_key", own)
            own = lambda queued: sort_key(Shown(queued))  # noqa: E731
        self._own = own

    def key(self, queued: QueuedPod) -> tuple[int, Any]:
        """Pods the plugin has no key for come last."""
        try:
            return 0, self._own(queued)
        except BaseException as error:
            self.failed(error)
            return 1, 0

    def failed(self, error: BaseException) -> None:
        """Keys of the plugin cannot be compared."""
        answers.passed_over(self._name, self._point, error)

    def _compare(self, less: Callable[[Shown, Shown], bool], first: QueuedPod, second: QueuedPod) -> int:
        """Pods the plugin fails to compare count as equal: it must not break the heap they are in."""
        try:
            one, other = Shown(first), Shown(second)
            return -1 if less(one, other) else int(bool(less(other, one)))
        except BaseException as error:
            self.failed(error)
            return 0
