"""Looking at some of the nodes only, exactly as kube-scheduler does when told to.

Mooring looks at every node unless a configuration asks for less: its cost hardly grows with the
number of nodes, so there is nothing to gain by missing the best one. A percentage in the
configuration is honoured to the letter, for those who compare the two.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mooring.cluster.columns import Rows
from mooring.cluster.nodes import NodeTable
from mooring.config.profiles import ProfilePlan

FEWEST = 100  # nodes: below this all are looked at, above it at least so many
LEAST_PERCENT = 5

REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


def feasible_wanted(percentage: int, nodes: int) -> int:
    """How many feasible nodes are enough. 0 percent means: adapt to the number of nodes."""
    if nodes < FEWEST or percentage >= 100:
        return nodes
    percent = percentage or max(LEAST_PERCENT, 50 - nodes // 125)
    return max(FEWEST, nodes * percent // 100)


def tree_order(nodes: NodeTable) -> list[int]:
    """Rows in the order kube-scheduler lists nodes: one of each zone in turn, zones as they came."""
    zones: dict[str, list[int]] = {}
    for row in sorted(nodes.rows.values(), key=nodes.arrival.__getitem__):
        labels = nodes.object_at(row).labels
        region, zone = (next((labels[k] for k in keys if k in labels), "") for keys in (REGION, ZONE))
        zones.setdefault(f"{region}:{zone}", []).append(row)
    longest = max(map(len, zones.values()), default=0)
    return [rows[turn] for turn in range(longest) for rows in zones.values() if turn < len(rows)]


class Sampling:
    """Goes round the nodes: each search starts where the last one ended."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._order: list[int] = []
        self._array: Rows = np.zeros(0, np.intp)  # the same, and of which list it is made
        self._array_of = self._order
        self._position = -1
        self._start = 0

    def wanted(self, plan: ProfilePlan, candidates: Collection[int] | None) -> int | None:
        """How many feasible nodes to look for, or None for all there are."""
        percentage = plan.percentage_of_nodes_to_score
        if not percentage and not plan.adaptive:
            return None
        nodes = len(self._nodes) if candidates is None else len(candidates)
        wanted = feasible_wanted(percentage or 0, nodes)
        return None if wanted >= nodes else wanted

    def first(self, feasible: Collection[int], candidates: Collection[int] | None, wanted: int) -> list[int]:
        """The first feasible rows of this round; the next one starts behind the last row looked at."""
        order = self._listed(candidates)
        start = self._start % len(order) if order else 0
        found: list[int] = []
        looked_at = 0
        for row in (*order[start:], *order[:start]):
            looked_at += 1
            if row in feasible:
                found.append(row)
                if len(found) == wanted:
                    break
        self.move_on(looked_at)
        return found

    def order(self, candidates: Collection[int] | None) -> Rows:
        """The rows in the order this round looks at them."""
        listed = np.array(self._listed(candidates), np.intp) if candidates is not None else self._all()
        start = self._start % max(1, len(listed))
        return np.concatenate([listed[start:], listed[:start]])

    def move_on(self, looked_at: int) -> None:
        """The next round starts behind so many rows."""
        self._start = (self._start + looked_at) % max(1, len(self._nodes))

    def _all(self) -> Rows:
        """All rows in order, as an array."""
        order = self._listed(None)
        if self._array_of is not order:
            self._array, self._array_of = np.array(order, np.intp), order
        return self._array

    def _listed(self, candidates: Collection[int] | None) -> list[int]:
        position = self._nodes.node_journal.position
        if position != self._position:
            self._position, self._order = position, tree_order(self._nodes)
        if candidates is None:
            return self._order
        return [row for row in self._order if row in candidates]
