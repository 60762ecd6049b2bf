"""The pods of each node as arrays: a column per node, a slot per pod, the most important pod first.

Columns are filled when somebody looks at them and again after their pods changed, so looking at a few
nodes costs what a few nodes cost. What is not filled yet can be filled ahead, a few nodes at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

import msgspec
import numpy as np
from numpy.typing import NDArray

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, Rows
from mooring.cluster.nodes import NodeTable
from mooring.cluster.pods import PROMISED, RELEASING, Placed, PodTable
from mooring.model.objects import Pod
from mooring.model.requests import Request
from mooring.room.for_pod.pod_kinds import EMPTY, START_BITS, Kinds

FEWEST_SLOTS = 8
MOST_RANKS = 2 ** (63 - START_BITS)
FEW = 64  # rows that are quickly filled
AT_ONCE = 1024  # rows; more would not fit into the processor's memory

Small = NDArray[np.int32]


class Slots(msgspec.Struct, frozen=True):
    """Some rows, slot by slot: both arrays are slots x rows."""

    kind: Small
    start_us: Ints


class PodSlots:
    """Slots of all rows, in step with the cluster."""

    def __init__(self, nodes: NodeTable, pods: PodTable) -> None:
        self.nodes = nodes
        self.kinds = Kinds(nodes, pods.kinds_from)
        self._pods = pods
        self._position = -1
        self._generation = self.kinds.generation
        self._make(0, FEWEST_SLOTS)

    def follow(self, keys: tuple[str, ...]) -> None:
        """Marks the rows that changed since the last time. Budgets look at these labels."""
        self.kinds.look_at(keys, len(self._pods))
        journal = self.nodes.journal
        changed = journal.since(self._position) if self._position >= 0 else None
        self._position = journal.position
        if len(self._filled) < self.nodes.capacity:
            self._make(self.nodes.capacity, len(self._kind))
        if changed is None or self._generation != self.kinds.generation:
            self._generation = self.kinds.generation
            self._filled[:] = False
        elif changed:
            self._filled[list(set(changed))] = False

    def gather(self, rows: Rows) -> Slots:
        """These rows as they were when the cluster was last followed."""
        self.fill(rows)
        width = int(self._count[rows].max(initial=0))
        return Slots(self._kind[:width].take(rows, axis=1), self._start_us[:width].take(rows, axis=1))

    def fill(self, rows: Rows) -> None:
        """Fills those that are not."""
        stale = rows[~self._filled[rows]]
        for start in range(0, len(stale), AT_ONCE):
            self._fill(stale[start : start + AT_ONCE])

    def fill_some(self) -> bool:
        """Fills some more rows, if many are not filled. True when there are still others."""
        rows = np.flatnonzero(self.nodes.alive[: self.nodes.high] & ~self._filled[: self.nodes.high])
        if len(rows) > FEW:
            self._fill(rows[:FEW])
        return len(rows) > 2 * FEW

    def placed(self, row: int) -> list[Placed]:
        """The pods of a row in the order of their slots."""
        return self.kinds.in_order(self._on(row))

    def absent(self, pods: Iterable[Pod]) -> list[Request]:
        """What those of the pods ask for that have no place yet."""
        return [pod.request for pod in pods if pod.metadata.uid not in self._pods.by_uid]

    def names(self, row: int) -> Iterator[str]:
        """The names of the pods of a row."""
        return (placed.pod.metadata.name for placed in self._pods.on(row).values())

    def awaits_deletion(self, uid: str) -> bool:
        """Whether a pod is such a one, and the API server does not show yet that it terminates."""
        placed = self._pods.by_uid.get(uid)
        return placed is not None and placed.hold is RELEASING and not placed.pod.terminating

    def _on(self, row: int) -> Collection[Placed]:
        """The pods that hold a place on a row."""
        placed = self._pods.on(row).values()
        if len(placed) == self.nodes.pods.at[row]:  # nobody is only promised one
            return placed
        return [each for each in placed if each.hold is not PROMISED]

    def _make(self, capacity: int, width: int) -> None:
        """New arrays, of which no row is filled."""
        self._filled: Bools = np.zeros(capacity, np.bool_)
        self._count: Ints = np.zeros(capacity, np.int64)
        self._kind: Small = np.zeros((width, capacity), np.int32)
        self._start_us: Ints = np.zeros((width, capacity), np.int64)

    def _fill(self, rows: Rows) -> None:
        there = list(map(self._on, rows.tolist()))
        counts = np.array(list(map(len, there)), np.int64)
        self._widen(int(counts.max()))
        kinds, starts = self.kinds.of(list(chain.from_iterable(there)))
        column = np.repeat(np.arange(len(rows)), counts)
        slot = np.arange(len(kinds)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = len(rows), len(self._kind)
        kind, start = np.full(shape, EMPTY, np.int64), np.zeros(shape, np.int64)
        kind[column, slot], start[column, slot] = kinds, starts
        order = self._in_order(kind, start)
        self._kind[:, rows] = np.take_along_axis(kind, order, 1).T
        self._start_us[:, rows] = np.take_along_axis(start, order, 1).T
        self._count[rows] = counts
        self._filled[rows] = True

    def _in_order(self, kind: Ints, start: Ints) -> Rows:
        """Sorts each row, the most important pod first; equals stay in the order they came."""
        ranks = self.kinds.ranks
        if int(ranks.max()) < MOST_RANKS:  # rank and start fit into one number
            return np.argsort(ranks[kind] << START_BITS | start, axis=1, kind="stable")
        return np.lexsort((start, ranks[kind]), axis=-1)

    def _widen(self, width: int) -> None:
        before, capacity = self._kind.shape
        if width <= before:
            return
        kind, start = self._kind, self._start_us
        width = max(width, 2 * before)
        self._kind = np.zeros((width, capacity), np.int32)
        self._start_us = np.zeros((width, capacity), np.int64)
        self._kind[:before], self._start_us[:before] = kind, start
