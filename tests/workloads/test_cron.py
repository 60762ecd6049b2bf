"""Schedules: the times that kube-controller-manager would come to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mooring.workloads.owners.cron import Cron


def times(text: str, start: str, count: int = 1, zone: str = "") -> list[str]:
    cron, now = Cron(text, zone), datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp()
    found = []
    for _ in range(count):
        moment = cron.next_after(now)
        assert moment is not None
        found.append(datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S"))
        now = moment
    return found


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("*/15 * * * *", "2026-01-01T00:00:00", ["2026-01-01 00:15:00", "2026-01-01 00:30:00"]),
        ("*/15 * * * *", "2026-01-01T00:14:59", ["2026-01-01 00:15:00"]),
        ("5,10-12 3 * * *", "2026-01-01T03:05:00", ["2026-01-01 03:10:00", "2026-01-01 03:11:00"]),
        ("0 9-17/4 * * mon-fri", "2026-01-02T13:00:00", ["2026-01-02 17:00:00", "2026-01-05 09:00:00"]),
        ("0 0 29 2 *", "2026-01-01T00:00:00", ["2028-02-29 00:00:00"]),
        ("0 0 31 * ?", "2026-04-01T00:00:00", ["2026-05-31 00:00:00"]),
        # both days restricted: either will do
        ("0 0 13 * FRI", "2026-02-01T00:00:00", ["2026-02-06 00:00:00", "2026-02-13 00:00:00"]),
        ("30/10 * * * *", "2026-01-01T00:00:00", ["2026-01-01 00:30:00", "2026-01-01 00:40:00"]),
        ("@hourly", "2026-12-31T23:30:00", ["2027-01-01 00:00:00"]),
        ("@weekly", "2026-01-01T00:00:00", ["2026-01-04 00:00:00"]),
        ("0 0 1 jan,JUL *", "2026-01-01T00:00:00", ["2026-07-01 00:00:00"]),
        ("@every 90s", "2026-01-01T00:00:00", ["2026-01-01 00:01:30", "2026-01-01 00:03:00"]),
    ],
)
def test_times(text: str, start: str, expected: list[str]) -> None:
    assert times(text, start, len(expected)) == expected


def test_time_zones_and_the_hour_that_is_not_there() -> None:
    assert times("0 9 * * *", "2026-01-01T00:00:00", zone="Europe/Berlin") == ["2026-01-01 08:00:00"]
    assert times("0 9 * * *", "2026-07-01T00:00:00", zone="Europe/Berlin") == ["2026-07-01 07:00:00"]
    # 02:30 on the 29th of March 2026 is skipped in Berlin
    assert times("30 2 * * *", "2026-03-28T12:00:00", zone="Europe/Berlin") == ["2026-03-30 00:30:00"]


def test_a_day_that_never_comes() -> None:
    assert Cron("0 0 30 2 *").next_after(0.0) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("* * * *", "expected 5 fields"),
        ("60 * * * *", '"60" is not a minute: 0 to 59'),
        ("* * 0 * *", '"0" is not a day of the month: 1 to 31'),
        ("* * * * 7", '"7" is not a day of the week: 0 to 6'),
        ("* * * foo *", '"foo" is not a month: 1 to 12'),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "after / comes a number above 0"),
        ("@every soon", "invalid duration"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Cron(text)
