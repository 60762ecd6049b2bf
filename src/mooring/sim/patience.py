"""How long a run waits for what time alone may bring.

A pod that was tried since the cluster last changed gets the same answer again, unless somebody counts on
time: a permit ends, a plugin that failed may not fail again, a plugin wants to be woken, such as when the
time of a gang is up. Those are waited for; none of them keeps a run going for ever.
"""

from __future__ import annotations

from mooring.engine.permit_waiting import LONGEST_WAIT_S
from mooring.sim.scheduler import Scheduler

STUCK_S = 360.0  # a scheduler looks at forgotten pods after 5 minutes, every 30 seconds
PERMIT_S = LONGEST_WAIT_S + STUCK_S  # pods at permit give up by then, and others have their turn
BACKOFF_S = 60.0  # a pod is tried seven times by then
WAKES, WAKES_PER_POD = 100, 2  # of plugins, and nothing has come of them


class Patience:
    """What may still change something, counted from the last change of the cluster."""

    def __init__(self, engine: Scheduler, start: float) -> None:
        self._engine = engine
        self._wakes = 0
        self.changed_at = start

    def changed(self, now: float) -> None:
        self.changed_at = now
        self._wakes = 0

    def wake_at(self, *, pods: int, all_tried: bool, more_to_come: bool) -> float | None:
        """When the scheduler wants to look again, if that could still change anything."""
        engine = self._engine
        if engine.owes_words:
            return engine.wake_at()
        if engine.waiting or not all_tried:
            patience = PERMIT_S if engine.waiting else STUCK_S
            wake = engine.wake_at()
            if wake is not None and (more_to_come or self._is_within(wake, patience)):
                return wake
        retry = engine.queue.retry_at()
        if retry is not None and not self._is_within(retry, BACKOFF_S):
            retry = None
        plugin = engine.plugins_wake_at() if self._wakes < WAKES + WAKES_PER_POD * pods else None
        return min((moment for moment in (retry, plugin) if moment is not None), default=None)

    def woken(self) -> None:
        self._wakes += 1

    def _is_within(self, moment: float, seconds: float) -> bool:
        return moment - self.changed_at <= seconds
