"""The parts of an engine that has a meter: each does what its plain counterpart does, and measures it.

An engine without a meter is made of the plain parts, so measuring costs it nothing. Points are timed from
outside (`timed_points`). What every pod passes calls its plain counterpart by its class's name, which is
quicker than `super()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.reserved_pods import ReservedPods
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle, Step
from mooring.engine.decisions import UNSCHEDULABLE, Decision, Wait
from mooring.engine.events import (
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
)
from mooring.engine.gangs.gang_cycle import GroupCycle
from mooring.engine.intake.ingest import Ingest, Taker
from mooring.engine.metering.metered_gangs import MeteredGroupCycle
from mooring.engine.metering.metered_queue import MeteredHints, MeteredQueue
from mooring.engine.metering.timed_points import PointTimer
from mooring.engine.outcomes import Failed, NoNodes, Unfit
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import Reserved
from mooring.engine.placement.placing import Choice, Placer
from mooring.engine.queue.hints import Hints
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.queue.scheduling_queue import SchedulingQueue
from mooring.framework.api.events import ASSIGNED_POD, NODE, UNSCHEDULABLE_POD
from mooring.framework.metrics.families import ALGORITHM_SECONDS, ATTEMPT_SECONDS, EVENT_SECONDS
from mooring.framework.metrics.meter import Lazy, Meter

UNSCHEDULABLE_RESULT, ERROR_RESULT = "unschedulable", "error"
ACTIONS = {
    PodAdded: "Add",
    PodChanged: "Update",
    PodDeleted: "Delete",
    NodeAdded: "Add",
    NodeChanged: "Update",
    NodeDeleted: "Delete",
    ObjectAdded: "Add",
    ObjectChanged: "Update",
    ObjectDeleted: "Delete",
}
Observe = Callable[[float], None]


class MeteredCycle(SchedulingCycle):
    """Times attempts, and the points at which plugins are asked about one node or about none."""

    def __init__(self, meter: Meter, parts: Parts) -> None:
        super().__init__(parts)
        PointTimer(meter).put_on_cycle(self)
        self._meter = meter
        self._clock = meter.clock
        self._algorithm = meter.samples(ALGORITHM_SECONDS).observe
        self._choosing: QueuedPod | None = None  # for whom a node is looked for
        self._unsampled = meter.gap()  # cycles until the next in which single plugins are timed
        self._hold, self._fail = self.places.hold, self.failures.fail
        self.places.hold, self.failures.fail = self._held, self._failed  # type: ignore[method-assign]

    def begin(self, queued: QueuedPod) -> None:
        self._unsampled = left = self._unsampled - 1
        if left <= 0:
            self._sample(left)
        self._choosing = queued
        queued.started = self._clock()

    def run(self, queued: QueuedPod, step: Step | None = None) -> list[Decision]:
        if step is None:
            self.begin(queued)
        else:
            self._choosing = queued
        return SchedulingCycle.run(self, queued, step)

    def _sample(self, left: int) -> None:
        """The cycle that begins is timed in detail; the one after it no longer."""
        self._meter.sampled = sampled = left == 0
        for profile in self.parts.hooks.profiles.values():
            profile.sample(on=sampled)
        if left < 0:
            self._unsampled = self._meter.gap()

    def _held(self, attempt: Attempt, choice: Choice, statement: Statement) -> Reserved | Unfit:
        self._chosen(attempt.queued)
        return self._hold(attempt, choice, statement)

    def _failed(self, queued: QueuedPod, end: Unfit | NoNodes | Failed) -> Wait:
        wait = self._fail(queued, end)
        seconds = self._chosen(queued)
        result = UNSCHEDULABLE_RESULT if wait.reason == UNSCHEDULABLE else ERROR_RESULT
        self._meter.samples(ATTEMPT_SECONDS, result, queued.pod.spec.scheduler_name).observe(seconds)
        return wait

    def _chosen(self, queued: QueuedPod) -> float:
        """The search for a node is over, if it was not before. Returns how long the attempt takes so far."""
        seconds = self._clock() - queued.started
        if self._choosing is queued:
            self._algorithm(seconds)
            self._choosing = None
        return seconds


def metered_ingest(meter: Meter, *parts: Any) -> Ingest:
    """Times the taking in of what the API server says."""
    ingest = Ingest(*parts)
    for kind, action in ACTIONS.items():
        ingest.takers[kind] = _timed(meter, kind, action, ingest.takers[kind])
    return ingest


def _timed(meter: Meter, kind: type[Any], action: str, taker: Taker) -> Taker:
    clock = meter.clock
    seconds = Lazy[str, Observe](lambda about: meter.samples(EVENT_SECONDS, about + action).observe)
    assigned, unassigned = seconds[ASSIGNED_POD], seconds[UNSCHEDULABLE_POD]

    def take_pod(event: Any, now: float) -> None:
        start = clock()
        taker(event, now)
        (assigned if event.pod.spec.node_name else unassigned)(clock() - start)

    def take_other(event: Any, now: float) -> None:
        start = clock()
        taker(event, now)
        seconds[event.object.kind if hasattr(event, "object") else NODE](clock() - start)

    return take_pod if kind in (PodAdded, PodChanged, PodDeleted) else take_other


def metered_placer(meter: Meter, *parts: Any) -> Placer:
    placer = Placer(*parts)
    PointTimer(meter).put_on_evaluation(placer.full)
    return placer


class Makers(NamedTuple):
    """How an engine makes its parts."""

    placer: Callable[..., Placer] = Placer
    hints: Callable[..., Hints] = Hints
    queue: Callable[..., SchedulingQueue] = SchedulingQueue
    cycle: Callable[[Parts], SchedulingCycle] = SchedulingCycle
    ingest: Callable[[Parts, ReservedPods], Ingest] = Ingest
    groups: Callable[[SchedulingCycle], GroupCycle] = GroupCycle


def makers_for(meter: Meter | None) -> Makers:
    if meter is None:
        return Makers()
    made: Iterable[Any] = (
        metered_placer,
        MeteredHints,
        MeteredQueue,
        MeteredCycle,
        metered_ingest,
        MeteredGroupCycle,
    )
    return Makers(*(partial(each, meter) for each in made))
