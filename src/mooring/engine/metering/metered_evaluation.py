"""Choosing nodes, measured: which evaluations are full, and how long filters and scores take in those."""

from __future__ import annotations

import random

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools, Rows
from mooring.cluster.nodes import Ints
from mooring.cluster.view import ClusterView
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import FullEvaluation
from mooring.engine.placement.nominator import Nominator
from mooring.engine.placement.placing import Placer
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.session import Session
from mooring.framework.api.status import Code
from mooring.framework.metrics.families import FULL_EVALUATIONS, POINT_SECONDS
from mooring.framework.metrics.meter import Lazy, Meter, Samples
from mooring.framework.running.watching import CODE_NAMES, ERROR, SUCCESS
from mooring.model.objects import Pod


class PointTimer:
    """Observes how long all plugins of a point took."""

    def __init__(self, meter: Meter) -> None:
        self.clock = meter.clock
        self._known = Lazy[tuple[str, str, str], Samples](lambda key: meter.samples(POINT_SECONDS, *key))

    def observe(self, label: str, status: str, profile: str, start: float) -> None:
        self._known[label, status, profile].observe(self.clock() - start)


class MeteredEvaluation(FullEvaluation):
    """Filters and scores over all nodes, timed."""

    def __init__(self, meter: Meter, cluster: Cluster, view: ClusterView) -> None:
        super().__init__(cluster, view)
        self._meter = meter
        self._timer = PointTimer(meter)

    def feasible(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, candidates: Bools, session: Session | None = None
    ) -> Bools:
        with self._filtering(cycle) as point:
            ok = super().feasible(pod_class, cycle, pod, candidates, session)
            point.found(ok)
            return ok

    def first(
        self,
        pod_class: PodClass,
        cycle: Cycle,
        pod: Pod,
        order: Rows,
        wanted: int,
        session: Session | None = None,
    ) -> tuple[Bools, int]:
        with self._filtering(cycle) as point:
            ok, looked_at = super().first(pod_class, cycle, pod, order, wanted, session)
            point.found(ok)
            return ok, looked_at

    def pre_score(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools | None) -> None:
        start, status = self._timer.clock(), ERROR
        try:
            super().pre_score(pod_class, cycle, pod, ok)
            status = SUCCESS
        finally:
            self._timer.observe("PreScore", status, cycle.profile, start)

    def totals(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools, session: Session | None = None
    ) -> Ints:
        start, status = self._timer.clock(), ERROR
        try:
            totals = super().totals(pod_class, cycle, pod, ok, session)
            status = SUCCESS
            return totals
        finally:
            self._timer.observe("Score", status, cycle.profile, start)

    def _filtering(self, cycle: Cycle) -> Filtering:
        self._meter.count(FULL_EVALUATIONS, cycle.profile).value += 1
        return Filtering(self._timer, cycle.profile)


class Filtering:
    """Times a search: an error unless it is said what was found."""

    def __init__(self, timer: PointTimer, profile: str) -> None:
        self._timer, self._profile, self._status = timer, profile, ERROR

    def found(self, ok: Bools) -> None:
        self._status = SUCCESS if ok.any() else CODE_NAMES[Code.UNSCHEDULABLE]

    def __enter__(self) -> Filtering:
        self._start = self._timer.clock()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.observe("Filter", self._status, self._profile, self._start)


def metered_placer(
    meter: Meter, cluster: Cluster, view: ClusterView, nominator: Nominator, rng: random.Random
) -> Placer:
    return Placer(cluster, view, nominator, rng, MeteredEvaluation(meter, cluster, view))
