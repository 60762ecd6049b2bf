"""How many pods nodes have room for, where free resources decide: counted for all nodes at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mooring.cluster.columns import Bools
from mooring.cluster.nodes import Ints, NodeTable
from mooring.framework.trial import Demand


class Alike(NamedTuple):
    """Pods that come one after the other and need the same. `among` are the only rows they may go to."""

    demand: Demand
    size: int
    among: Bools | None = None


class Freed(NamedTuple):
    """What would be free besides, by row: places for pods, and resources by column."""

    places: Ints
    columns: dict[int, Ints]


def room_for(nodes: NodeTable, runs: Iterable[Alike], freed: Freed | None = None) -> Ints:
    """How many of the pods each row takes if they come to it in this order, up to the first that it does
    not take: exact where resources alone decide, else no less than it takes."""
    high = nodes.high
    counts: Ints = np.zeros(high, np.int64)
    places = nodes.max_pods.array[:high] - nodes.pods.array[:high]
    if freed is not None:
        places = places + freed.places
    free: dict[str, Ints] = {}
    going = nodes.alive[:high].copy()
    for run in runs:
        going &= run.demand.open[:high]
        if run.among is not None:
            going &= run.among
        takes = np.minimum(places, run.size)
        for name, amount in run.demand.amounts:
            if name not in free:
                free[name] = _free(nodes, name, freed)
            takes = np.minimum(takes, free[name] // amount)
        takes = np.where(going, np.maximum(takes, 0), 0)
        for name, amount in run.demand.amounts:
            free[name] -= takes * amount
        counts += takes
        places = places - takes
        going &= takes == run.size
    return counts


def _free(nodes: NodeTable, name: str, freed: Freed | None) -> Ints:
    column = nodes.resource(name)
    columns = nodes.resources[column]
    free: Ints = columns.allocatable.array[: nodes.high] - columns.requested.array[: nodes.high]
    if freed is not None and column in freed.columns:
        free += freed.columns[column]
    return free
