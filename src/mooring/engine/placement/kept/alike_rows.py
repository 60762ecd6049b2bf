"""Rows by number: rows of one number have the same amounts, so plugins that read amounts alone are asked once
about all of them. Where a few kinds of pods lie on a few kinds of nodes, there are few kinds of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.amounts import AmountColumns, Floats, comparable, place_of_columns
from mooring.cluster.column import Column, Ints
from mooring.cluster.nodes import Amounts, NodeTable
from mooring.engine.placement.kept.coding import distinct

MOST = 4096  # numbers, and half as many as there are rows
LOOKS_AGAIN = 4096  # changes, and as many as there are rows, after rows were found to differ too much

Numbers = NDArray[np.intp]


class AlikeRows:
    """Follows the journal. A number stands for its amounts also while no row has them: they may come again.
    When there are too many, rows are numbered anew, and `generation` moves."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._position = -1  # of the journal
        self._rests_until = -1
        self._layout: object = None  # of the table
        self.generation = 0
        self._number: dict[Amounts, int] = {}
        self._put(np.zeros(0, np.intp))
        self._place: dict[Column, int] = {}  # of a column in the tables
        self._table: Ints = np.zeros((0, 0), np.int64)  # amounts by number
        self._divisors: Floats = np.zeros((0, 0))  # the same, at least 1

    def _put(self, numbers: Numbers) -> None:
        self.numbers = numbers  # by row; -1 where none is
        self.number_at = memoryview(numbers)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._number)

    def columns(self) -> AmountColumns:
        """What plugins are shown of each number."""
        amounts, divisors = self._table[:, : len(self)], self._divisors[:, : len(self)]
        amounts.flags.writeable = divisors.flags.writeable = False
        return AmountColumns(self._nodes, self._place, amounts, divisors)

    def follow(self) -> bool:
        """Brings numbers up to date. False where rows differ too much for it to be worth while."""
        nodes = self._nodes
        position = nodes.journal.position
        if position < self._rests_until or not comparable(nodes):
            return False
        changed = nodes.journal.since(self._position) if self._position >= 0 else None
        anew = changed is None or nodes.layout is not self._layout or len(changed) > self._most // 2
        for row in () if anew else set(changed or ()):
            self._renumber(row, nodes.amounts(row))
        if anew or len(self) > self._most:
            self._number_all()
            if len(self) > self._most // 2:  # it would have to be done again and again
                self._position, self._rests_until = -1, position + max(LOOKS_AGAIN, nodes.high)
                return False
        self._position, self._layout = position, nodes.layout
        return True

    @property
    def _most(self) -> int:
        return min(self._nodes.high // 2, MOST)

    def _number_all(self) -> None:
        nodes = self._nodes
        found, first = distinct([column.array[: nodes.high] for column in nodes.amount_columns], nodes.high)
        numbers = np.full(nodes.capacity, -1, np.intp)
        numbers[: nodes.high] = found
        self._put(numbers)
        self.generation += 1
        self._number = {nodes.amounts(row): number for number, row in enumerate(first)}
        self._place = place_of_columns(nodes)
        room = min(nodes.capacity, 2 * MOST)  # also for those that come before they are found to be too many
        self._table = np.zeros((len(self._place), max(room, len(first))), np.int64)
        self._table[:, : len(first)] = np.array(list(self._number), np.int64).T
        self._divisors = np.maximum(self._table, 1).astype(np.float64)

    def _renumber(self, row: int, amounts: Amounts) -> None:
        number = self._number.get(amounts)
        if number is None:
            number = self._number[amounts] = len(self)
            self._table[:, number] = amounts
            np.maximum(self._table[:, number], 1, out=self._divisors[:, number])
        self.number_at[row] = number

    def check(self) -> None:
        """Asserts that rows have the numbers of their amounts, as far as the journal was followed."""
        if self._position < 0:
            return
        assert list(self._number.values()) == list(range(len(self)))
        for amounts, number in self._number.items():
            assert amounts == tuple(self._table[:, number].tolist())
            assert self._divisors[:, number].tolist() == [max(amount, 1) for amount in amounts]
        nodes = self._nodes
        changed = nodes.journal.since(self._position)
        if changed is not None and self._layout is nodes.layout:
            for row in set(range(nodes.high)) - set(changed):
                assert self._number[nodes.amounts(row)] == self.number_at[row]
