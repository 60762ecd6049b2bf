"""Volumes, preemption and nominated pods: step by step, the engine does as the slow and obvious scheduler.

Random worlds in which volumes are bound, made, attached and lost, pods make room for more important ones,
and everything that can fail does. At each decision the feasible nodes, their totals, the best nodes, the
message, the volumes, the victims and the nominations are those of `oracle`.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import storage_things as things
from engine.storage_things import CLAIMS, CLASSES, CROWD, LOOKING, NAMES, PLAIN, STORED, VOLUMES, Kind
from engine.storage_world import ANY, World
from soaking import EXAMPLES, soak_seeds

NAME, CLAIM, VOLUME = len(NAMES), len(CLAIMS), len(VOLUMES)
# Steps: how often, and the limits of their numbers.
STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "come": (9, (ANY, 4, CLAIM, CLAIM)),
    "run": (2, (ANY, 3, CLAIM, NAME)),
    "delete_placed": (2, (ANY,)),
    "delete_waiting": (1, (ANY,)),
    "terminate": (1, (ANY,)),
    "go": (2, (ANY,)),
    "evict_fails": (1, (ANY,)),
    "go_on": (5, (ANY,)),
    "fail_bind": (2, (ANY,)),
    "put_node": (2, things.NODE),
    "drop_node": (1, (NAME,)),
    "put_claim": (4, things.CLAIM),
    "put_volume": (4, things.VOLUME),
    "touch": (2, (ANY,)),
    "drop": (1, (5, ANY)),
    "put_class": (1, things.CLASS),
    "put_capacity": (1, things.CAPACITY),
    "put_driver": (1, (2,)),
    "put_csi_node": (2, (NAME, 4, 4)),
    "attach": (1, (NAME, VOLUME)),
    "put_budget": (3, (3, 3, 4)),
    "ephemeral": (2, (ANY, len(CLASSES), 4)),
    "control": (4, (ANY,)),
    "give_up": (1, (ANY,)),
    "tick": (1, (400,)),
}
MOST_STEPS, LIVES = 30, 280

Step = tuple[str, tuple[int, ...]]


# What every world begins with: nodes in two zones, every class, claims of most of them, some volumes.
BASE: list[Step] = [
    *(("put_class", (index, 0)) for index in range(len(CLASSES))),
    *(("put_node", (index, index, index, 0)) for index in range(3)),
    *(("put_claim", (index, (0, 0, 1, 3)[index], index % 3, 0)) for index in range(4)),
    *(("put_volume", (index, index % 2, index % 3, index % 4, 0)) for index in range(4)),
    *(("put_volume", (index, 1, 0, 0, index)) for index in (4, 5)),
    *(("put_claim", (index, 1, 0, 6)) for index in (4, 5)),
    *(("put_budget", (index, 1 - index, 0)) for index in (0, 1)),
    *(("put_csi_node", (index, index + 1, index)) for index in range(3)),
    ("put_driver", (1,)),
    ("put_capacity", (0, 1, 1)),
]


def play(kinds: list[Kind], steps: list[Step]) -> World:
    world = World(kinds)
    for name, numbers in [*BASE, *steps]:
        getattr(world, name)(*numbers)
    world.finish()
    return world


def numbers(limits: tuple[int, ...]) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(0, limit - 1) for limit in limits))


def some_step() -> st.SearchStrategy[Step]:
    weighed = [[(name, limits)] * often for name, (often, limits) in STEPS.items()]
    return st.one_of(
        [st.tuples(st.just(name), numbers(limits)) for group in weighed for name, limits in group]
    )


THEMES = [STORED, STORED, [*STORED, *PLAIN], CROWD, CROWD, [*PLAIN, *LOOKING], [*STORED, *PLAIN, *LOOKING]]
KINDS = st.sampled_from(THEMES).flatmap(
    lambda theme: st.lists(st.sampled_from(theme), min_size=1, max_size=4)
)
WORLDS = (KINDS, st.lists(some_step(), min_size=12, max_size=MOST_STEPS))
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None, "print_blob": False}


@settings(max_examples=150, derandomize=True, **QUIET)
@given(*WORLDS)
def test_every_step_is_right(kinds: Any, steps: Any) -> None:
    play(kinds, steps)


def long_life(seed: int) -> World:
    """A world of many steps, all of whose accidents come from a seed."""
    draw = random.Random(seed)
    theme = draw.choice(THEMES)
    kinds = [draw.choice(theme) for _ in range(draw.randint(1, 4))]
    names = draw.choices(list(STEPS), [often for often, _ in STEPS.values()], k=2 * MOST_STEPS)
    steps = [(name, tuple(draw.randrange(limit) for limit in STEPS[name][1])) for name in names]
    return play(kinds, steps)


@pytest.mark.parametrize("part", range(4))
def test_every_step_of_a_long_life_is_right(part: int) -> None:
    """Enough happens for every kind of decision to be among those compared."""
    seen: Counter[str] = Counter()
    for seed in range(part, LIVES, 4):
        try:
            seen.update(long_life(seed).seen)
        except Exception as error:
            raise AssertionError(f"long_life({seed})") from error
    assert min(seen[what] for what in ("bind", "wait", "preempt", "volumes", "give way")) > 0, seen


@pytest.mark.parametrize("seed", [1198390795])  # a volume is replaced between the choice and its first write
def test_lives_that_went_wrong(seed: int) -> None:
    long_life(seed)


@pytest.mark.soak
@settings(max_examples=EXAMPLES, **QUIET)
@given(*WORLDS)
def test_soak_storage(kinds: Any, steps: Any) -> None:
    play(kinds, steps)


@pytest.mark.soak
def test_soak_long_lives() -> None:
    for seed in soak_seeds(LIVES):
        try:
            long_life(seed)
        except Exception as error:
            raise AssertionError(f"long_life({seed})") from error
