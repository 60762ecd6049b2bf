"""Whatever the network does: never two leaders at a time, and always one in the end."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube.lease_server import Candidate, LeaseServer
from kube.virtual_time import in_virtual_time
from soaking import soak_seeds


class Cluster:
    """Candidates that come and go, on lines that are slow, lossy and cut now and then."""

    def __init__(self, chance: random.Random, trouble: float) -> None:
        self.server = LeaseServer()
        self.everyone: list[Candidate] = []
        self.chance = chance
        self.trouble = trouble

    def join(self) -> None:
        chance, name = self.chance, f"c{len(self.everyone)}"
        one = Candidate(self.server, name, offset=chance.uniform(-1e4, 1e4), random=chance.random)
        one.line.there = one.line.back = lambda: chance.choice([0.0, 0.01, 0.5, chance.uniform(0, 30)])
        one.line.loses = lambda: chance.random() < self.trouble / 4
        self.everyone.append(one)

    async def happens(self) -> None:
        """Something or other."""
        one = self.chance.choice(self.everyone)
        match self.chance.randrange(4):
            case 0:
                one.line.is_cut = not one.line.is_cut
            case 1:
                await one.die()
                one.elector._resigned = True  # a dead process believes nothing
                self.join()
            case 2:
                await one.elector.release()
            case 3 if one.task.done():
                self.join()

    def calm(self) -> None:
        """The trouble is over, and somebody is there to lead."""
        self.join()
        for one in self.everyone:
            one.line.is_cut = False
            one.line.there = one.line.back = lambda: 0.01
            one.line.loses = lambda: False

    def leaders(self) -> list[str]:
        found = [one.elector.identity for one in self.everyone if one.elector.leads()]
        assert len(found) <= 1, found
        return found


async def live(chance: random.Random, candidates: int, trouble: float) -> None:
    cluster = Cluster(chance, trouble)
    for _ in range(candidates):
        cluster.join()
    for _ in range(1500):
        await asyncio.sleep(0.1)
        cluster.leaders()
        if chance.random() < trouble / 10:
            await cluster.happens()
    cluster.calm()
    for _ in range(600):
        await asyncio.sleep(0.1)
        cluster.leaders()
    assert len(cluster.leaders()) == 1
    for one in cluster.everyone:
        await one.die()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.floats(0, 1))
def test_never_two_and_always_one_in_the_end(seed: int, candidates: int, trouble: float) -> None:
    in_virtual_time(live(random.Random(seed), candidates, trouble))


@pytest.mark.parametrize("seed", [770435])  # a lease that had less left than the loop can wait
def test_what_was_found_by_long_runs(seed: int) -> None:
    chance = random.Random(seed)
    in_virtual_time(live(chance, chance.randint(2, 3), chance.random()))


@pytest.mark.soak
def test_never_two_for_very_long() -> None:
    for seed in soak_seeds(0):
        chance = random.Random(seed)
        in_virtual_time(live(chance, chance.randint(2, 3), chance.random()))
