"""Nodes told apart by amounts alone: what there is on each, and what is taken of it.

To a plugin that reads nothing else, nodes with equal amounts are alike: it is asked once about all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.column import Column, Ints
from mooring.cluster.columns import NodeColumns
from mooring.cluster.nodes import NodeTable
from mooring.errors import ScopeError

MOST_RESOURCES = 8

Floats = NDArray[np.float64]


def comparable(nodes: NodeTable) -> bool:
    """With many resources, nodes are seldom alike and long to compare."""
    return len(nodes.resources) <= MOST_RESOURCES


class NoAmount:
    """Stands for what is not to be read where amounts alone are declared."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, columns: object, owner: type) -> NoReturn:
        raise ScopeError(f"reads nodes.{self._name}, which is no amount: it is not to declare amounts_only")


class AmountColumns(NodeColumns):
    """What vector plugins see of distinct amounts: as if there was one node of each sort."""

    __slots__ = ("_amounts", "_divisors", "_place")
    alive: Any = NoAmount()
    unschedulable: Any = NoAmount()
    images: Any = NoAmount()
    matching_label: Any = NoAmount()
    known_label: Any = NoAmount()
    label_numbers: Any = NoAmount()
    with_label: Any = NoAmount()
    by_taints: Any = NoAmount()
    mask_of: Any = NoAmount()
    named: Any = NoAmount()
    port_clashes: Any = NoAmount()

    def __init__(
        self, nodes: NodeTable, place: Mapping[Column, int], amounts: Ints, divisors: Floats
    ) -> None:
        """`place` is the row of a column in the tables of amounts, and of amounts that are at least 1."""
        super().__init__(nodes, _no_node, np.arange(amounts.shape[1]))
        self._place, self._amounts, self._divisors = place, amounts, divisors

    def divisor(self, resource: str) -> Floats:
        place = self._place.get(self._nodes.of_resource(resource).allocatable)
        return np.ones(len(self)) if place is None else np.asarray(self._divisors[place])

    def _of(self, column: Column) -> Ints:
        place = self._place.get(column)  # None: of a resource that nobody had heard of until this was asked
        return np.zeros(len(self), np.int64) if place is None else np.asarray(self._amounts[place])


def amounts_at(nodes: NodeTable, rows: Sequence[int]) -> AmountColumns:
    """The amounts of some rows, one after the other."""
    table = np.array([nodes.amounts(row) for row in rows], np.int64).T
    return AmountColumns(nodes, place_of_columns(nodes), table, np.maximum(table, 1).astype(np.float64))


def place_of_columns(nodes: NodeTable) -> dict[Column, int]:
    """Of amounts, among the amounts of a row."""
    return {column: place for place, column in enumerate(nodes.amount_columns)}


def _no_node(row: int) -> NoReturn:
    raise ScopeError("looks at a node, which is more than amounts: it is not to declare amounts_only")
