"""The order of the queue, as the profile's queue-sort plugin says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from mooring.engine.queued import QueuedPod
from mooring.framework import answers
from mooring.framework.plugin import Plugin


def sort_key_of(plugin: Plugin) -> Callable[[QueuedPod], Any]:
    """A key for heaps: the plugin's own, or one made from its `less`."""
    own: Callable[[QueuedPod], Any] | None = getattr(plugin, "sort_key", None)
    if own is None:
        return cmp_to_key(lambda first, second: _compare(plugin, first, second))

    def key(queued: QueuedPod) -> tuple[int, Any]:
        """Pods the plugin has no key for come last."""
        try:
            return 0, own(queued)
        except Exception as error:
            answers.raised(plugin.name, "sort_key", error)
            return 1, 0

    return key


def _compare(plugin: Plugin, first: QueuedPod, second: QueuedPod) -> int:
    """Pods the plugin fails to compare count as equal: it must not break the heap they are in."""
    less: Callable[[QueuedPod, QueuedPod], bool] = plugin.less  # type: ignore[attr-defined]
    try:
        return -1 if less(first, second) else int(bool(less(second, first)))
    except Exception as error:
        answers.raised(plugin.name, "less", error)
        return 0
