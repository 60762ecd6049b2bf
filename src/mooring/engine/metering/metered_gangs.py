"""The group cycle of an engine that has a meter."""

from __future__ import annotations

from mooring.engine.cycle.scheduling_cycle import SchedulingCycle
from mooring.engine.decisions import SCHEDULER_ERROR, Decision, Evict, Wait
from mooring.engine.gangs.gang_cycle import GroupCycle, Starts, Tried
from mooring.framework.metrics.families import (
    GANG_CYCLE_SECONDS,
    GROUP_ALGORITHM_SECONDS,
    GROUP_ATTEMPT_SECONDS,
    GROUP_ATTEMPTS,
)
from mooring.framework.metrics.meter import Meter

SCHEDULED, WAITING, ERROR, UNSCHEDULABLE = "scheduled", "waiting_on_preemption", "error", "unschedulable"


class MeteredGroupCycle(GroupCycle):
    """Counts and times attempts at groups."""

    def __init__(self, meter: Meter, cycle: SchedulingCycle) -> None:
        super().__init__(cycle)
        self._meter = meter
        self._began = 0.0

    def _decide(self, tried: Tried) -> list[Decision]:
        self._began = self._meter.clock()
        decisions = super()._decide(tried)
        seconds = self._meter.clock() - self._began
        labels = result_of(tried, decisions), tried.attempts[0].profile.name
        self._meter.count(GROUP_ATTEMPTS, *labels).value += 1
        self._meter.samples(GROUP_ATTEMPT_SECONDS, *labels).observe(seconds)
        self._meter.samples(GANG_CYCLE_SECONDS).observe(seconds)
        return decisions

    def _start(self, tried: Tried, starts: Starts) -> list[Decision]:
        self._searched()
        return super()._start(tried, starts)

    def _undo(self, tried: Tried) -> None:
        self._searched()
        super()._undo(tried)

    def _searched(self) -> None:
        """All members have been tried."""
        self._meter.samples(GROUP_ALGORITHM_SECONDS).observe(self._meter.clock() - self._began)


def result_of(tried: Tried, decisions: list[Decision]) -> str:
    waits = [decision for decision in decisions if isinstance(decision, Wait)]
    if len(waits) < len(tried.attempts):
        return SCHEDULED
    if any(isinstance(decision, Evict) for decision in decisions):
        return WAITING
    return ERROR if any(wait.reason == SCHEDULER_ERROR for wait in waits) else UNSCHEDULABLE
