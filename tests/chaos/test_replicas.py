"""An end that nobody asked for is told; one that was asked for, or is excused, is not."""

from __future__ import annotations

import pytest

from chaos import replicas
from chaos.plan import FREEZE, KILL, TERMINATE, Fault
from chaos.replicas import AGAIN_SECONDS, ENDING_SECONDS, EXCUSED_SECONDS, STARTING_SECONDS, Replica


class Played:
    """A process as a test plays it."""

    def __init__(self) -> None:
        self.running: Played | None = None
        self.code: int | None = None
        self.said = ""
        self.starts = 0

    def start(self) -> None:
        self.running, self.code = self, None
        self.starts += 1

    def is_running(self) -> bool:
        return self.running is not None and self.code is None

    def exit_code(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.code = -15

    def kill(self) -> None:
        self.code = -9

    def pause(self) -> None:
        pass

    def resume(self) -> None:
        pass

    def tail(self, lines: int = 0) -> str:
        return self.said

    output = tail


class Wireless:
    """Nobody asks it for anything here."""

    cut = forget = hold = let_go = slow = None


class Polite(Played):
    """It takes its time when it is asked to end."""

    def terminate(self) -> None:
        pass


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(replicas, "time", made)
    return made


def replica(time: Time, process: Played) -> Replica:
    made = Replica(0, process, Wireless())  # type: ignore[arg-type]
    made.look()
    time.now += 2 * STARTING_SECONDS
    return made


def do(one: Replica, kind: str) -> None:
    one.suffer(Fault(0.0, kind), lambda seconds, act: None)


def test_it_is_started_again_after_a_moment(time: Time) -> None:
    process = Played()
    one = replica(time, process)
    do(one, KILL)
    one.look()
    assert process.starts == 1
    time.now += AGAIN_SECONDS
    one.look()
    assert (process.starts, one.starts, one.wrong) == (2, 2, [])


@pytest.mark.parametrize("code", [0, 1, -9, -11])
def test_an_end_nobody_asked_for_is_told(time: Time, code: int) -> None:
    process = Played()
    one = replica(time, process)
    process.code, process.said = code, "the lease is lost"
    one.look()
    assert f"scheduler 0 ended with code {code}" in one.wrong[0]


def test_a_lost_lease_is_excused_while_something_is_wrong_and_not_longer(time: Time) -> None:
    process = Played()
    one = replica(time, process)
    one.excuse(time.now + 5)
    process.code, process.said = 1, "the lease is lost"
    one.look()
    assert (one.wrong, one.ended_by_itself) == ([], 1)
    time.now += EXCUSED_SECONDS + 6
    one.look()
    process.code = 1
    one.look()
    assert len(one.wrong) == 1


def test_another_reason_to_end_is_not_excused(time: Time) -> None:
    process = Played()
    one = replica(time, process)
    one.excuse(time.now + 5)
    process.code, process.said = 1, "the scheduler ends: OverflowError"
    one.look()
    assert "OverflowError" in one.wrong[0]


def test_being_asked_to_end_must_end_in_order(time: Time) -> None:
    process = Polite()
    one = replica(time, process)
    do(one, TERMINATE)
    process.code = 0
    one.look()
    assert one.wrong == []


def test_the_signal_itself_may_end_only_one_that_starts(time: Time) -> None:
    process = Played()
    one = replica(time, process)
    do(one, TERMINATE)
    one.look()
    assert "code -15" in one.wrong[0]
    time.now += AGAIN_SECONDS
    one.look()
    do(one, TERMINATE)
    one.look()
    assert len(one.wrong) == 1


def test_one_that_does_not_end_is_told_and_killed(time: Time) -> None:
    process = Polite()
    one = replica(time, process)
    do(one, TERMINATE)
    time.now += ENDING_SECONDS + 1
    one.look()
    assert "did not end within 30 s" in one.wrong[0]
    assert process.code == -9


def test_time_it_was_frozen_does_not_count(time: Time) -> None:
    process = Polite()
    one = replica(time, process)
    do(one, FREEZE)
    do(one, TERMINATE)
    time.now += ENDING_SECONDS + 1
    one.look()
    assert one.wrong == []


def test_a_traceback_in_the_log_is_told(time: Time) -> None:
    process = Played()
    one = replica(time, process)
    process.said = "I1117 all is well\nTraceback (most recent call last):\n  File\nKeyError: 1"
    (said,) = one.logged_tracebacks()
    assert said.endswith("KeyError: 1")
