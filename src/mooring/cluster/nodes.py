"""The nodes of the cluster as columns: a row per node, one contiguous array per thing known.

Rows are freed when a node goes and used again by the next. Each array of numbers has a memoryview of
the same memory beside it (`..._at`), for reading and writing single values as plain Python integers.
Only `Statement` changes what is here, and each change is written to the journal after it is made.

A resource has columns as long as some node has any of it. Sums of what pods take stop at `MOST_TAKEN`;
what is beyond is known aside, so that sums are right again once the pods are gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import copy
from functools import lru_cache
from operator import itemgetter

import msgspec
import numpy as np
from numpy.typing import NDArray

from mooring.cluster.charge import Charge
from mooring.cluster.column import Column, ResourceColumns
from mooring.cluster.images import Images, ImageSizes
from mooring.cluster.interning import Shared
from mooring.cluster.journal import Journal
from mooring.cluster.labels import LabelColumns
from mooring.cluster.usedports import UsedPorts
from mooring.model.amounts import LARGEST
from mooring.model.objects import Node, Taint
from mooring.model.quantity import Quantity
from mooring.model.requests import Allocatable, node_allocatable

Amounts = tuple[int, ...]  # one of each column of amounts
Bill = tuple[tuple[int, memoryview], ...]  # amounts, and what they are added to
FIRST_CAPACITY = 64
EVERYWHERE = ("cpu", "memory", "ephemeral-storage")  # have columns whatever nodes have
MOST_TAKEN = 2 * LARGEST  # in a column: with one pod more it is still within 64 bits
BILLS = 1024  # kept at a time
GROWS_BY = 4  # parts one: what is kept of classes is as wide as the table, so there is little room to spare


class Extent(msgspec.Struct, frozen=True):
    """What there is of a resource, to divide by: at least 1. Of all rows in use: the least, and the most."""

    divisor: NDArray[np.float64]
    least: int
    most: int


@lru_cache(maxsize=1024)
def _allocatable(*resources: tuple[str, Quantity]) -> Allocatable:
    """Nodes of a sort have the same to give."""
    return node_allocatable(dict(resources))


class NodeTable:
    """Columns over nodes. Read by anyone, changed by statements alone."""

    def __init__(self) -> None:
        self.capacity = FIRST_CAPACITY
        self.high = 0  # rows in use lie below
        self.layout = object()  # another one when there are other arrays, or wider ones
        self.rows: dict[str, int] = {}
        self.objects: list[Node | None] = []
        self.names: list[str] = []  # of the nodes, by row
        self.arrival: list[int] = []  # the order nodes joined in, by row
        self._arrivals = 0
        self._free: list[int] = []
        self.resources = {name: ResourceColumns(self.capacity) for name in EVERYWHERE}
        self._had_by: Counter[str] = Counter()  # other resources: how many nodes have any
        self._nothing = ResourceColumns(self.capacity)  # of a resource that no node has
        self._beyond: dict[tuple[Column, int], int] = {}  # sums above MOST_TAKEN, by column and row
        self.nonzero_cpu_milli = Column(self.capacity)
        self.nonzero_memory = Column(self.capacity)
        self.pods = Column(self.capacity)
        self.max_pods = Column(self.capacity)
        self.alive = np.zeros(self.capacity, np.bool_)
        self.unschedulable = np.zeros(self.capacity, np.bool_)
        self.taint_sets: Shared[tuple[Taint, ...]] = Shared()
        self.taint_sets.take(())  # those of rows without a node; they are 0
        self.taint_set = Column(self.capacity)
        self.labels = LabelColumns(self.capacity)
        self.images = Images()
        self.ports = UsedPorts()
        self.journal = Journal()  # rows whose pods or node object changed
        self.node_journal = Journal()  # rows whose node object changed
        self._ordered: NDArray[np.intp] = np.zeros(0, np.intp)
        self._ordered_at = -1
        self._extents: dict[str, tuple[int, Extent]] = {}
        self._lay_out()

    def __len__(self) -> int:
        return len(self.rows)

    def of_resource(self, name: str) -> ResourceColumns:
        """The columns of a resource, as long as the layout stays; of one that no node has they are all 0."""
        return self.resources.get(name, self._nothing)

    def amounts(self, row: int) -> Amounts:
        """What there is on a node and what pods take of it, as one value."""
        return tuple(map(itemgetter(row), self._amounts_at))

    def extent(self, resource: str) -> Extent:
        """What there is of a resource on all nodes together. The same until a node object changes."""
        position = self.node_journal.position
        known = self._extents.get(resource)
        if known is None or known[0] != position:
            has = self.of_resource(resource).allocatable.array
            in_use = has[: self.high]
            least, most = (int(in_use.min()), int(in_use.max())) if self.high else (0, 0)
            extent = Extent(np.maximum(has, 1).astype(np.float64), least, most)
            known = (position, extent)
            if resource in self.resources:
                self._extents[resource] = known
        return known[1]

    def in_order(self) -> NDArray[np.intp]:
        """Rows in the order their nodes joined; worked out again when a node changes."""
        if self._ordered_at != self.node_journal.position:
            self._ordered_at = self.node_journal.position
            self._ordered = np.fromiter(self.rows.values(), np.intp, len(self.rows))
        return self._ordered

    @property
    def overflows(self) -> bool:
        """Whether pods of any node take more than columns can tell."""
        return bool(self._beyond)

    def object_at(self, row: int) -> Node:
        node = self.objects[row]
        assert node is not None
        return node

    def check(self) -> None:
        """Asserts that names, rows and objects agree, and that nothing is left of nodes that are gone."""
        for journal in (self.journal, self.node_journal):
            journal.check()
        free = set(self._free)
        assert len(free) == len(self._free)
        assert free | set(self.rows.values()) == set(range(self.high))
        assert not free & set(self.rows.values())
        assert np.flatnonzero(self.alive).tolist() == sorted(self.rows.values())
        for name, row in self.rows.items():
            assert self.object_at(row).name == name == self.names[row]
        assert self.resources.keys() == {*EVERYWHERE, *+self._had_by}
        for name, nodes in self._had_by.items():
            assert nodes == np.count_nonzero(self.resources[name].allocatable.array)
        for (column, row), total in self._beyond.items():
            assert total > MOST_TAKEN == column.at[row]
        columns = [column for resource in (*self.resources.values(), self._nothing) for column in resource]
        assert not any(column.array.any() for column in self._nothing)
        columns += [self.nonzero_cpu_milli, self.nonzero_memory, self.pods, self.max_pods, self.taint_set]
        for row in free:
            assert self.objects[row] is None
            assert not self.unschedulable[row]
            assert not any(column.at[row] for column in columns)
            assert self.labels.absent(row)

    def fork(self) -> NodeTable:
        """A table with the same in it that goes its own way."""
        fork = copy(self)
        plain = ("nonzero_cpu_milli", "nonzero_memory", "pods", "max_pods", "taint_set")
        columns = [column for each in (*self.resources.values(), self._nothing) for column in each]
        twins = {each: each.fork() for each in (*columns, *(getattr(self, name) for name in plain))}
        for name in plain:
            setattr(fork, name, twins[getattr(self, name)])
        fork.resources = {name: each.fork(twins) for name, each in self.resources.items()}
        fork._nothing = self._nothing.fork(twins)
        fork._beyond = {(twins[column], row): total for (column, row), total in self._beyond.items()}
        for name in ("alive", "unschedulable", "rows", "objects", "names", "arrival", "_free", "_had_by"):
            setattr(fork, name, getattr(self, name).copy())
        for name in ("taint_sets", "labels", "images", "ports", "journal", "node_journal"):
            setattr(fork, name, getattr(self, name).fork())
        fork._extents = {}
        fork._lay_out()
        return fork

    # What follows is called by Statement only.

    def put(self, node: Node, image_sizes: ImageSizes | None = None) -> ImageSizes:
        """Adds a node, or replaces the object of the node of that name.

        Returns the sizes of the images forgotten with it, which `image_sizes` brings back.
        """
        has = _allocatable(*node.status.allocatable.items())  # may refuse the node: before anything changes
        row = self.rows.get(node.name)
        if row is None:
            row = self._new_row()
            self.rows[node.name] = row
            self.alive[row] = True
            self._arrivals += 1
            self.arrival[row] = self._arrivals
        old, self.objects[row], self.names[row] = self.objects[row], node, node.name
        self._write_object(row, node, has)
        forgotten = self.images.put(row, old, node, image_sizes)
        self._changed_object(row)
        return forgotten

    def drop(self, row: int) -> ImageSizes:
        """Takes a node without pods away and frees its row. Returns the sizes of images forgotten with it."""
        node = self.object_at(row)
        forgotten = self.images.put(row, node, None)
        self._write_object(row, None, Allocatable())
        self.alive[row] = False
        self.objects[row], self.names[row] = None, ""
        del self.rows[node.name]
        self._free.append(row)
        self._changed_object(row)
        return forgotten

    def charge(self, row: int, charge: Charge, sign: int) -> None:
        """Adds (sign 1) or subtracts (sign -1) what a pod that holds a place takes."""
        if charge.heavy or self._beyond:
            self._charge_heavily(row, charge, sign)
        else:
            for amount, taken in self._bills.get(charge) or self._bill(charge):
                taken[row] += sign * amount
        if charge.ports:
            self.ports.add(row, charge.ports, sign)
        self.journal.write(row)

    def _bill(self, charge: Charge) -> Bill:
        """Where a charge is written, as long as the layout stays."""
        if len(self._bills) >= BILLS:
            self._bills.clear()
        there = self.resources
        taken = [(amount, there[name].requested.at) for name, amount in charge.amounts if name in there]
        taken.append((charge.nonzero_cpu_milli, self.nonzero_cpu_milli.at))
        taken.append((charge.nonzero_memory, self.nonzero_memory.at))
        taken.append((1, self.pods.at))
        bill = self._bills[charge] = tuple(taken)
        return bill

    def count_in(self, row: int, resource: str, requested: int) -> None:
        """What a pod takes of a resource that has columns only now."""
        self._add(self.resources[resource].requested, row, requested)
        self.journal.write(row)

    def _charge_heavily(self, row: int, charge: Charge, sign: int) -> None:
        for name, amount in charge.amounts:
            if (columns := self.resources.get(name)) is not None:
                self._add(columns.requested, row, sign * amount)
        self._add(self.nonzero_cpu_milli, row, sign * charge.nonzero_cpu_milli)
        self._add(self.nonzero_memory, row, sign * charge.nonzero_memory)
        self.pods.at[row] += sign

    def _add(self, column: Column, row: int, amount: int) -> None:
        total = self._beyond.pop((column, row), column.at[row]) + amount
        column.at[row] = min(total, MOST_TAKEN)
        if total > MOST_TAKEN:
            self._beyond[column, row] = total

    def _changed_object(self, row: int) -> None:
        self.node_journal.write(row)
        self.journal.write(row)

    def _write_object(self, row: int, node: Node | None, has: Allocatable) -> None:
        """Fills the columns that come from the node object; zeros and absences when there is none."""
        amounts = {"cpu": has.cpu_milli, "memory": has.memory, "ephemeral-storage": has.ephemeral_storage}
        amounts.update(has.scalars)
        self._have_columns(amounts)
        for name, columns in self.resources.items():
            before, columns.allocatable.at[row] = columns.allocatable.at[row], amounts.get(name, 0)
            if name not in EVERYWHERE:
                self._had_by[name] += (name in amounts) - (before > 0)
        if gone := [name for name, nodes in self._had_by.items() if not nodes]:
            for name in gone:
                self._drop_columns(name)
            self._lay_out()
        self.max_pods.at[row] = has.pods
        self.unschedulable[row] = node is not None and node.spec.unschedulable
        before = self.taint_set.at[row]
        self.taint_set.at[row] = self.taint_sets.take(node.spec.taints) if node and node.spec.taints else 0
        if before:
            self.taint_sets.give_back(before)
        self.labels.put(row, node.labels if node else {})

    def _have_columns(self, names: Iterable[str]) -> None:
        if missing := [name for name in names if name not in self.resources]:
            for name in missing:
                self.resources[name] = ResourceColumns(self.capacity)
            self._lay_out()

    def _drop_columns(self, name: str) -> None:
        """No node has any of a resource now; what pods take of it is of no interest."""
        columns = {*self.resources.pop(name)}
        del self._had_by[name]
        self._extents.pop(name, None)
        self._beyond = {key: total for key, total in self._beyond.items() if key[0] not in columns}

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        row = self.high
        if row == self.capacity:
            self._grow(self.capacity + max(self.capacity // GROWS_BY, FIRST_CAPACITY))
        self.high += 1
        self.objects.append(None)
        self.names.append("")
        self.arrival.append(0)
        return row

    def _grow(self, capacity: int) -> None:
        for resource in (*self.resources.values(), self._nothing):
            for column in resource:
                column.grow(capacity)
        for column in (self.nonzero_cpu_milli, self.nonzero_memory, self.pods, self.max_pods, self.taint_set):
            column.grow(capacity)
        for name in ("alive", "unschedulable"):
            wider = np.zeros(capacity, np.bool_)
            wider[: self.capacity] = getattr(self, name)
            setattr(self, name, wider)
        self.labels.grow(capacity)
        self.capacity = capacity
        self._lay_out()

    def _lay_out(self) -> None:
        taken = [column for each in self.resources.values() for column in (each.allocatable, each.requested)]
        counted = [self.pods, self.max_pods, self.nonzero_cpu_milli, self.nonzero_memory]
        self.amount_columns = [*counted, *taken]
        self._amounts_at = [column.at for column in self.amount_columns]
        self._bills: dict[Charge, Bill] = {}
        self.layout = object()
