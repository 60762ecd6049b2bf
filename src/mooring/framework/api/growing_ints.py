"""Integers by number in an array that grows: written one at a time, read all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
FIRST = 64


class Growing:
    """Numbers begin at 0; those that were left out have `fill`."""

    __slots__ = ("_fill", "_ints", "at", "high")

    def __init__(self, fill: int = 0) -> None:
        self._fill = fill
        self._ints: Ints = np.full(FIRST, fill, np.int64)
        self.at = memoryview(self._ints)  # type: ignore[arg-type]
        self.high = 0  # one above the highest number

    def put(self, number: int, value: int) -> None:
        if number >= self.high:
            self.high = number + 1
            if number >= len(self._ints):
                self._grow(number)
        self.at[number] = value

    def _grow(self, number: int) -> None:
        ints = np.full(max(2 * len(self._ints), number + 1), self._fill, np.int64)
        ints[: len(self._ints)] = self._ints
        self._ints = ints
        self.at = memoryview(ints)  # type: ignore[arg-type]

    @property
    def all(self) -> Ints:
        """By number. The array is not a copy, and not the same one once it has grown."""
        return self._ints[: self.high]
