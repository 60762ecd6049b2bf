"""Rows are judged by the bars of this machine, get a second chance, and share what was measured."""

from __future__ import annotations

import pytest

from mooring.bench.bars import BARS, MS, PER_S, TIMES, Bar, Judge, Run
from mooring.bench.cases import CASES
from mooring.bench.runner import Measured

RUN, LARGE = Run("SchedulingBasic"), Run("SchedulingBasic", nodes=50_000)
RATE = Bar(name="rate", target=1000, run=RUN)
CYCLE = Bar(name="cycle", target=2.0, unit=MS, run=RUN)
GROWTH = Bar(name="growth", target=1.25, unit=TIMES, small=RUN, run=LARGE)


class Meter:
    """Gives the figures it was made with, one after the other; the last one stays."""

    def __init__(self, *figures: tuple[float, float], large: float = 0.0) -> None:
        self.figures = list(figures)
        self.large = large
        self.runs: list[Run] = []

    def __call__(self, run: Run) -> Measured:
        self.runs.append(run)
        rate, p99_us = self.figures.pop(0) if len(self.figures) > 1 else self.figures[0]
        if run == LARGE:
            rate = self.large
        return Measured(
            run.case, run.nodes, run.pods, 0, 0, 0, 0, 0, 0, best_per_cpu_s=rate, best_p99_us=p99_us
        )


@pytest.mark.parametrize(
    ("bar", "speed", "rate", "p99_us", "missed"),
    [
        (RATE, 1.0, 701, 0, False),
        (RATE, 1.0, 699, 0, True),
        (RATE, 0.5, 351, 0, False),  # half as fast: half the bar
        (RATE, 2.0, 1399, 0, True),
        (CYCLE, 1.0, 0, 2599, False),
        (CYCLE, 1.0, 0, 2601, True),
        (CYCLE, 0.5, 0, 5199, False),
        (CYCLE, 2.0, 0, 1301, True),
    ],
)
def test_a_row_may_miss_its_scaled_bar_by_30_percent(
    bar: Bar, speed: float, rate: float, p99_us: float, missed: bool
) -> None:
    assert Judge(speed, Meter((rate, p99_us))).row(bar).missed is missed


@pytest.mark.parametrize(("large", "missed"), [(100, False), (62, False), (61, True)])
def test_growth_is_not_scaled(large: float, missed: bool) -> None:
    row = Judge(0.1, Meter((100, 0), large=large)).row(GROWTH)
    assert (row.bar, row.missed, row.nodes) == (1.25, missed, 50_000)
    assert row.measured == pytest.approx(100 / large, abs=0.001)


def test_a_row_tells_target_bar_measured_and_ratio() -> None:
    row = Judge(0.8, Meter((880, 0))).row(RATE)
    assert (row.name, row.target, row.bar, row.measured, row.ratio) == ("rate", 1000, 800, 880, 1.1)


def test_a_row_that_is_tolerated_gets_a_second_chance_too() -> None:
    row = Judge(1.0, Meter((900, 0), (1100, 0))).row(RATE)
    assert (row.measured, row.short, row.missed) == (1100, False, False)
    row = Judge(1.0, Meter((900, 0), (800, 0))).row(RATE)
    assert (row.measured, row.short, row.missed) == (900, True, False)


def test_a_missed_row_is_measured_once_more_and_the_best_counts() -> None:
    meter = Meter((500, 9000), (900, 1000), (10, 10))
    judge = Judge(1.0, meter)
    assert judge.row(RATE).measured == 900
    assert len(meter.runs) == 2
    assert judge.row(CYCLE).measured == 1.0
    worse = Judge(1.0, Meter((500, 0), (400, 0)))
    assert worse.row(RATE).measured == 500


def test_rows_of_the_same_run_share_it() -> None:
    meter = Meter((1000, 1000), large=1000)
    judge = Judge(1.0, meter)
    for bar in (RATE, CYCLE, GROWTH):
        assert not judge.row(bar).missed
    assert meter.runs == [RUN, LARGE]


def test_every_bar_is_of_a_case_and_has_a_name_of_its_own() -> None:
    assert all(run.case in CASES for bar in BARS for run in bar.runs)
    assert len({bar.name for bar in BARS}) == len(BARS)
    assert {bar.unit for bar in BARS} == {PER_S, MS, TIMES}


def test_the_windows_of_many_classes_hold_every_class_once() -> None:
    for bar in BARS:
        if bar.name.startswith("ManyClasses"):
            assert bar.run.pods // bar.run.windows == 1000
