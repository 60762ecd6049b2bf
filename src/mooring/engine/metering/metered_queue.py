"""The scheduling queue, measured: what brings pods into its parts, and how long hints take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from mooring.engine.queue.hints import Hints, Wanting
from mooring.engine.queue.queued_pod import QueuedPod, Where
from mooring.engine.queue.scheduling_queue import SchedulingQueue
from mooring.framework.api.events import ClusterEvent, Hint, HintFunction, Interest
from mooring.framework.metrics.families import HINT_SECONDS, INCOMING_PODS
from mooring.framework.metrics.meter import Count, Lazy, Meter
from mooring.model.objects import Pod

ACTIVE, BACKOFF, UNSCHEDULABLE = "active", "backoff", "unschedulable"
POD_ADD = "UnschedulablePodAdd"
FAILURE, BACKOFF_COMPLETE, ACTIVATE = "ScheduleAttemptFailure", "BackoffComplete", "ForceActivate"
POP_FROM_BACKOFF = "PopFromBackoffQ"
HINT_FAILED = "Error"


class MeteredQueue(SchedulingQueue):
    """Counts pods that enter its parts, by the event at hand."""

    def __init__(self, meter: Meter, *parts: Any) -> None:
        super().__init__(*parts)
        self._event = POD_ADD  # but while something else is at hand
        self._activated = Lazy[str, Count](lambda event: meter.count(INCOMING_PODS, ACTIVE, event))
        self._backed_off = Lazy[str, Count](lambda event: meter.count(INCOMING_PODS, BACKOFF, event))
        self._parked = Lazy[str, Count](lambda event: meter.count(INCOMING_PODS, UNSCHEDULABLE, event))

    def _resting_early(self) -> QueuedPod | None:
        queued = super()._resting_early()
        if queued is not None:
            self._activated[POP_FROM_BACKOFF].value += 1  # its turn comes early, as nothing else is ready
        return queued

    def failed(self, queued: QueuedPod, now: float) -> None:
        with self._at_hand(FAILURE):
            super().failed(queued, now)

    def activate(self, pods: Iterable[Pod], now: float, *, deciding: bool = False) -> None:
        with self._at_hand(ACTIVATE):
            super().activate(pods, now, deciding=deciding)

    def tick(self, now: float) -> None:
        with self._at_hand(BACKOFF_COMPLETE):
            super().tick(now)

    def _wake(self, queued: QueuedPod, event: ClusterEvent, now: float) -> None:
        before, self._event = self._event, event.label
        super()._wake(queued, event, now)
        self._event = before

    def _to_active(self, queued: QueuedPod, now: float) -> None:
        self._activated[self._event].value += 1
        SchedulingQueue._to_active(self, queued, now)

    def _enter_backoff(self, queued: QueuedPod, *, in_time: bool = False) -> None:
        super()._enter_backoff(queued, in_time=in_time)
        if queued.where is not Where.UNSCHEDULABLE:  # where a gate would have put it
            self._backed_off[self._event].value += 1

    def _park(self, queued: QueuedPod) -> None:
        super()._park(queued)
        self._parked[self._event].value += 1

    def _still_held(self, queued: QueuedPod) -> bool:
        held = super()._still_held(queued)
        self._parked[self._event].value += held
        return held

    @contextmanager
    def _at_hand(self, event: str) -> Iterator[None]:
        before, self._event = self._event, event
        try:
            yield
        finally:
            self._event = before


class MeteredHints(Hints):
    """Times every hint that is asked."""

    def __init__(self, meter: Meter, *profiles: Any, **more: Any) -> None:
        super().__init__(*profiles, **more)
        self._meter = meter

    def _met(self, event: ClusterEvent) -> Wanting:
        return {
            profile: {
                plugin: tuple(self._timed(plugin, event.label, interest) for interest in interests)
                for plugin, interests in plugins.items()
            }
            for profile, plugins in super()._met(event).items()
        }

    def _timed(self, plugin: str, label: str, interest: Interest) -> Interest:
        if interest.hint is None:
            return interest
        return msgspec.structs.replace(interest, hint=_timed(self._meter, plugin, label, interest.hint))


def _timed(meter: Meter, plugin: str, label: str, hint: HintFunction) -> HintFunction:
    def ask(pod: Pod, old: Any, new: Any) -> Hint:
        start, said = meter.clock(), HINT_FAILED
        try:
            answer = hint(pod, old, new)
            said = Hint.SKIP.value if answer is Hint.SKIP else Hint.QUEUE.value
            return answer
        finally:
            meter.samples(HINT_SECONDS, plugin, label, said).observe(meter.clock() - start)

    return ask
