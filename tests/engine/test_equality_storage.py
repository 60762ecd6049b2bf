"""Volumes, preemption and nominated pods: step by step, the engine does as the slow and obvious scheduler.

Random worlds in which volumes are bound, made, attached and lost, pods make room for more important ones,
and everything that can fail does. At each decision the feasible nodes, their totals, the best nodes, the
message, the volumes, the victims and the nominations are those of `oracle`.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import storage_things as things
from engine.storage_things import CLAIMS, CLASSES, LOOKING, NAMES, PLAIN, STORED, VOLUMES, Kind
from engine.storage_world import ANY, World

SOAK_EXAMPLES = int(os.environ.get("MOORING_SOAK_EXAMPLES", "2000"))
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
    "put_budget": (2, (3, 3, ANY)),
    "ephemeral": (2, (ANY, len(CLASSES), 4)),
    "control": (4, (ANY,)),
    "give_up": (1, (ANY,)),
    "tick": (1, (400,)),
}
FIRST: dict[str, tuple[int, ...]] = {
    "put_node": things.NODE,
    "put_claim": things.CLAIM,
    "put_volume": things.VOLUME,
}
MOST_STEPS = 30

Step = tuple[str, tuple[int, ...]]


# What every world begins with: nodes in two zones, every class, claims of most of them, some volumes.
BASE: list[Step] = [
    *(("put_class", (index, 0)) for index in range(len(CLASSES))),
    *(("put_node", (index, index, index, 0)) for index in range(3)),
    *(("put_claim", (index, index % 4, index % 3, 0)) for index in range(CLAIM)),
    *(("put_volume", (index, index % 2, index % 3, index % 4, 0)) for index in range(4)),
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


def one_of(steps: dict[str, tuple[int, tuple[int, ...]]]) -> st.SearchStrategy[Step]:
    weighed = [
        st.tuples(st.just(name), numbers(limits))
        for name, (often, limits) in steps.items()
        for _ in range(often)
    ]
    return st.one_of(weighed)


BEGINNING = one_of(
    {"put_node": (3, things.NODE), "put_claim": (2, things.CLAIM), "put_volume": (2, things.VOLUME)}
)
THEMES = [STORED, STORED, [*STORED, *PLAIN], [*PLAIN, *LOOKING], [*STORED, *PLAIN, *LOOKING]]
KINDS = st.sampled_from(THEMES).flatmap(
    lambda theme: st.lists(st.sampled_from(theme), min_size=1, max_size=4)
)
WORLDS = st.tuples(
    KINDS,
    st.lists(BEGINNING, min_size=4, max_size=14),
    st.lists(one_of(STEPS), min_size=8, max_size=MOST_STEPS),
)
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None, "print_blob": False}


@settings(max_examples=300, derandomize=True, **QUIET)
@given(WORLDS)
def test_every_step_is_right(world: Any) -> None:
    kinds, beginning, steps = world
    play(kinds, beginning + steps)
