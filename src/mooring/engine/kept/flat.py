"""The nodes of a class as two arrays: what each scores as it is, and the group it is in.

total(node) = base(node) + G(group(node)), as in `buckets`. Here nothing is sorted: a decision adds,
and looks for the largest. That costs a little for every node, and next to nothing to keep or to make,
so it is how a class begins, and how many classes are kept at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from mooring.cluster.columns import Rows
from mooring.engine.kept.buckets import Addition, Bases, Raws
from mooring.engine.kept.coding import Codes
from mooring.engine.kept.static import NOWHERE

NO_GROUP = -(1 << 29)  # the addition of a group that is not feasible; NOWHERE and this fit an int32


class Flat:
    """Every row has a base, NOWHERE when it is not feasible, and the code of its group, also then."""

    def __init__(
        self, base: Bases, codes: Codes, groups: Sequence[Raws], addition: Addition, *, lent: bool = False
    ) -> None:
        self._lent = lent  # the codes are somebody else's, who does not change them either
        self._addition = addition
        self.groups = list(groups)
        self._number: dict[Raws, int] = {}
        self._sizes: list[int] | None = None
        self._table: tuple[list[tuple[int, int]], int, Codes] | None = None
        self._put_codes(codes)
        self.put_at(base)

    def _put_codes(self, codes: Codes) -> None:
        self.codes = codes
        self.code_at = memoryview(codes)  # type: ignore[arg-type]

    def put_at(self, base: Bases) -> None:
        """The bases lie here from now on, as they are."""
        self.base = base
        self.base_at = memoryview(base)  # type: ignore[arg-type]

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + (0 if self._lent else self.codes.nbytes)

    def put(self, row: int, raws: Raws, base: int) -> None:
        """A row is feasible, with these scores."""
        self._move(row, self._code(raws), base)

    def regroup(self, row: int, raws: Raws) -> None:
        """A row is in this group, whether it is feasible or not."""
        self._move(row, self._code(raws), self.base_at[row])

    def rebase(self, row: int, base: int) -> None:
        """A row has another base, or is not feasible any more, or is again."""
        self._move(row, self.code_at[row], base)

    def remove(self, row: int) -> None:
        """A row is not feasible."""
        self._move(row, self.code_at[row], NOWHERE)

    def _move(self, row: int, code: int, base: int) -> None:
        was, before = self.code_at[row], self.base_at[row]
        if was == code and before == base:
            return
        if was != code or (before < 0) != (base < 0):
            if self._sizes is not None:
                self._sizes[was] -= before >= 0
                self._sizes[code] += base >= 0
            self._table = None
            if was != code:
                if self._lent:
                    self._put_codes(self.codes.copy())
                    self._lent = False
                self.code_at[row] = code
        self.base_at[row] = base

    def flipped(self, row: int) -> None:
        """A row that was feasible is not, or the other way round: its base says so already."""
        if self._sizes is not None:
            self._sizes[self.code_at[row]] += 1 if self.base_at[row] >= 0 else -1
        self._table = None

    def write(self, rows: Rows, bases: Bases) -> None:
        """Many rows have other bases."""
        self.base[rows] = bases
        self._sizes = self._table = None

    def outdated(self) -> None:
        """What is added to groups is to be worked out anew."""
        self._table = None

    def _code(self, raws: Raws) -> int:
        if not self._number:
            self._number = {raws: number for number, raws in enumerate(self.groups)}
        number = self._number.get(raws)
        if number is None:
            number = self._number[raws] = len(self.groups)
            self.groups.append(raws)
            if self._sizes is not None:
                self._sizes.append(0)
        return number

    def sizes(self) -> list[int]:
        """How many feasible rows each group has."""
        if self._sizes is None:
            feasible = self.codes[self.base >= 0]
            self._sizes = np.bincount(feasible, minlength=len(self.groups)).tolist()
        return self._sizes

    def _rated(self) -> tuple[list[tuple[int, int]], int, Codes]:
        """Feasible groups with their additions; how many rows they have; the additions by code."""
        if self._table is None:
            sizes, groups = self.sizes(), self.groups
            there = [code for code, size in enumerate(sizes) if size]
            given = self._addition([groups[code] for code in there], [sizes[code] for code in there])
            rated = [(code, addition) for code, addition in zip(there, given, strict=True)
                     if addition is not None]  # fmt: skip
            table = np.full(len(groups), NO_GROUP, np.int32)
            for code, addition in rated:
                table[code] = addition
            self._table = rated, sum(sizes[code] for code, _ in rated), table
        return self._table

    def feasible(self) -> int:
        """How many rows take the pod."""
        return self._rated()[1]

    def best(self) -> tuple[int, Sequence[Sequence[int]]]:
        """The highest total, and the rows that have it."""
        rated, _, table = self._rated()
        if not rated:
            return -1, []
        totals, added = self.base, 0
        if len(rated) == 1 and sum(map(bool, self.sizes())) == 1:
            added = rated[0][1]
        else:
            totals = table[self.codes]
            totals += self.base
        best = totals[totals.argmax()]
        if best < 0:
            return -1, []
        return int(best) + added, [memoryview((totals == best).nonzero()[0])]

    def totals(self) -> Iterator[tuple[int, int]]:
        """Every feasible row with its total."""
        totals = self._rated()[2][self.codes] + self.base
        rows = (totals >= 0).nonzero()[0]
        return zip(rows.tolist(), totals[rows].tolist(), strict=True)

    def among(self, rows: Iterable[int]) -> list[tuple[int, Raws, int]]:
        """The feasible ones of some rows, with their groups and bases."""
        known = [row for row in rows if row < len(self.base) and self.base_at[row] >= 0]
        return [(row, self.groups[self.code_at[row]], self.base_at[row]) for row in known]

    @contextmanager
    def without(self, rows: Iterable[int]) -> Iterator[None]:
        """As if some rows were not feasible, for as long as it lasts."""
        hidden = [(row, base) for row, _, base in self.among(rows)]
        for row, _ in hidden:
            self.remove(row)
        try:
            yield
        finally:
            for row, base in hidden:
                self.rebase(row, base)

    def check(self) -> None:
        """Asserts that sizes, codes and what was worked out from them agree."""
        assert ((self.base >= 0) | (self.base == NOWHERE)).all()
        assert (self.codes >= 0).all()
        assert (self.codes < len(self.groups)).all()
        known, self._sizes = self._sizes, None
        counted = self.sizes()
        assert known is None or known == counted, (known, counted)
        assert len(set(self.groups)) == len(self.groups)
        assert not self._number or self._number == {raws: n for n, raws in enumerate(self.groups)}
