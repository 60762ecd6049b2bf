"""Which of many conditions hold on each node; nodes on which the same ones hold are told together."""

from __future__ import annotations

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools

MOST_BITS = 63  # conditions a combination of which is a number of 64 bits, beside the sign
SMALL = 4096  # numbers below it are counted, not sorted


class Combinations:
    """Up to `MOST_BITS` conditions are the bits of one number; more of them are bytes."""

    def __init__(self, nodes: int, conditions: int) -> None:
        self._numbers: Ints = np.zeros(nodes, np.int64)
        self._bytes = np.zeros((0 if conditions <= MOST_BITS else -(-conditions // 8), nodes), np.uint8)

    def put(self, condition: int, holds: Bools) -> None:
        if len(self._bytes):
            self._bytes[condition >> 3] |= holds.astype(np.uint8) << (condition & 7)
        else:
            self._numbers += holds.astype(np.int64) << condition

    def distinct(self) -> tuple[list[list[int]], Ints]:
        """The conditions of each combination there is, and the index of each node's among them."""
        if len(self._bytes):
            return self._distinct_bytes()
        found, which = _distinct(self._numbers)
        return [
            [bit for bit in range(each.bit_length()) if each >> bit & 1] for each in found.tolist()
        ], which

    def _distinct_bytes(self) -> tuple[list[list[int]], Ints]:
        index: dict[bytes, int] = {}
        rows = np.ascontiguousarray(self._bytes.T)
        which = np.array([index.setdefault(row.tobytes(), len(index)) for row in rows], np.int64)
        bits = (np.unpackbits(np.frombuffer(each, np.uint8), bitorder="little") for each in index)
        return [np.flatnonzero(each).tolist() for each in bits], which


def _distinct(values: Ints) -> tuple[Ints, Ints]:
    """The distinct ones, and the index of each value among them."""
    if values.max() >= SMALL:
        return np.unique(values, return_inverse=True)
    found: Ints = np.bincount(values).nonzero()[0]
    index: Ints = np.zeros(int(found[-1]) + 1, np.int64)
    index[found] = np.arange(len(found))
    return found, index[values]
