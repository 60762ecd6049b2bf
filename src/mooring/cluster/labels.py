"""Labels of nodes as columns: for each key, the small integer of the value each row carries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.interning import Shared

ABSENT = -1


class LabelColumn:
    """One label key: value ids per row, -1 where a row lacks the key."""

    __slots__ = ("_shared", "ids", "unique", "values")

    def __init__(self, capacity: int) -> None:
        self.ids: NDArray[np.int32] = np.full(capacity, ABSENT, np.int32)
        self.values: Shared[str] = Shared()
        self._shared = 0  # values that more than one row has
        self.unique = True  # whether no two nodes have the same value, as with host names

    def put(self, row: int, value: str | None) -> None:
        old, values = int(self.ids[row]), self.values
        if (None if old == ABSENT else values.values[old]) == value:
            return
        new = ABSENT
        if value is not None:  # taken first, so that what is given back is not at once another value's
            new = values.take(value)
            self._shared += values.holders[new] == 2
        if old != ABSENT:
            self._shared -= values.holders[old] == 2
            values.give_back(old)
        self.unique = not self._shared
        self.ids[row] = new

    def fork(self) -> LabelColumn:
        fork = copy(self)
        fork.ids, fork.values = self.ids.copy(), self.values.fork()
        return fork

    def matching(self, test: Callable[[str | None], bool]) -> NDArray[np.bool_]:
        """Which rows' value (None where absent) passes a test asked once per distinct value."""
        answers = [bool(test(value)) for value in self.values.values]
        table = np.array([*answers, bool(test(None))], np.bool_)  # index -1 is the last entry: absent
        return np.asarray(table[self.ids])

    def having(self, wanted: Collection[str], ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of some rows, told by their ids, have one of some values: no other value is looked at."""
        numbers = [number for value in wanted if (number := self.values.number(value)) is not None]
        if len(numbers) < 2:
            return ids == numbers[0] if numbers else np.zeros(len(ids), np.bool_)
        table = np.zeros(len(self.values.values) + 1, np.bool_)
        table[numbers] = True
        return np.asarray(table[ids])


class LabelColumns:
    """The label keys that nodes have."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, LabelColumn] = {}
        self._nothing = LabelColumn(capacity)  # of a key that no node has

    def fork(self) -> LabelColumns:
        fork = copy(self)
        fork._columns = {key: column.fork() for key, column in self._columns.items()}
        fork._nothing = self._nothing.fork()
        return fork

    def grow(self, capacity: int) -> None:
        for column in (*self._columns.values(), self._nothing):
            wider = np.full(capacity, ABSENT, np.int32)
            wider[: self._capacity] = column.ids
            column.ids = wider
        self._capacity = capacity

    def put(self, row: int, labels: Mapping[str, str]) -> None:
        for key, column in self._columns.items():
            if key not in labels:
                column.put(row, None)
        for key, value in labels.items():
            if key not in self._columns:
                self._columns[key] = LabelColumn(self._capacity)
            self._columns[key].put(row, value)
        if gone := [key for key, column in self._columns.items() if not len(column.values)]:
            for key in gone:
                del self._columns[key]

    def column(self, key: str) -> LabelColumn:
        """The column of a key, as nodes are now; all absent when no node carries it."""
        return self._columns.get(key, self._nothing)

    def has(self, key: str) -> bool:
        """Whether any node carries the key."""
        return key in self._columns

    def absent(self, row: int) -> bool:
        """Whether the row carries no label."""
        return all(column.ids[row] == ABSENT for column in self._columns.values())
