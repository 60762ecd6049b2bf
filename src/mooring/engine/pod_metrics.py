"""What is measured of pods that have found a place: how long it took them, and whom it cost theirs."""

from __future__ import annotations

from collections.abc import Callable

from mooring.engine.permit_waiting import PermitWait, Reserved
from mooring.framework.api.status import Status
from mooring.framework.metrics.families import (
    AFTER_FLUSH,
    ATTEMPT_SECONDS,
    PERMIT_WAIT_SECONDS,
    POD_ATTEMPTS,
    POD_SLI_SECONDS,
    PREEMPTION_VICTIMS,
)
from mooring.framework.metrics.meter import Lazy, Meter
from mooring.framework.running.watching import code_name

SCHEDULED = "scheduled"
MOST_ATTEMPTS = 15  # more are shown as "15+"
Observe = Callable[[float], None]


def attempts_label(attempts: int) -> str:
    return str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"


class PodMetrics:
    """Observes what becomes of pods that have found a place."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._clock = meter.clock
        self._seconds = Lazy[str, Observe](
            lambda profile: meter.samples(ATTEMPT_SECONDS, SCHEDULED, profile).observe
        )
        self._sli = Lazy[int, Observe](self._after)

    def scheduled(self, reserved: Reserved, now: float) -> None:
        """The pod is bound. `now` is the engine's time, which its first attempt was noted by."""
        queued = reserved.queued
        self._seconds[reserved.profile.name](self._clock() - queued.started)
        first = queued.initial_attempt
        self._sli[queued.attempts](0.0 if first is None else now - first)
        if queued.flushed_at is not None:
            self._meter.count(AFTER_FLUSH).value += 1

    def _after(self, attempts: int) -> Observe:
        """Takes in how long it took pods that needed so many attempts."""
        observe = self._meter.samples(POD_SLI_SECONDS, attempts_label(attempts)).observe
        if attempts < MOST_ATTEMPTS:
            return observe  # the label tells how many there were

        def observe_both(seconds: float) -> None:
            observe(seconds)
            self._meter.samples(POD_ATTEMPTS).observe(attempts)

        return observe_both

    def waited(self, wait: PermitWait, status: Status | None, now: float) -> None:
        """A pod no longer waits at permit."""
        samples = self._meter.samples(PERMIT_WAIT_SECONDS, code_name(status))
        samples.observe(now - wait.reserved.cycle.now)

    def evicted(self, victims: int) -> None:
        """So many pods make room for one."""
        self._meter.samples(PREEMPTION_VICTIMS).observe(victims)
