"""Small integers for what rows have in common, worked out for all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
TABLE_FOR_EACH = 4  # a table of this many entries a row is quicker to fill than rows are to sort
SMALL_TABLE = 1024


def distinct(columns: Sequence[NDArray[Any]], rows: int) -> tuple[Codes, list[int]]:
    """A number for each combination of values, given to rows in which it stands; and for each number a row
    that has it. Numbers are dense and begin at 0."""
    combined, span = _combined(columns, rows)
    if not rows:
        return np.zeros(0, np.int32), []
    if span > TABLE_FOR_EACH * rows + SMALL_TABLE:
        _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
        return codes.reshape(rows).astype(np.int32), first.tolist()
    first_at = np.full(span, -1, np.int64)
    first_at[combined[::-1]] = np.arange(rows - 1, -1, -1)
    found = np.flatnonzero(first_at >= 0)
    table = np.zeros(span, np.int32)
    table[found] = np.arange(len(found), dtype=np.int32)
    return table[combined], first_at[found].tolist()


def _combined(columns: Sequence[NDArray[Any]], rows: int) -> tuple[NDArray[np.int64], int]:
    """One number a row for the values of several columns, below the second answer."""
    combined, span = np.zeros(rows, np.int64), 1
    for column in columns if rows else ():
        low = int(column.min())
        width = int(column.max()) - low + 1
        if width == 1:
            continue
        if span * width >= 2**62:  # huge raw scores: numbers in the place of values
            combined = np.unique(combined, return_inverse=True)[1].reshape(rows).astype(np.int64)
            column = np.unique(column, return_inverse=True)[1].reshape(rows)
            low, width, span = 0, int(column.max()) + 1, int(combined.max()) + 1
        combined = combined * width + (column - low)
        span *= width
    return combined, span
