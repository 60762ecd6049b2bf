"""What the engine has to reach, row by row, and whether it does.

Targets are those of the reference machine; each is scaled by how fast this machine is. Every row takes the
best of several windows, so that a moment in which the machine was busy elsewhere does not count. Rates are
pods a second of processor time: the engine waits for nothing, so on a quiet machine that is wall-clock time.

A new row is one `Bar` in `BARS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from mooring.bench.runner import Measured

TOLERANCE = 0.30  # a row may miss its bar by so much
PER_S, MS, TIMES, CPU_S, MB = "pods/s", "ms", "x", "s of CPU", "MB"


class Run(msgspec.Struct, frozen=True):
    """One case in one size."""

    case: str
    nodes: int = 5000
    pods: int = 10_000
    windows: int = 10


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One row: a rate to reach; a p99 in ms, or a growth of the cost from `small` to `run`, not to pass."""

    name: str
    target: float
    run: Run
    unit: str = PER_S
    small: Run | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        return (self.run,) if self.small is None else (self.small, self.run)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """How a row came out. `ratio` is measured to bar."""

    name: str
    nodes: int
    unit: str
    target: float
    bar: float
    measured: float
    ratio: float
    short: bool  # the bar is not reached
    missed: bool  # by more than is tolerated


Measure = Callable[[Run], Measured]


def _rate(case: str, target: float, pods: int = 10_000, windows: int = 10) -> Bar:
    return Bar(name=case, target=target, run=Run(case, pods=pods, windows=windows))


BASIC = Run("SchedulingBasic", pods=20_000)

BARS: Final = (
    Bar(name="SchedulingBasic", target=25_000, run=BASIC),
    _rate("DefaultTopologySpreading", 10_000),
    _rate("HardSpread", 12_000, 8000, 8),
    _rate("RequiredAntiAffinity", 12_000, 4800, 8),
    _rate("Everything", 6000, 4800, 8),
    _rate("ManyClasses", 5000, 5000, 5),  # in a window, every class has its turn
    _rate("ManyClassesConstrained", 3500, 4000, 4),
    _rate("FullEvaluation", 1500, 2000, 5),
    _rate("FullEvaluationAdaptive", 1500, 2000, 5),
    _rate("Unschedulable", 5000),
    _rate("PreemptionCold", 200, 200, 1),
    _rate("PreemptionKinds", 200, 200, 4),
    _rate("PreemptionBurst", 2000, 2000, 8),
    _rate("Gang", 5000, 5000, 5),
    _rate("GangGather", 10_000, 5000, 5),  # a thousand within 100 ms
    Bar(
        name="50,000 nodes against 5,000",
        unit=TIMES,
        target=1.25,
        small=Run(
            "SchedulingBasic", pods=20_000, windows=20
        ),  # measured right before, not with the first row
        run=Run("SchedulingBasic", nodes=50_000, pods=20_000, windows=20),
    ),
    Bar(name="p99 of a cycle, hot class", unit=MS, target=2.0, run=BASIC),
)


class Judge:
    """Measures what the bars ask for, no run more often than needed."""

    def __init__(self, speed: float, measure: Measure) -> None:
        self._speed = speed
        self._measure = measure
        self._known: dict[Run, Measured] = {}

    def row(self, bar: Bar) -> Row:
        """How this bar comes out. One that is not reached gets a second chance: the best window counts."""
        for run in bar.runs:
            if run not in self._known:
                self._known[run] = self._measure(run)
        row = self._judged(bar)
        if row.short:
            for run in bar.runs:
                self._known[run] = better(self._known[run], self._measure(run))
            row = self._judged(bar)
        return row

    def _judged(self, bar: Bar) -> Row:
        return judged(bar.name, bar.run.nodes, bar.unit, bar.target, self._figure(bar), self._speed)

    def _figure(self, bar: Bar) -> float:
        measured = self._known[bar.run]
        if bar.unit == MS:
            return (measured.best_p99_us or 0.0) / 1000
        rate = measured.best_per_cpu_s or 0.0
        if bar.small is None:
            return rate
        return (self._known[bar.small].best_per_cpu_s or 0.0) / rate if rate else float("inf")


def judged(name: str, nodes: int, unit: str, target: float, measured: float, speed: float) -> Row:
    """A figure against its target, for a machine of that speed: a faster one does more in a second, and the
    same in less time; growth and memory are alike everywhere."""
    scaled = target * {PER_S: speed, MS: 1 / speed, CPU_S: 1 / speed, TIMES: 1.0, MB: 1.0}[unit]
    missed_by = 1 - measured / scaled if unit == PER_S else measured / scaled - 1
    return Row(
        name=name,
        nodes=nodes,
        unit=unit,
        target=target,
        bar=round(scaled, 3),
        measured=round(measured, 3),
        ratio=round(measured / scaled, 3),
        short=missed_by > 0,
        missed=missed_by > TOLERANCE,
    )


def better(one: Measured, other: Measured) -> Measured:
    """The best windows of two runs of one case."""
    rates = (one.best_per_cpu_s or 0.0, other.best_per_cpu_s or 0.0)
    cycles = (one.best_p99_us or 0.0, other.best_p99_us or 0.0)
    return msgspec.structs.replace(one, best_per_cpu_s=max(rates), best_p99_us=min(cycles))
