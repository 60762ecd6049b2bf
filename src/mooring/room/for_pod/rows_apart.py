"""Nodes where more than priorities says who may go: pods of gangs are there, or pods that a policy protects.

They are looked at one by one. As long as there are no gangs and no such policy, this costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mooring.cluster.columns import Bools, Rows
from mooring.cluster.nodes import NodeTable
from mooring.cluster.pods import PodTable
from mooring.room.victims import VictimRule
from mooring.workloads.placed_gangs import PlacedGangs

RowsApart = Callable[[Rows], Bools]


class GangRows:
    """Rows with pods of gangs, looked at again when their pods change."""

    def __init__(self, nodes: NodeTable, pods: PodTable) -> None:
        self._nodes = nodes
        self._pods = pods
        self._position = -1
        self._with_gangs: Bools = np.zeros(0, np.bool_)

    def of(self, members: Mapping[str, object]) -> Bools:
        """By row: whether a pod there is one of these members."""
        nodes = self._nodes
        changed = nodes.journal.since(self._position) if self._position >= 0 else None
        self._position = nodes.journal.position
        if changed is None or len(self._with_gangs) < nodes.capacity:
            self._with_gangs = np.zeros(nodes.capacity, np.bool_)
            changed = list(range(nodes.high))
        for row in set(changed):
            self._with_gangs[row] = not members.keys().isdisjoint(self._pods.on(row))
        return self._with_gangs

    def apart(self, rule: VictimRule, gangs: PlacedGangs) -> RowsApart | None:
        """Says of rows which of them are to be looked at one by one; None when none is."""
        with_gangs = self.of(gangs.members) if gangs.members else None
        if rule.may_evict is None:
            return None if with_gangs is None else with_gangs.__getitem__

        def apart(rows: Rows) -> Bools:
            protected: Bools = np.array([self._is_protected(row, rule) for row in rows.tolist()], np.bool_)
            return protected if with_gangs is None else protected | with_gangs[rows]

        return apart

    def _is_protected(self, row: int, rule: VictimRule) -> bool:
        lower = (each for each in self._pods.on(row).values() if each.pod.priority < rule.priority)
        return any(map(rule.spares, lower))
