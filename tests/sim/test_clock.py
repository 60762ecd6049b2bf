from __future__ import annotations

import pytest

from mooring.sim.clock import Clock
from mooring.workloads.written_values import moment as moment_of


def run(clock: Clock) -> None:
    while len(clock):
        clock.pop()()


def test_actions_run_in_order_of_time_then_of_planning() -> None:
    clock, seen = Clock(), []
    for name, time in (("late", 5.0), ("first", 1.0), ("second", 1.0)):
        clock.at(time, lambda name=name: seen.append((name, clock.now)))
    run(clock)
    assert seen == [("first", 1.0), ("second", 1.0), ("late", 5.0)]


def test_an_action_may_plan_another() -> None:
    clock, seen = Clock(), []
    clock.at(2.0, lambda: clock.after(3.0, lambda: seen.append(clock.now)))
    run(clock)
    assert seen == [5.0]


def test_the_past_means_now() -> None:
    clock = Clock(10.0)
    clock.at(3.0, lambda: None)
    assert clock.next_time == 10.0


def test_time_never_runs_backwards() -> None:
    clock = Clock(10.0)
    clock.advance(4.0)
    assert clock.now == 10.0
    clock.advance(12.5)
    assert clock.elapsed == 2.5


def test_nothing_planned_has_no_next_time() -> None:
    assert Clock().next_time is None


@pytest.mark.parametrize(
    ("moment", "text"),
    [(0.0, "1970-01-01T00:00:00Z"), (61.9, "1970-01-01T00:01:01Z"), (1767225600.0, "2026-01-01T00:00:00Z")],
)
def test_timestamps_are_whole_seconds_of_utc(moment: float, text: str) -> None:
    assert Clock(moment).timestamp() == text
    assert moment_of(text) == float(int(moment))


def test_what_is_no_timestamp_names_no_moment() -> None:
    assert moment_of("yesterday") is None
