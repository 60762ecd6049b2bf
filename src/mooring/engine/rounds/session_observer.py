"""Tells a session's event handlers who takes and gives back places on the nodes that the session sees.

What they hear adds up: the pods on a node when the session opened, and those that took a place since, less
those that gave theirs back or were evicted. A pod that is evicted goes then, and is not told again when it is
gone.
"""

from __future__ import annotations

from mooring.cluster.pods import RELEASING, Placed
from mooring.framework.api.session import HookTable, Task


class SessionObserver:
    """Observes the cluster for one session."""

    def __init__(self, hooks: HookTable) -> None:
        self._hooks = hooks
        self._evicted: set[str] = set()  # uids of pods, as was told

    def taken(self, placed: Placed) -> None:
        uid = placed.pod.metadata.uid
        if uid in self._evicted:
            if placed.hold is RELEASING:
                return  # a trial without it is over, and it goes all the same
            self._evicted.remove(uid)
        self._tell("allocate", placed)

    def given_back(self, placed: Placed) -> None:
        if placed.pod.metadata.uid not in self._evicted:
            self._tell("deallocate", placed)

    def evicted(self, placed: Placed) -> None:
        self._evicted.add(placed.pod.metadata.uid)
        self._tell("deallocate", placed)

    def kept(self, placed: Placed) -> None:
        if placed.pod.metadata.uid in self._evicted:
            self._evicted.remove(placed.pod.metadata.uid)
            self._tell("allocate", placed)

    def _tell(self, kind: str, placed: Placed) -> None:
        if placed.row is not None:
            self._hooks.ask(kind, Task(placed.pod, placed.node))
