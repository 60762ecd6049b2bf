"""How long to wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.http.backoff import Backoff, Pace

PACE = Pace(initial=1.0, factor=2.0, cap=5.0, jitter=0.5, reset_after=60.0)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def backoff(chance: float = 0.0, clock: Clock | None = None) -> Backoff:
    return Backoff(PACE, random=lambda: chance, clock=clock or Clock())


def test_waits_grow_up_to_a_cap() -> None:
    waits = backoff()
    assert [waits.next() for _ in range(5)] == [1, 2, 4, 5, 5]


def test_chance_stretches_each_wait() -> None:
    waits = backoff(chance=1.0)
    assert [waits.next() for _ in range(3)] == [1.5, 3.0, 6.0]


def test_the_server_can_ask_for_more_but_not_for_less() -> None:
    waits = backoff()
    assert waits.next(retry_after=30.0) == 30.0
    assert waits.next(retry_after=0.0) == 2.0


def test_long_after_a_failure_it_begins_again() -> None:
    clock = Clock()
    waits = backoff(clock=clock)
    waits.next()
    waits.next()
    clock.now = 2 + 60.0  # the second wait, then just as long as it takes
    assert waits.next() == 4
    clock.now += 4 + 60.1
    assert waits.next() == 1


def test_success_begins_again() -> None:
    waits = backoff()
    waits.next()
    waits.next()
    waits.reset()
    assert waits.next() == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_every_wait_is_within_its_bounds(chances: list[float]) -> None:
    drawn = iter(chances)
    waits = Backoff(PACE, random=lambda: next(drawn), clock=Clock())
    for _ in chances:
        assert PACE.initial <= waits.next() <= PACE.cap * (1 + PACE.jitter)
