"""Whatever happens to a cluster: gangs start whole, never wait for each other, and nothing is left behind."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangs.world import World
from soaking import soak_seeds

# Steps: how often, and the limits of their numbers.
STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "add_node": (2, (9,)),
    "lose_node": (1, (99,)),
    "add_gang": (6, (6, 6, 4, 3, 2)),
    "add_member": (2, (99,)),
    "add_pod": (3, (5, 3)),
    "delete_any": (2, (99,)),
    "schedule": (7, (6,)),
    "answer": (5, (5, 2)),
    "wait": (3, (30,)),
    "restart": (1, (4,)),
}
LIVES = 60
FROM_ONE = {("add_gang", 0), ("add_gang", 1), ("add_gang", 2), ("add_pod", 0), ("add_node", 0)}

Step = tuple[str, tuple[int, ...]]


def play(seed: int, steps: list[Step]) -> World:
    world = World(seed)
    for cpu in (3, 4):
        world.add_node(cpu)
    for name, numbers in steps:
        getattr(world, name)(*(n + ((name, i) in FROM_ONE) for i, n in enumerate(numbers)))
        world.check()
    world.settle()
    return world


def step() -> st.SearchStrategy[Step]:
    kinds = [
        st.tuples(st.just(name), st.tuples(*(st.integers(0, limit - 1) for limit in limits)))
        for name, (often, limits) in STEPS.items()
        for _ in range(often)
    ]
    return st.one_of(kinds)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 999), st.lists(step(), max_size=25))
def test_gangs_start_whole_and_never_hold_each_other(seed: int, steps: list[Step]) -> None:
    play(seed, steps)


def a_life(seed: int) -> World:
    rng = random.Random(seed)
    names = [name for name, (often, _) in STEPS.items() for _ in range(often)]
    steps = []
    for _ in range(rng.randrange(5, 60)):
        name = rng.choice(names)
        steps.append((name, tuple(rng.randrange(limit) for limit in STEPS[name][1])))
    return play(seed, steps)


@pytest.mark.parametrize("part", range(4))
def test_lives_with_gangs(part: int) -> None:
    """Enough happens for gangs of every fate to be among them."""
    seen: Counter[str] = Counter()
    for seed in range(part, LIVES, 4):
        seen.update(a_life(seed).seen)
    assert min(seen[what] for what in ("started", "refused", "restarted", "evicted", "joined late")) > 0, seen


@pytest.mark.parametrize("seed", [739, 1116, 1291])
def test_room_kept_for_a_gang_that_fell_apart_is_given_up(seed: int) -> None:
    """Members of it had been nominated, and were never tried again."""
    a_life(seed)


def test_a_gang_that_lost_all_its_pods_begins_anew() -> None:
    """A pod that comes to it later waits until there are enough again."""
    a_life(1198390649)


@pytest.mark.soak
def test_soak_lives_with_gangs() -> None:
    for seed in soak_seeds(LIVES):
        try:
            a_life(seed)
        except Exception as error:
            raise AssertionError(f"a_life({seed})") from error
