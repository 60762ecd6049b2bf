"""How many pods nodes have room for, where free resources decide: counted for all nodes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools
from mooring.cluster.nodes import MOST_TAKEN, NodeTable
from mooring.framework.api.node_trial import Demand

TOO_MANY_PODS, INSUFFICIENT = "Too many pods", "Insufficient {}"


class Alike(NamedTuple):
    """Pods that come one after the other and need the same. `among` are the only rows they may go to."""

    demand: Demand
    size: int
    among: Bools | None = None


class Freed(NamedTuple):
    """What would be free besides, by row: places for pods, and resources by name."""

    places: Ints
    columns: dict[str, Ints]

    def less(self, other: Freed) -> Freed:
        """What is left of it when others take something of the same columns."""
        columns = {column: amounts - other.columns[column] for column, amounts in self.columns.items()}
        return Freed(self.places - other.places, columns)


def room_for(
    nodes: NodeTable, runs: Iterable[Alike], freed: Freed | None = None, said: Counter[str] | None = None
) -> Ints:
    """How many of the pods each row takes if they come to it in this order, up to the first that it does
    not take: exact where resources alone decide, else no less than it takes.

    `said` takes in what rows that take some of them have too little of for more.
    """
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
        if said is not None:
            full = going & (takes < run.size) & (counts > 0)
            said.update(_lacking(full, places, [(name, free[name], a) for name, a in run.demand.amounts]))
        going &= takes == run.size
    return counts


def _free(nodes: NodeTable, name: str, freed: Freed | None) -> Ints:
    columns = nodes.of_resource(name)
    free: Ints = columns.allocatable.array[: nodes.high] - columns.requested.array[: nodes.high]
    if freed is not None and name in freed.columns:
        free += freed.columns[name]
    if nodes.overflows:
        free[columns.requested.array[: nodes.high] >= MOST_TAKEN] = 0  # nobody knows what going pods leave
    return free


def _lacking(rows: Bools, places: Ints, amounts: list[tuple[str, Ints, int]]) -> Counter[str]:
    """What rows have too little of for one member more, in the words of NodeResourcesFit."""
    said = Counter({TOO_MANY_PODS: int((rows & (places < 1)).sum())})
    for name, free, amount in amounts:
        said[INSUFFICIENT.format(name)] += int((rows & (free < amount)).sum())
    return +said
