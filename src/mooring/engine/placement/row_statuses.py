"""The status of each row that rejects a pod, as a number per row: whole clusters reject for a few reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.columns import Bools, Rows
from mooring.framework.api.answers import Rejections
from mooring.framework.api.status import Code, Status

NONE = 0  # the number of rows that do not reject


class RowStatuses(Mapping[int, Status]):
    """Reads as a dictionary by row."""

    def __init__(self, capacity: int) -> None:
        self._numbers: NDArray[np.int32] = np.zeros(capacity, np.int32)
        self._at = memoryview(self._numbers)  # type: ignore[arg-type]
        self._distinct: list[Status | None] = [None]
        self._number_of: dict[Status, int] = {}
        self._sizes = [0]  # how many rows have each number; of NONE it means nothing
        self._free: list[int] = []  # numbers that no row has any more

    @property
    def capacity(self) -> int:
        return len(self._numbers)

    def __getitem__(self, row: int) -> Status:
        status = self._distinct[self._at[row]] if 0 <= row < len(self._at) else None
        if status is None:
            raise KeyError(row)
        return status

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers.nonzero()[0].tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self._numbers))

    def copy(self) -> RowStatuses:
        other = RowStatuses(self.capacity)
        other._numbers[:] = self._numbers
        other._distinct, other._sizes = self._distinct[:], self._sizes[:]
        other._number_of, other._free = self._number_of.copy(), self._free[:]
        return other

    def put(self, row: int, status: Status | None) -> None:
        """A row has this status from now on, or none."""
        number, before = NONE if status is None else self._number(status), self._at[row]
        self._sizes[before] -= 1
        self._sizes[number] += 1
        self._at[row] = number
        if before != NONE and not self._sizes[before]:
            self._forget(before)

    def put_many(self, rows: Rows, given: Rejections) -> None:
        """Rows that have none yet. Each of the distinct statuses is given by some."""
        table = np.array([self._number(status) for status in given.distinct], np.int32)
        numbers = table[given.numbers]
        self._numbers[rows] = numbers
        for number, size in enumerate(np.bincount(numbers, minlength=len(self._sizes)).tolist()):
            self._sizes[number] += size

    def counts(self) -> dict[Status, int]:
        """How many rows give each status."""
        return {status: self._sizes[number] for status, number in self._number_of.items()}

    def resolvable(self) -> Bools:
        """The rows on which evicting pods may help."""
        helps = [status is not None and status.code is Code.UNSCHEDULABLE for status in self._distinct]
        return np.array(helps, np.bool_)[self._numbers]

    def _number(self, status: Status) -> int:
        number = self._number_of.get(status)
        if number is None:
            if not self._free:
                self._free.append(len(self._distinct))
                self._distinct.append(None)
                self._sizes.append(0)
            number = self._number_of[status] = self._free.pop()
            self._distinct[number] = status
        return number

    def _forget(self, number: int) -> None:
        """Statuses may be as many as there are moments: those nobody gives any more are not kept."""
        status = self._distinct[number]
        assert status is not None
        del self._number_of[status]
        self._distinct[number] = None
        self._free.append(number)
