"""Spreading and affinity over many keys at once say what they say of single keys."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain_world import NAMES, SPACES, THEMES, make_node
from engine.stage import BUILT_IN
from engine.stage import Stage as Engine
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin, DomainState, FollowingState
from mooring.framework.api.key_columns import KeyColumns, LiftedColumns, disagreement
from mooring.plugins.topology.go_math import half_away, half_away_all, half_away_each
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread
from mooring.testing import pod

Key = object


def states(draw: random.Random) -> list[tuple[DomainState, list[Key]]]:
    """The states of a few pods in a random cluster, each with the keys that its nodes have."""
    stage = Engine(PodTopologySpread, InterPodAffinity, base=BUILT_IN)
    for name in range(draw.randint(1, len(NAMES))):
        stage.nodes(make_node(False, name, *(draw.randrange(limit) for limit in (8, 6, 5, 6)), 0))
    kinds = draw.choice(THEMES)
    for number in range(draw.randrange(12)):
        made = draw.choice(kinds)(pod(f"p{number}", draw.choice(SPACES)))
        stage.add(made.running_on(draw.choice(NAMES)).build())
    found = []
    for wanted in [draw.choice(kinds)(pod(f"w{n}", draw.choice(SPACES))).build() for n in range(3)]:
        for plugin in (PodTopologySpread, InterPodAffinity):
            asked: DomainPlugin = stage.plugin(plugin.name)
            if asked.sign(wanted) is None:
                continue
            state = asked.domain(Cycle("default-scheduler", 0.0), wanted)
            assert isinstance(state, FollowingState)
            state.sync()
            rows = stage.engine.cluster.nodes.rows.values()
            found.append((state, list({state.key(row): None for row in rows})))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_columns_and_single_keys_agree(seed: int) -> None:
    for state, keys in states(random.Random(seed)):
        assert disagreement(state, keys) == "", (state, keys)


def compare(state: DomainState, columns: KeyColumns, held: list[Key], sizes: list[int]) -> None:
    """What columns say of numbers, some of which nobody asks about, is what the state says of their keys."""
    counts: dict[Key, int] = {}
    for key, size in zip(held, sizes, strict=True):
        if size:
            counts[key] = counts.get(key, 0) + size
    there = [number for number, size in enumerate(sizes) if size]
    if state.filters:
        passes = columns.passes(np.array(sizes) > 0)
        assert [passes[n] for n in there] == [state.status(held[n]) is None for n in there]
    if state.scores and there:
        scores = columns.raw_scores(np.array(sizes, np.int64))
        raw = dict(zip(counts, state.raw_scores(list(counts), list(counts.values())), strict=True))
        assert [scores[n] for n in there] == [raw[held[n]] for n in there]


@pytest.mark.parametrize("seed", range(40))
def test_numbers_get_other_keys_and_groups_become_empty(seed: int) -> None:
    draw = random.Random(seed)
    for state, keys in states(draw):
        both = state.columns(), LiftedColumns(state)
        held: list[Key] = []
        for _ in range(3):
            for number in range(2 * len(keys)):
                if number >= len(held) or draw.random() < 0.5:
                    held[number : number + 1] = [draw.choice(keys)]
                    for columns in both:
                        columns.put(number, held[number])
            sizes = [draw.choice((0, 1, 5)) for _ in held]
            for columns in both:
                compare(state, columns, held, sizes)


@given(st.lists(st.floats(-1e9, 1e9) | st.integers(-99, 99).map(lambda n: n + 0.5)))
def test_rounding_many_is_rounding_each(numbers: list[float]) -> None:
    numbers += [
        0.0,
        2.0**52 + 1,
        2.0**51 + 0.5,
        0.49999999999999994,
        math.nextafter(0.5, 1),
        2.5,
        -0.49999999999999994,
    ]
    right = [half_away(x) for x in numbers]
    assert half_away_each(numbers) == right
    for above in (0.0, 0.5, 2.0**50):
        these = [abs(x) + above for x in numbers if abs(x) < 1e9]
        assert half_away_each(these) == [half_away(x) for x in these]
    assert half_away_each([x + 0.5 for x in range(5)]) == [1, 2, 3, 4, 5]
    assert half_away_all(np.array(numbers)).tolist() == right
