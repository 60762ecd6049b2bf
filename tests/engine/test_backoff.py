"""How long pods back off."""

from __future__ import annotations

import pytest

from engine.stage import pod
from mooring.engine.queue.backoff import Backoff, backoff_duration
from mooring.engine.queue.queued_pod import QueuedPod

MAX_INT64, MAX_INT32 = 2**63 - 1, 2**31 - 1


@pytest.mark.parametrize(
    ("initial", "maximum", "count", "expected"),
    [
        *(
            pytest.param(1, 10, count, seconds, id=f"K1-{count}")
            for count, seconds in enumerate((0, 1, 2, 4, 8, 10, 10))
        ),
        pytest.param(3, 1000, 5, 48, id="K2"),
        pytest.param(1, 32, 16, 32, id="K3"),
        pytest.param(1, MAX_INT64, 64, MAX_INT64, id="K4-64-bit"),
        pytest.param(1, MAX_INT32, 32, MAX_INT32, id="K4-32-bit"),
        pytest.param(1, 0, 3, 0, id="no back-off"),
        pytest.param(20, 10, 1, 10, id="initial above the maximum"),
        pytest.param(1.5, 10.0, 5000, 10.0, id="failed very often"),
    ],
)
def test_duration(initial: float, maximum: float, count: int, expected: float) -> None:
    assert backoff_duration(initial, maximum, count) == expected


def queued(timestamp: float, *, rejected: int = 0, errors: int = 0) -> QueuedPod:
    return QueuedPod(pod("p"), timestamp, unschedulable_count=rejected, consecutive_errors=errors)


@pytest.mark.parametrize(
    ("rejected", "errors", "expires"),
    [(0, 0, 5.7), (1, 0, 6), (3, 0, 9), (3, 1, 6), (1, 4, 13)],
    ids=["none", "first", "third", "error after rejections", "errors count alone"],
)
def test_expires_at_a_whole_second(rejected: int, errors: int, expires: float) -> None:
    assert Backoff().expiration(queued(5.7, rejected=rejected, errors=errors)) == expires


@pytest.mark.parametrize(("now", "lasts"), [(5.7, True), (6.0, True), (6.99, True), (7.0, False)])
def test_lasts_to_the_end_of_the_second_it_expires_in(now: float, lasts: bool) -> None:
    assert Backoff().backing_off(queued(5.7, rejected=1), now) is lasts


def test_is_over_before_it_began_without_a_failure_or_a_maximum() -> None:
    assert not Backoff().backing_off(queued(5.0), 5.0)
    assert not Backoff(1, 0).backing_off(queued(5.0, rejected=4), 5.0)
