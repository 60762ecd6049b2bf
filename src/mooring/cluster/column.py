"""Numbers over nodes: one array each, with views for reading single values and the first rows quickly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


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

    def fork(self) -> Column:
        fork = Column(0)
        fork._put(self.array.copy())
        return fork

    def _put(self, array: Ints) -> None:
        self.array = array
        self.at = memoryview(array)  # type: ignore[arg-type]
        self._first = array[:0]


class ResourceColumns:
    """Amounts of one resource over nodes."""

    __slots__ = ("allocatable", "requested")

    def __init__(self, capacity: int) -> None:
        self.allocatable = Column(capacity)
        self.requested = Column(capacity)  # of all pods that hold a place

    def fork(self, twins: Mapping[Column, Column]) -> ResourceColumns:
        fork = copy(self)
        for name in self.__slots__:
            setattr(fork, name, twins[getattr(self, name)])
        return fork

    def __iter__(self) -> Iterator[Column]:
        return iter((self.allocatable, self.requested))
