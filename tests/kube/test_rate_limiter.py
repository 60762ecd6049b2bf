"""So many requests a second."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.http.rate_limiter import Limiter


class Time:
    """A clock that goes on by itself while everybody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, len(self.slept), woken))
        await woken

    async def pass_to(self, moment: float) -> None:
        for due, _, woken in sorted(self._sleepers, key=lambda each: each[:2]):
            if due <= moment and not woken.done():
                self.now = max(self.now, due)
                woken.set_result(None)
                await asyncio.sleep(0)
        self.now = moment


def limiter(time: Time, qps: float = 10.0, burst: int = 2) -> Limiter:
    return Limiter(qps, burst, clock=time.clock, sleep=time.sleep)


def test_a_burst_is_free_and_then_there_is_nothing() -> None:
    time = Time()
    limit = limiter(time)
    assert [limit.try_acquire() for _ in range(3)] == [True, True, False]
    time.now = 0.1
    assert [limit.try_acquire() for _ in range(2)] == [True, False]


def test_time_without_requests_saves_up_no_more_than_a_burst() -> None:
    time = Time()
    limit = limiter(time)
    limit.try_acquire()
    time.now = 1000.0
    assert [limit.try_acquire() for _ in range(3)] == [True, True, False]


async def test_those_who_wait_are_served_in_their_order_at_the_rate() -> None:
    time = Time()
    limit = limiter(time)
    served: list[tuple[int, float]] = []

    async def one(number: int) -> None:
        await limit.acquire()
        served.append((number, round(time.now, 6)))

    tasks = [asyncio.create_task(one(number)) for number in range(5)]
    await asyncio.sleep(0)
    await time.pass_to(1.0)
    await asyncio.gather(*tasks)
    assert served == [(0, 0.0), (1, 0.0), (2, 0.1), (3, 0.2), (4, 0.3)]


async def test_nobody_gets_ahead_of_those_who_wait() -> None:
    time = Time()
    limit = limiter(time)
    tasks = [asyncio.create_task(limit.acquire()) for _ in range(4)]
    await asyncio.sleep(0)
    time.now = 0.15  # a token has come back, for the first of two who wait
    assert not limit.try_acquire()
    await time.pass_to(1.0)
    await asyncio.gather(*tasks)


async def test_whoever_gives_up_leaves_its_place() -> None:
    time = Time()
    limit = limiter(time)
    tasks = [asyncio.create_task(limit.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[2]
    time.now = 0.1
    assert limit.try_acquire()


def test_a_negative_rate_is_no_limit() -> None:
    limit = limiter(Time(), qps=-1.0, burst=0)
    assert all(limit.try_acquire() for _ in range(1000))


def test_zero_is_the_default() -> None:
    limit = limiter(Time(), qps=0.0, burst=0)
    assert [limit.try_acquire() for _ in range(101)].count(True) == 100


@given(st.lists(st.floats(0, 0.5), max_size=60), st.integers(1, 5))
def test_never_more_than_burst_and_rate_allow(gaps: list[float], burst: int) -> None:
    time = Time()
    limit = limiter(time, qps=10.0, burst=burst)
    taken: list[float] = []
    for gap in gaps:
        time.now += gap
        if limit.try_acquire():
            taken.append(time.now)
    for first, start in enumerate(taken):
        for count, end in enumerate(taken[first:], start=1):
            assert count <= burst + (end - start) * 10.0 + 1e-6


async def test_once_opened_everybody_passes_also_who_waits() -> None:
    limit = Limiter(qps=0.001, burst=1)
    await limit.acquire()
    waiting = [asyncio.ensure_future(limit.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(each.done() for each in waiting)
    limit.open()
    await asyncio.gather(*waiting)
    await limit.acquire()
