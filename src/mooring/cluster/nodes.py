"""The nodes of the cluster as columns: a row per node, one contiguous array per thing known.

Rows are freed when a node goes and used again by the next. Each array of numbers has a memoryview of
the same memory beside it (`..._at`), for reading and writing single values as plain Python integers.
Only `Statement` changes what is here, and each change is written to the journal after it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from mooring.cluster.charge import FIRST_RESOURCES, Charge
from mooring.cluster.images import Images, ImageSizes
from mooring.cluster.interning import Interner
from mooring.cluster.journal import Journal
from mooring.cluster.labels import LabelColumns
from mooring.cluster.usedports import UsedPorts
from mooring.model.objects import Node, Taint
from mooring.model.quantity import Quantity
from mooring.model.requests import Allocatable, node_allocatable

Ints = NDArray[np.int64]
Amounts = tuple[int, ...]  # one of each column of amounts
FIRST_CAPACITY = 64
GROWS_BY = 4  # parts one: what is kept of classes is as wide as the table, so there is little room to spare


class Column:
    """One array over nodes, and views of it: of single values, and of the first rows for reading only."""

    __slots__ = ("_first", "array", "at")
    _first: Ints

    def __init__(self, capacity: int) -> None:
        self._put(np.zeros(capacity, np.int64))

    def grow(self, capacity: int) -> None:
        wider = np.zeros(capacity, np.int64)
        wider[: len(self.array)] = self.array
        self._put(wider)

    def first(self, rows: int) -> Ints:
        """So many rows from the first on. They are read very often, so the same view serves again."""
        if len(self._first) != rows:
            self._first = self.array[:rows]
            self._first.flags.writeable = False
        return self._first

    def _put(self, array: Ints) -> None:
        self.array = array
        self.at = memoryview(array)  # type: ignore[arg-type]
        self._first = array[:0]


class ResourceColumns:
    """Amounts of one resource over nodes."""

    __slots__ = ("allocatable", "promised", "releasing", "requested")

    def __init__(self, capacity: int) -> None:
        self.allocatable = Column(capacity)
        self.requested = Column(capacity)  # of all pods that hold a place
        self.releasing = Column(capacity)  # the part of it held by pods on their way out
        self.promised = Column(capacity)  # of pods that wait for releasing room

    def __iter__(self) -> Iterator[Column]:
        return iter((self.allocatable, self.requested, self.releasing, self.promised))


class Extent(msgspec.Struct, frozen=True):
    """What there is of a resource, to divide by: at least 1. Of all rows in use: the least, and the most."""

    divisor: NDArray[np.float64]
    least: int
    most: int


@lru_cache(maxsize=4096)
def _allocatable(*resources: tuple[str, Quantity]) -> Allocatable:
    """Nodes of a sort have the same to give."""
    return node_allocatable(dict(resources))


class NodeTable:
    """Columns over nodes. Read by anyone, changed by statements alone."""

    def __init__(self) -> None:
        self.capacity = FIRST_CAPACITY
        self.high = 0  # rows in use lie below
        self.layout = 0  # moves when there are more arrays, or wider ones
        self.rows: dict[str, int] = {}
        self.objects: list[Node | None] = []
        self.arrival: list[int] = []  # the order nodes joined in, by row
        self._arrivals = 0
        self._free: list[int] = []
        self.resource_names = Interner(*FIRST_RESOURCES)
        self.resources = [ResourceColumns(self.capacity) for _ in FIRST_RESOURCES]
        self._by_name = dict(zip(FIRST_RESOURCES, self.resources, strict=True))
        self.nonzero_cpu_milli = Column(self.capacity)
        self.nonzero_memory = Column(self.capacity)
        self.pods = Column(self.capacity)
        self.max_pods = Column(self.capacity)
        self.alive = np.zeros(self.capacity, np.bool_)
        self.unschedulable = np.zeros(self.capacity, np.bool_)
        self.taint_sets: Interner[tuple[Taint, ...]] = Interner(())
        self.taint_set = Column(self.capacity)
        self.labels = LabelColumns(self.capacity)
        self.images = Images()
        self.ports = UsedPorts()
        self.journal = Journal()  # rows whose pods or node object changed
        self.node_journal = Journal()  # rows whose node object changed
        self._ordered: NDArray[np.intp] = np.zeros(0, np.intp)
        self._ordered_at = -1
        self._extents: dict[int, tuple[int, Extent]] = {}
        self._lay_out()

    def __len__(self) -> int:
        return len(self.rows)

    def resource(self, name: str) -> int:
        """The column number of a resource, made now if the name is new."""
        number = self.resource_names.id(name)
        if number == len(self.resources):
            columns = self._by_name[name] = ResourceColumns(self.capacity)
            self.resources.append(columns)
            self._lay_out()
        return number

    def of_resource(self, name: str) -> ResourceColumns:
        """The columns of a resource, made now if the name is new."""
        return self._by_name.get(name) or self.resources[self.resource(name)]

    def amounts(self, row: int) -> Amounts:
        """What there is on a node and what pods take of it, as one value."""
        return tuple([at[row] for at in self._amounts_at])

    def extent(self, number: int) -> Extent:
        """What there is of a resource on all nodes together. The same until a node object changes."""
        position = self.node_journal.position
        known = self._extents.get(number)
        if known is None or known[0] != position:
            has = self.resources[number].allocatable.array
            in_use = has[: self.high]
            least, most = (int(in_use.min()), int(in_use.max())) if self.high else (0, 0)
            extent = Extent(np.maximum(has, 1).astype(np.float64), least, most)
            known = self._extents[number] = (position, extent)
        return known[1]

    def in_order(self) -> NDArray[np.intp]:
        """Rows in the order their nodes joined; worked out again when a node changes."""
        if self._ordered_at != self.node_journal.position:
            self._ordered_at = self.node_journal.position
            self._ordered = np.fromiter(self.rows.values(), np.intp, len(self.rows))
        return self._ordered

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
            assert self.object_at(row).name == name
        assert list(self._by_name.items()) == list(
            zip(self.resource_names.values, self.resources, strict=True)
        )
        columns = [column for resource in self.resources for column in resource]
        columns += [self.nonzero_cpu_milli, self.nonzero_memory, self.pods, self.max_pods, self.taint_set]
        for row in free:
            assert self.objects[row] is None
            assert not self.unschedulable[row]
            assert not any(column.at[row] for column in columns)
            assert self.labels.absent(row)

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
        old, self.objects[row] = self.objects[row], node
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
        self.objects[row] = None
        del self.rows[node.name]
        self._free.append(row)
        self._changed_object(row)
        return forgotten

    def charge(self, row: int, charge: Charge, sign: int) -> None:
        """Adds (sign 1) or subtracts (sign -1) what a pod that holds a place takes."""
        resources = self.resources
        for column, amount in charge.columns:
            resources[column].requested.at[row] += sign * amount
        self.nonzero_cpu_milli.at[row] += sign * charge.nonzero_cpu_milli
        self.nonzero_memory.at[row] += sign * charge.nonzero_memory
        self.pods.at[row] += sign
        if charge.ports:
            self.ports.add(row, charge.ports, sign)
        self.journal.write(row)

    def charge_releasing(self, row: int, charge: Charge, sign: int) -> None:
        for column, amount in charge.columns:
            self.resources[column].releasing.at[row] += sign * amount
        self.journal.write(row)

    def charge_promised(self, row: int, charge: Charge, sign: int) -> None:
        for column, amount in charge.columns:
            self.resources[column].promised.at[row] += sign * amount
        self.journal.write(row)

    def _changed_object(self, row: int) -> None:
        self.node_journal.write(row)
        self.journal.write(row)

    def _write_object(self, row: int, node: Node | None, has: Allocatable) -> None:
        """Fills the columns that come from the node object; zeros and absences when there is none."""
        amounts = {"cpu": has.cpu_milli, "memory": has.memory, "ephemeral-storage": has.ephemeral_storage}
        amounts.update(has.scalars)
        for name in amounts:
            self.resource(name)
        for number, name in enumerate(self.resource_names.values):
            self.resources[number].allocatable.at[row] = amounts.get(name, 0)
        self.max_pods.at[row] = has.pods
        self.unschedulable[row] = node is not None and node.spec.unschedulable
        self.taint_set.at[row] = self.taint_sets.id(node.spec.taints if node else ())
        self.labels.put(row, node.labels if node else {})

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        row = self.high
        if row == self.capacity:
            self._grow(self.capacity + max(self.capacity // GROWS_BY, FIRST_CAPACITY))
        self.high += 1
        self.objects.append(None)
        self.arrival.append(0)
        return row

    def _grow(self, capacity: int) -> None:
        for resource in self.resources:
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
        taken = [column for each in self.resources for column in (each.allocatable, each.requested)]
        counted = [self.pods, self.max_pods, self.nonzero_cpu_milli, self.nonzero_memory]
        self.amount_columns = [*counted, *taken]
        self._amounts_at = [column.at for column in self.amount_columns]
        self.layout += 1
