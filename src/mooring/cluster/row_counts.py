"""How many pods there are on each row, with a journal of what changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from mooring.cluster.journal import Journal
from mooring.model.objects import Pod

CHANGES_KEPT = 256  # a reader further behind reads all counts again: there are few

Carrier = Callable[[Pod], tuple[Hashable, ...]]  # the terms a pod carries


class RowCounts:
    """Pods per row; rows without any are not there. The journal names the rows whose count changed."""

    __slots__ = ("__weakref__", "by_row", "journal", "staying", "total")

    def __init__(self, *, staying: bool = False) -> None:
        self.staying = staying  # whether pods that are terminating do not count
        self.by_row: dict[int, int] = {}
        self.total = 0
        self.journal = Journal(CHANGES_KEPT)

    def add(self, row: int, amount: int) -> None:
        count = self.by_row.get(row, 0) + amount
        if count:
            self.by_row[row] = count
        else:
            self.by_row.pop(row, None)
        self.total += amount
        self.journal.write(row)

    def fork(self) -> RowCounts:
        fork = RowCounts(staying=self.staying)
        fork.by_row, fork.total, fork.journal = self.by_row.copy(), self.total, self.journal.fork()
        return fork

    def clear(self) -> None:
        """To be counted anew."""
        self.by_row.clear()
        self.total = 0
        self.journal.restart()
