"""How wide bases are: two bytes a node do for nearly every profile, and half the memory is read in half the
time.

A row that is not feasible has a base so low that no addition makes it good, and a group that is not
feasible has such an addition.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mooring.framework.api.normalize import MAX_SCORE

NARROW, WIDE = np.dtype(np.int16), np.dtype(np.int32)


def nowhere(kind: np.dtype[Any]) -> int:
    """The base of a row that is not feasible."""
    return -(1 << 14) if kind == NARROW else -(1 << 30)


def no_group(kind: np.dtype[Any]) -> int:
    """The addition of a group that is not feasible: the highest base and this are negative, the lowest of
    each together no overflow."""
    return nowhere(kind) // 2


def kind_for(weights: Iterable[int]) -> np.dtype[Any]:
    """What totals of scores that weigh so much fit into."""
    return NARROW if MAX_SCORE * sum(weights) < -no_group(NARROW) else WIDE
