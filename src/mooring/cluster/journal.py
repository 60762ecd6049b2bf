"""What changed, in order: readers keep a position and ask for the rows since.

Every change of a row is written here after it is made; there is no other way to learn of it.
Positions are absolute and only grow. Old entries are dropped: a reader that fell behind is told to
start over.
"""

from __future__ import annotations

KEEP = 65_536  # rows; a reader further behind rebuilds sooner than it would replay


class Journal:
    """An append-only list of rows with an absolute position."""

    __slots__ = ("_base", "_keep", "_most", "position", "rows")

    def __init__(self, keep: int | None = None) -> None:
        self._base = 0
        self._keep = KEEP if keep is None else keep
        self._most = 2 * self._keep
        self.rows: list[int] = []
        self.position = 0  # always `_base` and the rows after it; every reader compares it, so it is at hand

    def write(self, row: int) -> None:
        rows = self.rows
        rows.append(row)
        self.position += 1
        if len(rows) > self._most:
            del rows[: self._keep]
            self._base += self._keep

    def fork(self) -> Journal:
        """Goes on from the same position; what was written before is of no interest to new readers."""
        fork = Journal(self._keep)
        fork._base = fork.position = self.position
        return fork

    def restart(self) -> None:
        """Everything changed: every reader has to start over."""
        self._base = self.position = self.position + 1
        self.rows.clear()

    def since(self, position: int) -> list[int] | None:
        """The rows written since `position` (with repetitions), or None if they are forgotten."""
        start = position - self._base
        return None if start < 0 else self.rows[start:]

    def check(self) -> None:
        """Asserts that nothing is lost between what is forgotten and what is held."""
        assert self.position == self._base + len(self.rows)
        assert len(self.rows) <= 2 * self._keep
