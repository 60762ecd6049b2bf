"""How long all plugins of a point take: methods of the parts of an engine, timed from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.cluster.columns import Bools
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle
from mooring.engine.outcomes import Unfit
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import FullEvaluation
from mooring.framework.api.status import Code, Status
from mooring.framework.metrics.families import FULL_EVALUATIONS, POINT_SECONDS
from mooring.framework.metrics.meter import Lazy, Meter, Samples
from mooring.framework.running.watching import CODE_NAMES, ERROR, SUCCESS, code_name


class PointTimer:
    """Puts watches on methods. Their first argument has the profile."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._known = Lazy[tuple[str, str, str], Samples](lambda key: meter.samples(POINT_SECONDS, *key))

    def put_on(
        self, part: object, name: str, point: str, status: Callable[[Any], str], needs: str = ""
    ) -> None:
        """Has a method timed from now on; `status` is what its answer comes to, unless it raises. Where it
        `needs` plugins of a point, it is not timed without any."""
        clock, known, method = self._meter.clock, self._known, getattr(part, name)

        def timed(about: Any, *more: Any) -> Any:
            if needs and not about.profile.at(needs):
                return method(about, *more)
            start, said = clock(), ERROR
            try:
                answer = method(about, *more)
                said = status(answer)
                return answer
            finally:
                known[point, said, about.profile.name].observe(clock() - start)

        setattr(part, name, timed)

    def put_on_cycle(self, cycle: SchedulingCycle) -> None:
        self.put_on(cycle.search, "_pre_filter", "PreFilter", lambda before: code_name(before.rejection))
        self.put_on(cycle.places, "_reserve", "Reserve", code_name)
        self.put_on(cycle.places, "_permit", "Permit", _permitted)
        self.put_on(cycle.places, "unreserve", "Unreserve", _went_well, needs="unreserve")
        self.put_on(cycle.failures, "way_out", "PostFilter", _way_out, needs="post_filter")

    def put_on_evaluation(self, full: FullEvaluation) -> None:
        self.put_on(full, "feasible", "Filter", _found)
        self.put_on(full, "first", "Filter", lambda found: _found(found[0]))
        self._count(full, "feasible")
        self._count(full, "first")
        self.put_on(full, "pre_score", "PreScore", _went_well)
        self.put_on(full, "totals", "Score", _went_well)

    def _count(self, full: FullEvaluation, name: str) -> None:
        method = getattr(full, name)

        def counted(pod_class: PodClass, *more: Any) -> Any:
            self._meter.count(FULL_EVALUATIONS, pod_class.profile.name).value += 1
            return method(pod_class, *more)

        setattr(full, name, counted)


def _went_well(answer: object) -> str:
    return SUCCESS


def _found(ok: Bools) -> str:
    return SUCCESS if ok.any() else CODE_NAMES[Code.UNSCHEDULABLE]


def _permitted(waits: dict[str, float] | Status) -> str:
    if isinstance(waits, Status):
        return code_name(waits)
    return CODE_NAMES[Code.WAIT] if waits else SUCCESS


def _way_out(end: object) -> str:
    return CODE_NAMES[Code.UNSCHEDULABLE] if isinstance(end, Unfit) and not end.nominated else SUCCESS
