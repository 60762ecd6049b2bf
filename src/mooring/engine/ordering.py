"""The order of the queue, as the profile's queue-sort plugin says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from mooring.engine.queued import QueuedPod
from mooring.framework.plugin import Plugin


def sort_key_of(plugin: Plugin) -> Callable[[QueuedPod], Any]:
    """A key for heaps: the plugin's own, or one made from its `less`."""
    own = getattr(plugin, "sort_key", None)
    if own is not None:
        key: Callable[[QueuedPod], Any] = own
        return key
    less: Callable[[QueuedPod, QueuedPod], bool] = plugin.less
    return cmp_to_key(lambda first, second: -1 if less(first, second) else int(less(second, first)))
