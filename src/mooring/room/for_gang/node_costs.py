"""Nodes in the order in which it is best to evict pods from them.

Priorities of possible victims are ranked, the lowest 0; a node costs the ranks of those who may have to go
from it, where a gang counts once, and so do all pods that are in none. Between nodes of the same cost it is
the one on which fewer pods have to go for one member, as far as their average size tells, then the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.nodes import MOST_TAKEN
from mooring.framework.api.capacity import Freed
from mooring.framework.api.node_trial import Demand
from mooring.room.for_gang.possible_victims import Places, Possible

Key = tuple[int, int, str, int]


class Costs:
    """What it costs to make room on each row."""

    def __init__(self, possible: Possible, places: Places) -> None:
        self._possible = possible
        self._places = places
        self._highest = possible.highest()
        self._rank = {priority: rank for rank, priority in enumerate(possible.priorities())}

    def of(self, row: int) -> int:
        """-1 where nobody has to be evicted."""
        ranks: dict[str, int] = {}
        for placed in self._possible.going.get(row, ()):
            gang = self._possible.gangs.of(placed)
            key = "" if gang is None else gang.key
            ranks[key] = max(ranks.get(key, 0), self._rank[placed.pod.priority])
        return sum(ranks.values()) if ranks else -1

    def at_least(self, row: int) -> int:
        """The same without a look at gangs: no more than it costs."""
        highest = self._highest.get(row)
        return -1 if highest is None else self._rank[highest]

    def in_order(self, rows: Iterable[int], count: Ints) -> Iterator[int]:
        """The cheapest first. Gangs are looked up for no more rows than are asked for."""
        guessed = sorted((self.at_least(row), int(count[row]), self._places.name(row), row) for row in rows)
        known: list[Key] = []
        for guess in guessed:
            while known and known[0] <= guess:
                yield heappop(known)[3]
            row = guess[3]
            heappush(known, (self.of(row), *guess[1:]))
        while known:
            yield heappop(known)[3]


def pods_to_go(places: Places, demand: Demand | None, freed: Freed, taken: Freed) -> Ints:
    """About how many pods have to go from each row for one member, when others take something first."""
    nodes = places.nodes
    high = nodes.high
    many: Ints = np.zeros(high, np.int64)
    for name, amount in demand.amounts if demand is not None else ():
        columns = nodes.of_resource(name)
        short = amount - columns.allocatable.array[:high] + columns.requested.array[:high]
        short = short + taken.columns[name]
        frees = np.maximum(freed.columns[name], 1)
        missing = np.maximum(short, 0).astype(np.float64)  # the product may be beyond 64 bits
        pods = np.ceil(missing * freed.places / frees)
        many = np.maximum(many, np.minimum(pods, MOST_TAKEN).astype(np.int64))
    return many
