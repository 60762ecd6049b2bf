"""Two profiles never give out one thing twice: volumes, and what a policy's book counts.

Binds fail, gangs are tried in vain, schedulers die in the middle of it, and the server tells of what it wrote
only later.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangs.shared_world import SharedWorld
from gangs.test_gang_properties import FROM_ONE, STEPS, Step

MORE = {**STEPS, "tell_some": (3, (4,)), "add_pod": (8, (3, 3))}
LIVES = 32
W = TypeVar("W", bound=SharedWorld)


def play(seed: int, steps: list[Step]) -> SharedWorld:
    return live(SharedWorld(seed), steps)


def live(world: W, steps: list[Step]) -> W:
    for cpu in (6, 8):
        world.add_node(cpu)
    for name, numbers in steps:
        getattr(world, name)(*(n + ((name, i) in FROM_ONE) for i, n in enumerate(numbers)))
        world.check()
    world.settle()
    return world


def step() -> st.SearchStrategy[Step]:
    return st.one_of(
        st.tuples(st.just(name), st.tuples(*(st.integers(0, limit - 1) for limit in limits)))
        for name, (often, limits) in MORE.items()
        for _ in range(often)
    )


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 999), st.lists(step(), max_size=25))
def test_nothing_is_given_out_twice(seed: int, steps: list[Step]) -> None:
    play(seed, steps)


@pytest.mark.parametrize("part", range(4))
def test_lives_with_shared_things(part: int) -> None:
    """Enough happens for volumes to be given out and taken back."""
    seen: Counter[str] = Counter()
    names = [name for name, (often, _) in MORE.items() for _ in range(often)]
    for seed in range(part, LIVES, 4):
        rng = random.Random(seed)
        steps = [rng.choice(names) for _ in range(rng.randrange(10, 60))]
        seen.update(
            play(seed, [(n, tuple(rng.randrange(limit) for limit in MORE[n][1])) for n in steps]).seen
        )
    assert min(seen[what] for what in ("volumes", "refused", "restarted")) > 0, seen
