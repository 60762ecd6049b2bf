"""What vector plugins see: columns over all nodes, or over some rows of them.

Arrays line up with `rows` and are for reading only. Rows without a node are there too (all zero,
labels absent); the engine masks them. `StaticColumns` holds what comes from node objects,
`NodeColumns` also what pods take.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.column import Column, Ints
from mooring.cluster.images import Images
from mooring.cluster.labels import ABSENT
from mooring.cluster.nodes import NodeTable
from mooring.cluster.view import StaticNode
from mooring.errors import ScopeError
from mooring.model.objects import Taint
from mooring.model.ports import HostPort

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]
T = TypeVar("T", bound=np.generic)


class StaticColumns:
    """Columns of node objects over some rows."""

    __slots__ = ("_at", "_nodes", "at_row", "rows")

    def __init__(self, nodes: NodeTable, view: Callable[[int], StaticNode], rows: Rows | None = None) -> None:
        self._nodes = nodes
        self.at_row = self._as_declared(view)  # the node at a row of the table
        self.rows: Rows = np.arange(nodes.high) if rows is None else rows
        # A slice reads columns without copying them.
        self._at: slice | Rows = slice(0, nodes.high) if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def alive(self) -> Bools:
        return self._read(self._nodes.alive)

    @property
    def unschedulable(self) -> Bools:
        return self._read(self._nodes.unschedulable)

    @property
    def max_pods(self) -> Ints:
        return self._of(self._nodes.max_pods)

    @property
    def images(self) -> Images:
        return self._nodes.images

    def allocatable(self, resource: str) -> Ints:
        return self._of(self._nodes.of_resource(resource).allocatable)

    def divisor(self, resource: str) -> NDArray[np.float64]:
        """What there is of a resource, at least 1, to divide by."""
        return self._read(self._nodes.extent(resource).divisor)

    def extent(self, resource: str) -> tuple[int, int]:
        """The least and the most there is of a resource on any node of the cluster."""
        extent = self._nodes.extent(resource)
        return extent.least, extent.most

    def matching_label(self, key: str, test: Callable[[str | None], bool]) -> Bools:
        """Rows whose value of a label (None where absent) passes the test."""
        return self._nodes.labels.column(key).matching(test)[self._at]

    def known_label(self, key: str) -> bool:
        """Whether any node of the cluster carries a label."""
        return self._nodes.labels.has(key)

    def with_label(self, key: str, values: Collection[str] | None = None) -> Bools:
        """Rows that carry a label, with one of some values if any are given."""
        column = self._nodes.labels.column(key)
        ids = column.ids[self._at]
        return ids != ABSENT if values is None else column.having(values, ids)

    def label_numbers(self, key: str, read: Callable[[str | None], int | None]) -> tuple[Ints, Bools]:
        """The number read from each row's value of a label, asked once per distinct value; and where there is
        one."""
        column = self._nodes.labels.column(key)
        numbers = [read(value) for value in (*column.values.values, None)]  # index -1 is the last: absent
        ids = column.ids[self._at]
        there = np.array([number is not None for number in numbers], np.bool_)
        return np.array([number or 0 for number in numbers], np.int64)[ids], there[ids]

    def by_taints(self, answer: Callable[[tuple[Taint, ...]], int]) -> Ints:
        """An answer asked once per distinct set of taints, spread over the rows."""
        sets = self._nodes.taint_sets.values
        table = np.array([0 if each is None else answer(each) for each in sets], np.int64)
        return np.asarray(table[self._nodes.taint_set.array[self._at]])

    def mask_of(self, rows: Iterable[int]) -> Bools:
        """True for the given table rows."""
        mask = np.zeros(self._nodes.high, np.bool_)
        mask[list(rows)] = True
        return mask[self._at]

    def named(self, names: Iterable[str]) -> Bools:
        """True for the nodes of these names."""
        known = self._nodes.rows
        return self.mask_of(known[name] for name in names if name in known)

    def _as_declared(self, view: Callable[[int], StaticNode]) -> Callable[[int], StaticNode]:
        return lambda row: view(row)._static

    def _of(self, column: Column) -> Ints:
        at = self._at
        return column.first(at.stop) if isinstance(at, slice) else self._read(column.array)

    def _read(self, column: NDArray[T]) -> NDArray[T]:
        seen = column[self._at]
        seen.flags.writeable = False  # it may be the table's own memory
        return seen

    def __getattr__(self, name: str) -> NoReturn:
        if name in ROW_COLUMNS:
            raise ScopeError(f"reads nodes.{name}, which scope STATIC does not declare: use scope ROW")
        raise AttributeError(f"node columns have no attribute {name!r}")


class NodeColumns(StaticColumns):
    """Columns of nodes and of what the pods on them take."""

    __slots__ = ()

    def _as_declared(self, view: Callable[[int], StaticNode]) -> Callable[[int], StaticNode]:
        return view

    @property
    def pod_count(self) -> Ints:
        return self._of(self._nodes.pods)

    def requested(self, resource: str) -> Ints:
        return self._of(self._nodes.of_resource(resource).requested)

    def free(self, resource: str) -> Ints:
        return np.asarray(self.allocatable(resource) - self.requested(resource))

    def requested_nonzero(self, resource: str) -> Ints:
        if resource == "cpu":
            return self._of(self._nodes.nonzero_cpu_milli)
        if resource == "memory":
            return self._of(self._nodes.nonzero_memory)
        return self.requested(resource)

    def port_clashes(self, ports: Iterable[HostPort]) -> Bools:
        """Rows on which any of the host ports is taken."""
        return self.mask_of(self._nodes.ports.clashing_rows(ports))


ROW_COLUMNS = frozenset(name for name in vars(NodeColumns) if not name.startswith("_"))
