"""Who may be evicted for a gang, node by node, and what that would free.

A victim has a lower priority than the gang and is not marked as one that must not be preempted. Pods that
are leaving already are nobody's victims: their room is there for the taking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.charge import Charge, Charges
from mooring.cluster.column import Ints
from mooring.cluster.columns import Rows
from mooring.cluster.nodes import MOST_TAKEN, NodeTable
from mooring.cluster.pods import Hold, Placed, PodTable
from mooring.framework.api.capacity import Freed
from mooring.model.objects import Pod
from mooring.room.gangs_in_the_way import GangsInTheWay
from mooring.room.victims import Test, VictimRule
from mooring.workloads.placed_gangs import PlacedGangs

Awaited = Mapping[str, Sequence[Pod]]  # pods that are to come to nodes first, by node


class Places:
    """The nodes there are and the pods on them; shared by whoever looks at all of them."""

    def __init__(self, nodes: NodeTable, pods: PodTable) -> None:
        self.nodes = nodes
        self.pods = pods
        self._charges = Charges()

    def charge(self, pod: Pod) -> Charge:
        """What a pod that has no place yet will take."""
        return self._charges.of(pod, bound=False)

    def name(self, row: int) -> str:
        return self.nodes.names[row]


class Possible:
    """The possible victims on some rows."""

    def __init__(self, places: Places, placed: PlacedGangs, rule: VictimRule, rows: Iterable[int]) -> None:
        self._places = places
        self._placed_gangs = placed
        self._rule = rule
        self.gangs = GangsInTheWay(placed, rule)
        self.going: dict[int, list[Placed]] = {}  # by row
        self.leaving: dict[int, list[Placed]] = {}
        self._look_at(rows)

    def _look_at(self, rows: Iterable[int]) -> None:
        """In one loop over all pods there are: they are many."""
        pods, most, promised = self._places.pods, self._rule.priority, Hold.PROMISED
        for row in rows:
            going, leaving = [], []
            for placed in pods.on(row).values():
                if (placed.pod.spec.priority or 0) >= most or (hold := placed.hold) is promised:
                    continue
                if hold is Hold.RELEASING or placed.pod.metadata.deletion_timestamp is not None:
                    leaving.append(placed)
                elif not self._rule.spares(placed):
                    going.append(placed)
            if going:
                self.going[row] = going
            if leaving:
                self.leaving[row] = leaving

    def without(self, spared: Test) -> Possible:
        """The same with some left alone."""
        found = Possible(self._places, self._placed_gangs, self._rule.sparing(spared), ())
        found.leaving = self.leaving
        left = ((row, [each for each in going if not spared(each)]) for row, going in self.going.items())
        found.going = {row: going for row, going in left if going}
        return found

    def is_there(self, placed: Placed) -> bool:
        """Whether a pod is on its node, as things are now."""
        return placed.pod.metadata.uid in self._places.pods.by_uid

    def rows(self) -> set[int]:
        return self.going.keys() | self.leaving.keys()

    def highest(self) -> dict[int, int]:
        """The highest priority among possible victims, by row."""
        return {
            row: max([placed.pod.spec.priority or 0 for placed in going]) for row, going in self.going.items()
        }

    def priorities(self) -> list[int]:
        """The priorities of possible victims, lowest first."""
        return sorted({placed.pod.spec.priority or 0 for going in self.going.values() for placed in going})

    def freed(self, resources: Iterable[str], *, leaving: bool) -> Freed:
        """What is free besides, of these resources, once all victims have gone, and those leaving as well."""
        high = self._places.nodes.high
        rows: list[int] = []
        gone: list[Placed] = []
        for by_row in (self.going, self.leaving) if leaving else (self.going,):
            for row, placed in by_row.items():
                rows += [row] * len(placed)
                gone += placed
        return _freed(np.array(rows, np.intp), [placed.charge for placed in gone], resources, high)


def taken(places: Places, awaited: Awaited, resources: Iterable[str]) -> Freed:
    """What those take who are to come to nodes first."""
    nodes = places.nodes
    coming = [(nodes.rows[name], pod) for name, pods in awaited.items() for pod in pods if name in nodes.rows]
    at = np.array([row for row, _ in coming], np.intp)
    return _freed(at, [places.charge(pod) for _, pod in coming], resources, nodes.high)


def _freed(at: Rows, charges: list[Charge], resources: Iterable[str], high: int) -> Freed:
    places: Ints = np.bincount(at, minlength=high).astype(np.int64)
    return Freed(places, {name: _summed(at, charges, name, high) for name in resources})


def _summed(at: Rows, charges: list[Charge], resource: str, high: int) -> Ints:
    """Amounts of one resource by row; pods that ask for the same share one charge, which is read once."""
    known: dict[int, int] = {}
    amounts = []
    for charge in charges:
        amount = known.get(id(charge))
        if amount is None:
            amount = known[id(charge)] = dict(charge.amounts).get(resource, 0)
        amounts.append(amount)
    if any(charge.heavy for charge in charges):  # more than 64 bits together
        sums: NDArray[np.object_] = np.zeros(high, np.object_)
        np.add.at(sums, at, np.array(amounts, np.object_))
        return np.minimum(sums, MOST_TAKEN).astype(np.int64)
    total: Ints = np.zeros(high, np.int64)
    np.add.at(total, at, np.array(amounts, np.int64))
    return total
