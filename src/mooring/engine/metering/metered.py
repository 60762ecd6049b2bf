"""The parts of an engine that has a meter: each does what its plain counterpart does, and measures it.

An engine without a meter is made of the plain parts, so measuring costs it nothing. What every pod
passes calls its plain counterpart by its class's name, which is quicker than `super()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.permit_waiting import PermitWait, Reserved
from mooring.engine.cycle.pre_filtering import PreFiltered, pre_filter
from mooring.engine.cycle.scheduling_cycle import Parked, SchedulingCycle, Step, Unfit
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
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.fit_error import FitError
from mooring.engine.placement.placing import Choice, Placer
from mooring.engine.queue.hints import Hints
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.queue.scheduling_queue import SchedulingQueue
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import ASSIGNED_POD, NODE, UNSCHEDULABLE_POD
from mooring.framework.api.status import Code, Status
from mooring.framework.metrics.families import (
    AFTER_FLUSH,
    ALGORITHM_SECONDS,
    ATTEMPT_SECONDS,
    EVENT_SECONDS,
    PERMIT_WAIT_SECONDS,
    POD_ATTEMPTS,
    POD_SLI_SECONDS,
    PREEMPTION_VICTIMS,
)
from mooring.framework.metrics.meter import Lazy, Meter
from mooring.framework.running.watching import CODE_NAMES, ERROR, SUCCESS, code_name
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

SCHEDULED, UNSCHEDULABLE_RESULT, ERROR_RESULT = "scheduled", "unschedulable", "error"
MOST_ATTEMPTS = 15  # more are shown as "15+"
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


def attempts_label(attempts: int) -> str:
    return str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"


class Outcomes:
    """What becomes of pods that have found a place."""

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


class MeteredCycle(SchedulingCycle):
    """Times attempts, and the points at which plugins are asked about one node or about none."""

    def __init__(self, meter: Meter, engine: Engine) -> None:
        super().__init__(engine, self._timed_pre_filter)
        self._meter = meter
        self._clock = meter.clock
        self._timer = PointTimer(meter)
        self._algorithm = meter.samples(ALGORITHM_SECONDS).observe
        self._choosing: QueuedPod | None = None  # for whom a node is looked for
        self._refused_with: Code | None = None
        self._unsampled = meter.gap()  # cycles until the next in which single plugins are timed

    def begin(self, queued: QueuedPod) -> None:
        self._unsampled = left = self._unsampled - 1
        if left <= 0:
            self._sample(left)
        self._choosing = queued
        queued.started = self._clock()

    def run(self, queued: QueuedPod, now: float, step: Step | None = None) -> list[Decision]:
        if step is None:
            self.begin(queued)
        else:
            self._choosing = queued
        return SchedulingCycle.run(self, queued, now, step)

    def _sample(self, left: int) -> None:
        """The cycle that begins is timed in detail; the one after it no longer."""
        self._meter.sampled = sampled = left == 0
        for profile in self._engine.profiles.values():
            profile.sample(on=sampled)
        if left < 0:
            self._unsampled = self._meter.gap()

    def hold(self, attempt: Attempt, choice: Choice, statement: Statement) -> Reserved:
        self._algorithm(self._clock() - attempt.queued.started)
        self._choosing = None
        return SchedulingCycle.hold(self, attempt, choice, statement)

    def fail(
        self,
        queued: QueuedPod,
        now: float,
        message: str,
        why: FitError | None,
        nominated: str | None,
        *,
        reason: str = "",
        blamed: str = "",
    ) -> Wait:
        wait = super().fail(queued, now, message, why, nominated, reason=reason, blamed=blamed)
        seconds = self._meter.clock() - queued.started
        if self._choosing is queued:
            self._algorithm(seconds)
            self._choosing = None
        result = UNSCHEDULABLE_RESULT if wait.reason == UNSCHEDULABLE else ERROR_RESULT
        self._meter.samples(ATTEMPT_SECONDS, result, queued.pod.spec.scheduler_name).observe(seconds)
        return wait

    # points

    def _timed_pre_filter(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> PreFiltered:
        start, status = self._clock(), ERROR
        try:
            before = pre_filter(pod_class, cycle, pod)
            status = code_name(before.rejection)
            return before
        finally:
            self._timer.observe("PreFilter", status, cycle.profile, start)

    def not_placed(self, attempt: Attempt, why: FitError) -> NoReturn:
        if not attempt.profile.at("post_filter"):
            super().not_placed(attempt, why)
        start, status = self._meter.clock(), ERROR
        try:
            super().not_placed(attempt, why)
        except Unfit as unfit:
            status = SUCCESS if unfit.nominated else CODE_NAMES[Code.UNSCHEDULABLE]
            raise
        except Parked:
            status = SUCCESS
            raise
        finally:
            self._timer.observe("PostFilter", status, attempt.profile.name, start)

    def _reserve(self, attempt: Attempt, pod_class: PodClass, node_name: str) -> None:
        with self._refusable("Reserve", attempt):
            super()._reserve(attempt, pod_class, node_name)

    def _permit(self, attempt: Attempt, pod_class: PodClass, node_name: str) -> dict[str, float]:
        with self._refusable("Permit", attempt) as point:
            waits = super()._permit(attempt, pod_class, node_name)
            if waits:
                point.status = CODE_NAMES[Code.WAIT]
            return waits

    def _must_pass(self, status: Status | None, node_name: str) -> None:
        if status is not None:
            self._refused_with = status.code
        super()._must_pass(status, node_name)

    def unreserve(self, reserved: Reserved) -> None:
        if not reserved.profile.at("unreserve"):
            super().unreserve(reserved)
            return
        start = self._meter.clock()
        super().unreserve(reserved)
        self._timer.observe("Unreserve", SUCCESS, reserved.profile.name, start)

    def _refusable(self, label: str, attempt: Attempt) -> Refusable:
        self._refused_with = None
        return Refusable(self._timer, label, attempt.profile.name, lambda: self._refused_with)


class Refusable:
    """Times a point that ends with a refusal when its plugins say so, and with an error when they fail."""

    def __init__(
        self, timer: PointTimer, label: str, profile: str, refused_with: Callable[[], Code | None]
    ) -> None:
        self._timer, self._label, self._profile, self._refused_with = timer, label, profile, refused_with
        self.status = SUCCESS

    def __enter__(self) -> Refusable:
        self._start = self._timer.clock()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            code = self._refused_with() if issubclass(kind, Unfit) else None
            self.status = ERROR if code is None else CODE_NAMES[code]
        self._timer.observe(self._label, self.status, self._profile, self._start)


class MeteredIngest(Ingest):
    """Times the taking in of what the API server says."""

    def __init__(self, meter: Meter, engine: Engine) -> None:
        super().__init__(engine)
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


class Parts(NamedTuple):
    """How an engine makes its parts."""

    placer: Callable[..., Placer] = Placer
    hints: Callable[..., Hints] = Hints
    queue: Callable[..., SchedulingQueue] = SchedulingQueue
    cycle: Callable[[Engine], SchedulingCycle] = SchedulingCycle
    ingest: Callable[[Engine], Ingest] = Ingest
    groups: Callable[[Engine], GroupCycle] = GroupCycle


def parts_for(meter: Meter | None) -> Parts:
    if meter is None:
        return Parts()
    made: Iterable[Any] = (
        metered_placer,
        MeteredHints,
        MeteredQueue,
        MeteredCycle,
        MeteredIngest,
        MeteredGroupCycle,
    )
    return Parts(*(partial(each, meter) for each in made))
