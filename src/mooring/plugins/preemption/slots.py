"""The pods of each node as arrays: a row per node, a slot per pod, the most important pod first.

Rows are filled when somebody looks at them and again after they changed, so looking at a few nodes
costs what a few nodes cost. Requests and labels repeat, so slots hold small integers for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from mooring.cluster.charge import Charge
from mooring.cluster.columns import Bools, Rows
from mooring.cluster.nodes import Ints, NodeTable
from mooring.cluster.pods import Hold, Placed, PodTable
from mooring.plugins.preemption.importance import importance, started_us

EMPTY_PRIORITY = 2**40  # above any pod's: an empty slot is nobody's victim
NO_CHARGE = Charge((), 0, 0)
NO_AMOUNTS: Ints = np.zeros(0, np.int64)
FORGET_ABOVE = 500_000  # distinct charges or label sets; then all rows are filled anew
FEWEST_SLOTS = 8

Small = NDArray[np.int32]


class Slots(msgspec.Struct, frozen=True):
    """Some rows, slot by slot: every array is slots x rows."""

    priority: Ints
    start_us: Ints
    charge: Small
    labels: Small


class LabelSet(msgspec.Struct, frozen=True):
    """What budgets look at."""

    namespace: str
    labels: Mapping[str, str]


class PodSlots:
    """Slots of all rows, in step with the cluster."""

    def __init__(self, nodes: NodeTable, pods: PodTable) -> None:
        self.nodes = nodes
        self._pods = pods
        self.generation = 0
        self._position = -1
        self._keys: tuple[str, ...] = ()  # labels budgets look at
        self._forget()

    def gather(self, rows: Rows, keys: tuple[str, ...]) -> Slots:
        """These rows as they are now. Pods are told apart by the values of these labels."""
        self._follow(keys)
        stale = rows[~self._filled[rows]]
        if len(stale):
            self._fill(stale)
        width = int(self._count[rows].max(initial=0))

        def turned(array: NDArray[np.generic]) -> NDArray[np.generic]:
            return np.ascontiguousarray(array[rows, :width].T)

        return Slots(*map(turned, (self._priority, self._start_us, self._charge, self._labels)))  # type: ignore[arg-type]

    def placed(self, row: int) -> list[Placed]:
        """The pods of a row in the order of their slots."""
        there = self._pods.on(row).values()
        return sorted((p for p in there if p.hold is not Hold.PROMISED), key=importance)

    def is_leaving(self, uid: str) -> bool:
        """Whether a pod holds its place only until it is deleted, as we have asked for."""
        placed = self._pods.by_uid.get(uid)
        return placed is not None and placed.hold is Hold.RELEASING

    def amounts(self, resource: str) -> Ints:
        """What each charge takes of a resource."""
        column = self.nodes.resource(resource)
        known = self._amounts.get(column, NO_AMOUNTS)
        if len(known) < len(self._charges):
            new = islice(self._charges, len(known), None)
            more = [dict(charge.columns).get(column, 0) for charge in new]
            known = self._amounts[column] = np.concatenate([known, np.array(more, np.int64)])
        return known

    @property
    def label_sets(self) -> list[LabelSet]:
        """A pod's labels for each number; only ever added to, until `generation` moves."""
        return self._label_sets

    def _forget(self) -> None:
        """Begins anew with nothing filled."""
        self.generation += 1
        self._charges: dict[Charge, int] = {NO_CHARGE: 0}
        self._amounts: dict[int, Ints] = {}
        self._label_ids: dict[tuple[object, ...], int] = {}
        self._label_sets = [LabelSet("", {})]
        self._make(0, FEWEST_SLOTS)

    def _make(self, capacity: int, width: int) -> None:
        """New arrays, of which no row is filled."""
        self._filled: Bools = np.zeros(capacity, np.bool_)
        self._count: Ints = np.zeros(capacity, np.int64)
        self._priority: Ints = np.full((capacity, width), EMPTY_PRIORITY, np.int64)
        self._start_us: Ints = np.zeros((capacity, width), np.int64)
        self._charge: Small = np.zeros((capacity, width), np.int32)
        self._labels: Small = np.zeros((capacity, width), np.int32)

    def _follow(self, keys: tuple[str, ...]) -> None:
        """Marks the rows that changed since the last time."""
        journal = self.nodes.journal
        changed = journal.since(self._position) if self._position >= 0 else None
        self._position = journal.position
        if keys != self._keys or max(len(self._charges), len(self._label_sets)) > FORGET_ABOVE:
            self._keys = keys
            self._forget()
        if len(self._filled) < self.nodes.capacity:
            self._make(self.nodes.capacity, self._priority.shape[1])
        if changed is None:
            self._filled[:] = False
        elif changed:
            self._filled[changed] = False

    def _fill(self, rows: Rows) -> None:
        on, promised = self._pods.on, Hold.PROMISED
        there = [[p for p in on(row).values() if p.hold is not promised] for row in rows.tolist()]
        placed = [p for pods in there for p in pods]
        counts = np.array(list(map(len, there)), np.int64)
        widest = int(counts.max())
        if widest > self._priority.shape[1]:
            self._widen(max(widest, 2 * self._priority.shape[1]))
        pods = [p.pod for p in placed]
        priority = np.array([pod.spec.priority or 0 for pod in pods], np.int64)
        start = np.array([started_us(pod.status.start_time) for pod in pods], np.int64)
        index = np.repeat(np.arange(len(rows)), counts)
        order = np.lexsort((start, -priority, index))  # stable: equals stay in the order they came
        at = rows[index]
        slot = np.arange(len(placed)) - np.repeat(np.cumsum(counts) - counts, counts)
        self._priority[rows] = EMPTY_PRIORITY
        self._priority[at, slot] = priority[order]
        self._start_us[at, slot] = start[order]
        self._charge[at, slot] = np.array(self._charge_ids(placed), np.int32)[order]
        if self._keys:
            self._labels[at, slot] = np.array(self._labels_of(placed), np.int32)[order]
        self._count[rows] = counts
        self._filled[rows] = True

    def _widen(self, width: int) -> None:
        more = ((0, 0), (0, width - self._priority.shape[1]))
        self._priority = np.pad(self._priority, more, constant_values=EMPTY_PRIORITY)
        self._start_us = np.pad(self._start_us, more)
        self._charge = np.pad(self._charge, more)
        self._labels = np.pad(self._labels, more)

    def _charge_ids(self, placed: list[Placed]) -> list[int]:
        known = self._charges
        return [known.setdefault(p.charge, len(known)) for p in placed]

    def _labels_of(self, placed: list[Placed]) -> list[int]:
        known, keys, ids = self._label_ids, self._keys, []
        for each in placed:
            meta = each.pod.metadata
            labels = meta.labels
            key = (meta.namespace, not labels, *map(labels.get, keys))
            number = known.get(key)
            if number is None:
                number = known[key] = len(self._label_sets)
                self._label_sets.append(LabelSet(meta.namespace, labels))
            ids.append(number)
        return ids
