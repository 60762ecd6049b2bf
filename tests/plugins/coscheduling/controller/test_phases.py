"""The phase of a PodGroup, step by step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.plugins.coscheduling.controller.phases import (
    FINAL,
    OLD_S,
    Pods,
    Status,
    difference,
    is_left_alone,
    read_status,
    settled,
    step,
)

NOW = "2026-01-01T00:00:00Z"


def phase(before: str, least: int, **pods: Any) -> str:
    return step(Status(phase=before), least, Pods(**pods), NOW).phase


def test_cs1_running_failed_finished() -> None:
    assert phase("Scheduled", 2, bound=2, running=2) == "Running"
    assert phase("Scheduled", 2, bound=1, running=1, failed=1) == "Failed"
    assert phase("Scheduled", 2, succeeded=2) == "Finished"


def test_cs2_bound_and_not_running_is_scheduled() -> None:
    assert phase("Scheduling", 2, bound=2) == "Scheduled"


def test_cs3_too_few_pods_are_pending() -> None:
    assert phase("Pending", 3, waiting=2) == "Pending"
    assert phase("Running", 3) == "Pending"
    started, created = OLD_S + 1, 0.0
    assert is_left_alone(Status(phase="Scheduled", scheduled=3), 3, started, created)
    assert not is_left_alone(Status(phase="Scheduled", scheduled=3), 3, OLD_S, created)
    assert not is_left_alone(Status(phase="Scheduled", scheduled=3, running=1), 3, started, created)
    assert not is_left_alone(Status(phase="Scheduling", scheduled=2), 3, started, created)


def test_a_new_group_is_pending() -> None:
    assert phase("", 2, waiting=9) == "Pending"


def test_a_group_that_is_complete_is_about_to_be_scheduled() -> None:
    after = step(Status(phase="Pending"), 2, Pods(waiting=2, owners=["ns/b", "ns/a", "ns/b"]), NOW)
    assert (after.phase, after.occupied_by) == ("PreScheduling", "ns/a,ns/b")
    assert phase("Pending", 0, waiting=2) == "Pending"


def test_when_scheduling_began_is_said_once() -> None:
    first = step(Status(phase="PreScheduling"), 2, Pods(waiting=2), NOW)
    assert (first.phase, first.schedule_start_time) == ("Scheduling", NOW)
    later = step(first, 2, Pods(waiting=1, bound=1), "2027-01-01T00:00:00Z")
    assert (later.schedule_start_time, later.scheduled) == (NOW, 1)


def test_too_few_that_failed_are_not_the_end() -> None:
    assert phase("Running", 3, bound=1, running=1, failed=1) == "Scheduling"
    assert phase("Running", 3, waiting=2, failed=1) == "Scheduling"


def test_nothing_follows_the_end() -> None:
    for name in FINAL:
        assert phase(name, 2) == name
        assert is_left_alone(Status(phase=name), 2, None, None)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        (Pods(waiting=1), "Pending"),
        (Pods(waiting=2), "Scheduling"),
        (Pods(bound=1, waiting=1), "Scheduling"),
        (Pods(bound=2, running=1), "Scheduled"),
        (Pods(bound=2, running=2), "Running"),
        (Pods(bound=1, running=1, succeeded=1), "Running"),
        (Pods(succeeded=2), "Finished"),
        (Pods(), "Pending"),
    ],
)
def test_all_steps_at_once(pods: Pods, expected: str) -> None:
    assert settled(Status(), 2, pods, NOW).phase == expected


def test_only_what_differs_is_written() -> None:
    before = Status(phase="Running", running=2, scheduled=2, occupied_by="ns/a")
    after = Status(phase="Pending", occupied_by="", schedule_start_time=NOW)
    assert difference(before, before) == {}
    assert difference(before, after) == {
        "phase": "Pending",
        "occupiedBy": None,
        "scheduled": 0,
        "running": 0,
        "scheduleStartTime": NOW,
    }


def test_a_status_that_cannot_be_read_is_none() -> None:
    assert (
        read_status({}) == read_status({"status": None}) == read_status({"status": {"phase": 5}}) == Status()
    )
    data = {"phase": "Running", "occupiedBy": "ns/a", "scheduled": 2, "other": 1}
    assert read_status({"status": data}) == Status(phase="Running", occupied_by="ns/a", scheduled=2)


numbers = st.integers(0, 4)
all_pods = st.builds(
    lambda running, more, waiting, succeeded, failed: Pods(
        bound=running + more, running=running, waiting=waiting, succeeded=succeeded, failed=failed
    ),
    numbers,
    numbers,
    numbers,
    numbers,
    numbers,
)


@given(numbers, st.lists(all_pods, max_size=6))
def test_what_is_settled_stays_settled(least: int, history: list[Pods]) -> None:
    """Whatever happens, there is one phase that follows, and writing it leads to no other."""
    status = Status()
    for pods in history:
        status = settled(status, least, pods, NOW)
        assert step(status, least, pods, NOW) == status
        assert difference(status, settled(status, least, pods, NOW)) == {}
