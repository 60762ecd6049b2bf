"""Whatever the network does: never two leaders at a time, and always one in the end."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube.lease_server import Candidate, LeaseServer
from kube.virtual_time import in_virtual_time

NAMES = "abc"


async def live(chance: random.Random, candidates: int, trouble: float) -> None:
    server = LeaseServer()
    everyone: list[Candidate] = []

    def join() -> None:
        one = Candidate(server, f"c{len(everyone)}", offset=chance.uniform(-1e4, 1e4), random=chance.random)
        one.line.there = one.line.back = lambda: chance.choice([0.0, 0.01, 0.5, chance.uniform(0, 30)])
        one.line.loses = lambda: chance.random() < trouble / 4
        everyone.append(one)

    def leaders() -> list[str]:
        return [one.elector.identity for one in everyone if one.elector.leads()]

    for _ in range(candidates):
        join()
    led = 0
    for _ in range(1500):
        await asyncio.sleep(0.1)
        now = leaders()
        assert len(now) <= 1, now
        led += bool(now)
        if chance.random() < trouble / 10:
            one = chance.choice(everyone)
            match chance.randrange(4):
                case 0:
                    one.line.is_cut = not one.line.is_cut
                case 1:
                    await one.die()
                    one.elector._resigned = True  # a dead process believes nothing
                    join()
                case 2:
                    await one.elector.release()
                case 3 if one.task.done():
                    join()
    # The trouble is over.
    for one in everyone:
        one.line.is_cut = False
        one.line.there = one.line.back = lambda: 0.01
        one.line.loses = lambda: False
    join()
    everyone[-1].line.there = everyone[-1].line.back = lambda: 0.01
    everyone[-1].line.loses = lambda: False
    for _ in range(600):
        await asyncio.sleep(0.1)
        assert len(leaders()) <= 1
    assert len(leaders()) == 1
    for one in everyone:
        await one.die()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.floats(0, 1))
def test_never_two_and_always_one_in_the_end(seed: int, candidates: int, trouble: float) -> None:
    in_virtual_time(live(random.Random(seed), candidates, trouble))


@pytest.mark.soak
def test_never_two_for_very_long() -> None:
    for seed in range(2000):
        chance = random.Random(seed)
        in_virtual_time(live(chance, chance.randint(2, 3), chance.random()))
