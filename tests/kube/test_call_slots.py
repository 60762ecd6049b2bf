"""Slots: never more calls than allowed, binding first, nobody starves, nothing is lost."""

from __future__ import annotations

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from kube.virtual_time import in_virtual_time
from mooring.kube.http.call_slots import BINDING, EVENT, LANES, STATUS, TURNS, Slots


def test_binding_goes_first_and_nobody_starves() -> None:
    async def run() -> None:
        slots = Slots(1)
        assert slots.take_now(BINDING)
        order: list[int] = []

        async def call(lane: int) -> None:
            async with slots.of(lane):
                order.append(lane)
                await asyncio.sleep(0)

        calls = [asyncio.ensure_future(call(lane)) for lane in [EVENT, STATUS] + [BINDING] * 20]
        await asyncio.sleep(0)
        slots.give(BINDING)
        await asyncio.gather(*calls)
        assert order.index(EVENT) == TURNS - 1
        assert order.index(STATUS) == 2 * TURNS - 1
        assert order[: TURNS - 1] == [BINDING] * (TURNS - 1)

    in_virtual_time(run())


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_slots_come_back_whatever_is_cancelled(seed: int, limit: int) -> None:
    chance = random.Random(seed)

    async def run() -> None:
        slots = Slots(limit)
        busy = most = 0

        async def call(lane: int) -> None:
            nonlocal busy, most
            await asyncio.sleep(chance.choice([0.0, 0.1, 0.2]))
            async with slots.of(lane):
                busy += 1
                most = max(most, busy)
                assert lane != BINDING or not slots.quiet.is_set()
                try:
                    await asyncio.sleep(chance.choice([0.0, 0.1]))
                finally:
                    busy -= 1

        calls = [asyncio.ensure_future(call(chance.choice(LANES))) for _ in range(30)]
        largest = limit
        for _ in range(10):
            await asyncio.sleep(chance.choice([0.0, 0.1]))
            chance.choice(calls).cancel()
            chance.choice(calls).cancel()
            slots.resize(chance.choice([1, limit, 2 * limit]))
            largest = max(largest, slots.limit)
        await asyncio.gather(*calls, return_exceptions=True)
        assert most <= largest
        assert slots._free == slots.limit
        assert slots.quiet.is_set()

    in_virtual_time(run())


def test_more_slots_go_to_who_waits_and_fewer_to_nobody() -> None:
    async def run() -> None:
        slots, freed = Slots(1), list[int]()
        assert slots.take_now(BINDING)
        waiting = [asyncio.ensure_future(slots.take(EVENT)) for _ in range(3)]
        await asyncio.sleep(0)
        slots.resize(3)
        await asyncio.sleep(0)
        assert [each.done() for each in waiting] == [True, True, False]
        slots.resize(1)
        slots.give(BINDING)
        slots.give(EVENT)
        await asyncio.sleep(0)
        assert not waiting[2].done()
        slots.give(EVENT)
        await waiting[2]
        slots.on_free = lambda: freed.append(slots.free())
        slots.give(EVENT)
        slots.resize(5)
        assert freed == [1, 5]

    in_virtual_time(run())
