"""The parts of an engine that has a meter: each does what its plain counterpart does, and measures it.

An engine without a meter is made of the plain parts, so measuring costs it nothing. What every pod
passes calls its plain counterpart by its class's name, which is quicker than `super()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.failures import Failures
from mooring.engine.cycle.node_search import NodeSearch
from mooring.engine.cycle.places import Places
from mooring.engine.cycle.pre_filtering import PreFilter, PreFiltered, pre_filter
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
from mooring.engine.metering.metered_evaluation import PointTimer, metered_placer
from mooring.engine.metering.metered_gangs import MeteredGroupCycle
from mooring.engine.metering.metered_queue import MeteredHints, MeteredQueue
from mooring.engine.outcomes import Failed, NoNodes, Progress, Unfit
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import Reserved
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.fit_error import FitError
from mooring.engine.placement.placing import Choice, Placer
from mooring.engine.queue.hints import Hints
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.queue.scheduling_queue import SchedulingQueue
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import ASSIGNED_POD, NODE, UNSCHEDULABLE_POD
from mooring.framework.api.status import Code, Status
from mooring.framework.metrics.families import ALGORITHM_SECONDS, ATTEMPT_SECONDS, EVENT_SECONDS
from mooring.framework.metrics.meter import Lazy, Meter
from mooring.framework.running.watching import CODE_NAMES, ERROR, SUCCESS, code_name
from mooring.model.objects import Pod

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


class AttemptTimer:
    """When attempts begin, and for whom a node is looked for."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.clock = meter.clock
        self.points = PointTimer(meter)
        self.choosing: QueuedPod | None = None
        self._algorithm = meter.samples(ALGORITHM_SECONDS).observe

    def chosen(self, queued: QueuedPod) -> float:
        """The search for a node is over, if it was not before. Returns how long the attempt takes so far."""
        seconds = self.clock() - queued.started
        if self.choosing is queued:
            self._algorithm(seconds)
            self.choosing = None
        return seconds


class MeteredCycle(SchedulingCycle):
    """Times attempts, and the points at which plugins are asked about one node or about none."""

    def __init__(self, meter: Meter, parts: Parts) -> None:
        self._timer = timer = AttemptTimer(meter)
        failures = MeteredFailures(timer, parts)
        search = NodeSearch(parts, failures, timed_pre_filter(timer.points))
        super().__init__(parts, failures, MeteredPlaces(timer, parts), search)
        self._meter = meter
        self._clock = meter.clock
        self._unsampled = meter.gap()  # cycles until the next in which single plugins are timed

    def begin(self, queued: QueuedPod) -> None:
        self._unsampled = left = self._unsampled - 1
        if left <= 0:
            self._sample(left)
        self._timer.choosing = queued
        queued.started = self._clock()

    def run(self, queued: QueuedPod, step: Step | None = None) -> list[Decision]:
        if step is None:
            self.begin(queued)
        else:
            self._timer.choosing = queued
        return SchedulingCycle.run(self, queued, step)

    def _sample(self, left: int) -> None:
        """The cycle that begins is timed in detail; the one after it no longer."""
        self._meter.sampled = sampled = left == 0
        for profile in self.parts.hooks.profiles.values():
            profile.sample(on=sampled)
        if left < 0:
            self._unsampled = self._meter.gap()


class MeteredPlaces(Places):
    """Times the points at which places are reserved, permitted and given back."""

    def __init__(self, timer: AttemptTimer, parts: Parts) -> None:
        super().__init__(parts)
        self._timer = timer

    def hold(self, attempt: Attempt, choice: Choice, statement: Statement) -> Reserved | Unfit:
        self._timer.chosen(attempt.queued)
        return Places.hold(self, attempt, choice, statement)

    def _reserve(self, attempt: Attempt, node_name: str) -> Status | None:
        start, status = self._timer.clock(), ERROR
        try:
            refusal = super()._reserve(attempt, node_name)
            status = code_name(refusal)
            return refusal
        finally:
            self._timer.points.observe("Reserve", status, attempt.profile.name, start)

    def _permit(self, attempt: Attempt, node_name: str) -> dict[str, float] | Status:
        start, status = self._timer.clock(), ERROR
        try:
            waits = super()._permit(attempt, node_name)
            refusal = waits if isinstance(waits, Status) else None
            status = code_name(refusal) if refusal or not waits else CODE_NAMES[Code.WAIT]
            return waits
        finally:
            self._timer.points.observe("Permit", status, attempt.profile.name, start)

    def unreserve(self, reserved: Reserved) -> None:
        if not reserved.profile.at("unreserve"):
            super().unreserve(reserved)
            return
        start = self._timer.clock()
        super().unreserve(reserved)
        self._timer.points.observe("Unreserve", SUCCESS, reserved.profile.name, start)


class MeteredFailures(Failures):
    """Times attempts that fail, and the search for a way out."""

    def __init__(self, timer: AttemptTimer, parts: Parts) -> None:
        super().__init__(parts)
        self._timer = timer

    def way_out(self, attempt: Attempt, why: FitError) -> Unfit | Progress:
        if not attempt.profile.at("post_filter"):
            return super().way_out(attempt, why)
        start, status = self._timer.clock(), ERROR
        try:
            end = super().way_out(attempt, why)
            rejected = isinstance(end, Unfit) and not end.nominated
            status = CODE_NAMES[Code.UNSCHEDULABLE] if rejected else SUCCESS
            return end
        finally:
            self._timer.points.observe("PostFilter", status, attempt.profile.name, start)

    def fail(self, queued: QueuedPod, end: Unfit | NoNodes | Failed) -> Wait:
        wait = super().fail(queued, end)
        seconds = self._timer.chosen(queued)
        result = UNSCHEDULABLE_RESULT if wait.reason == UNSCHEDULABLE else ERROR_RESULT
        samples = self._timer.meter.samples(ATTEMPT_SECONDS, result, queued.pod.spec.scheduler_name)
        samples.observe(seconds)
        return wait


def timed_pre_filter(timer: PointTimer) -> PreFilter:
    def timed(pod_class: PodClass, cycle: Cycle, pod: Pod) -> PreFiltered:
        start, status = timer.clock(), ERROR
        try:
            before = pre_filter(pod_class, cycle, pod)
            status = code_name(before.rejection)
            return before
        finally:
            timer.observe("PreFilter", status, cycle.profile, start)

    return timed


class MeteredIngest(Ingest):
    """Times the taking in of what the API server says."""

    def __init__(self, meter: Meter, parts: Parts, reserved: ReservedPods) -> None:
        super().__init__(parts, reserved)
        for kind, action in ACTIONS.items():
            self.takers[kind] = _timed(meter, kind, action, self.takers[kind])


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
        MeteredIngest,
        MeteredGroupCycle,
    )
    return Makers(*(partial(each, meter) for each in made))
