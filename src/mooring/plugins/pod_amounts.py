"""What many pods ask of a resource, a number for each slot: for answers about many pods at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.column import Ints

FIRST_SLOTS = 16

Floats = NDArray[np.float64]


class PodAmounts:
    """The same amounts twice: floats divide several times faster, and are exact up to 2**53."""

    __slots__ = ("floats", "ints")

    def __init__(self) -> None:
        self.ints: Ints = np.zeros(FIRST_SLOTS, np.int64)
        self.floats: Floats = np.zeros(FIRST_SLOTS)

    def put(self, slot: int, amount: int) -> None:
        self.ints, self.floats = with_room(self.ints, slot), with_room(self.floats, slot)
        self.ints[slot] = self.floats[slot] = amount


def with_room(column: NDArray[Any], slot: int) -> NDArray[Any]:
    """A column, made wider when it has no room for a slot."""
    if slot < len(column):
        return column
    return np.concatenate((column, np.zeros(2 * slot - len(column), column.dtype)))
