"""How wide bases are: two bytes a node do for nearly every profile, and half the memory is read in half the
time. Eight do for every profile that loads: a configuration has weights of 31 bits.

A row that is not feasible has a base so low that no addition makes it good, and a group that is not
feasible has such an addition.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mooring.framework.api.normalize import MAX_SCORE

KINDS = NARROW, WIDE, WIDEST = np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)


def nowhere(kind: np.dtype[Any]) -> int:
    """The base of a row that is not feasible."""
    return -(1 << 8 * kind.itemsize - 2)


def no_group(kind: np.dtype[Any]) -> int:
    """The addition of a group that is not feasible: the highest base and this are negative, the lowest of
    each together no overflow."""
    return nowhere(kind) // 2


def highest(weights: Iterable[int]) -> int:
    """The highest total of scores that weigh so much."""
    return MAX_SCORE * sum(weights)


def kind_for(total: int) -> np.dtype[Any]:
    """What totals up to this one fit into."""
    return next((kind for kind in KINDS if total < -no_group(kind)), WIDEST)
