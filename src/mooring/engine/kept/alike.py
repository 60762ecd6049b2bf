"""Rows by number: rows of one number have the same amounts, so plugins that read amounts alone are asked once
about all of them. Where a few kinds of pods lie on a few kinds of nodes, there are few kinds of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.amounts import AmountColumns, Floats, comparable, place_of_columns
from mooring.cluster.nodes import Amounts, Column, Ints, NodeTable
from mooring.engine.kept.coding import distinct

MOST = 4096  # numbers
FEWEST_EACH = 2  # rows a number, on average
LOOKS_AGAIN = 4096  # changes after rows were found to differ too much

Numbers = NDArray[np.intp]


class AlikeRows:
    """Follows the journal. A number that no row has any more is given to other amounts; `born` tells the
    two apart."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._position = -1  # of the journal
        self._rests_until = -1
        self._layout = -1  # of the table
        self._births = 0
        self._number: dict[Amounts, int] = {}
        self._amounts_of: list[Amounts] = []  # by number
        self._count: list[int] = []  # of rows, by number
        self._free: list[int] = []  # numbers no row has
        self.born: list[int] = []  # by number
        self._put(np.zeros(0, np.intp))
        self._place: dict[Column, int] = {}  # of a column in the tables
        self._table: Ints = np.zeros((0, 0), np.int64)  # amounts by number
        self._divisors: Floats = np.zeros((0, 0))  # the same, at least 1

    def _put(self, numbers: Numbers) -> None:
        self.numbers = numbers  # by row; -1 where none is
        self.number_at = memoryview(numbers)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._count)

    def columns(self) -> AmountColumns:
        """What plugins are shown of each number."""
        amounts, divisors = self._table[:, : len(self)], self._divisors[:, : len(self)]
        amounts.flags.writeable = divisors.flags.writeable = False
        return AmountColumns(self._nodes, self._place, amounts, divisors)

    def follow(self) -> bool:
        """Brings numbers up to date. False where rows differ too much for it to be worth while."""
        nodes = self._nodes
        position, most = nodes.journal.position, min(nodes.high // FEWEST_EACH, MOST)
        if position < self._rests_until or not comparable(nodes):
            return False
        changed = nodes.journal.since(self._position) if self._position >= 0 else None
        if changed is None or nodes.layout != self._layout or len(changed) > most:
            self._build(2 * most)  # room for those that come before the others are counted
        else:
            for row in set(changed):
                self._renumber(row, nodes.amounts(row))
        self._position, self._layout = position, nodes.layout
        if len(self) > most:
            self._position, self._rests_until = -1, position + LOOKS_AGAIN
            return False
        return True

    def _build(self, room: int) -> None:
        nodes = self._nodes
        found, first = distinct([column.array[: nodes.high] for column in nodes.amount_columns], nodes.high)
        numbers = np.full(nodes.capacity, -1, np.intp)
        numbers[: nodes.high] = found
        self._put(numbers)
        self._count = np.bincount(found, minlength=len(first)).tolist()
        self._amounts_of, self._free = list(map(nodes.amounts, first)), []
        self._number = {known: number for number, known in enumerate(self._amounts_of)}
        self.born = list(range(self._births, self._births + len(first)))
        self._births += len(first)
        self._place = place_of_columns(nodes)
        self._table = np.zeros((len(self._place), max(room, len(first))), np.int64)
        self._table[:, : len(first)] = np.array(self._amounts_of, np.int64).T
        self._divisors = np.maximum(self._table, 1).astype(np.float64)

    def _renumber(self, row: int, amounts: Amounts) -> None:
        was, number = self.number_at[row], self._number.get(amounts)
        if number == was:
            return
        if number is None:
            number = self._new(amounts)
        self._count[number] += 1
        self.number_at[row] = number
        if was >= 0:
            self._count[was] -= 1
            if not self._count[was]:
                del self._number[self._amounts_of[was]]
                self._free.append(was)

    def _new(self, amounts: Amounts) -> int:
        if self._free:
            number = self._free.pop()
        else:
            number = len(self)
            self._amounts_of.append(())
            self._count.append(0)
            self.born.append(0)
        self._amounts_of[number], self.born[number] = amounts, self._births
        self._births += 1
        self._number[amounts] = number
        self._table[:, number] = amounts
        np.maximum(self._table[:, number], 1, out=self._divisors[:, number])
        return number

    def check(self) -> None:
        """Asserts that rows have the numbers of their amounts, as far as the journal was followed."""
        if self._position < 0:
            return
        assert len(self._number) + len(self._free) == len(self) == len(self._amounts_of) == len(self.born)
        assert len(set(self.born)) == len(self)
        known = self.numbers[self.numbers >= 0]
        assert np.bincount(known, minlength=len(self)).tolist() == self._count
        assert all(self._count[number] for number in self._number.values())
        for amounts, number in self._number.items():
            assert self._amounts_of[number] == amounts == tuple(self._table[:, number].tolist())
            assert self._divisors[:, number].tolist() == [max(amount, 1) for amount in amounts]
        nodes = self._nodes
        changed = nodes.journal.since(self._position)
        if changed is not None and self._layout == nodes.layout:
            for row in set(range(nodes.high)) - set(changed):
                assert self._amounts_of[self.number_at[row]] == nodes.amounts(row)
