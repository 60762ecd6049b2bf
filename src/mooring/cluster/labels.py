"""Labels of nodes as columns: for each key, the small integer of the value each row carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.interning import Interner

ABSENT = -1


class LabelColumn:
    """One label key: value ids per row, -1 where a row lacks the key."""

    __slots__ = ("_holders", "_shared", "ids", "unique", "values")

    def __init__(self, capacity: int) -> None:
        self.ids: NDArray[np.int32] = np.full(capacity, ABSENT, np.int32)
        self.values: Interner[str] = Interner()
        self._holders: list[int] = []  # rows per value
        self._shared = 0  # values that more than one row has
        self.unique = True  # whether no two nodes have the same value, as with host names

    def put(self, row: int, value: str | None) -> None:
        old = int(self.ids[row])
        new = ABSENT if value is None else self.values.id(value)
        if old == new:
            return
        if old != ABSENT:
            self._holders[old] -= 1
            self._shared -= self._holders[old] == 1
        if new != ABSENT:
            if new == len(self._holders):  # a value nobody had yet
                self._holders.append(0)
            self._holders[new] += 1
            self._shared += self._holders[new] == 2
        self.unique = not self._shared
        self.ids[row] = new

    def matching(self, test: Callable[[str | None], bool]) -> NDArray[np.bool_]:
        """Which rows' value (None where absent) passes a test asked once per distinct value."""
        answers = np.fromiter(map(test, self.values.values), np.bool_, len(self.values))
        table = np.append(answers, bool(test(None)))  # index -1 is the last entry: absent
        return np.asarray(table[self.ids])


class LabelColumns:
    """All label keys seen on any node."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, LabelColumn] = {}

    def grow(self, capacity: int) -> None:
        for column in self._columns.values():
            wider = np.full(capacity, ABSENT, np.int32)
            wider[: self._capacity] = column.ids
            column.ids = wider
        self._capacity = capacity

    def put(self, row: int, labels: Mapping[str, str]) -> None:
        for key, column in self._columns.items():
            if key not in labels:
                column.put(row, None)
        for key, value in labels.items():
            self.column(key).put(row, value)

    def column(self, key: str) -> LabelColumn:
        """The column of a key; all absent when no node carries it."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn(self._capacity)
        return column

    def absent(self, row: int) -> bool:
        """Whether the row carries no label."""
        return all(column.ids[row] == ABSENT for column in self._columns.values())
