"""The nodes of a class as two arrays: what each scores as it is, and the group it is in.

total(node) = base(node) + G(group(node)), as in `buckets`. Here nothing is sorted: a decision adds,
and looks for the largest. That costs a little for every node, and next to nothing to keep or to make,
so it is how a class begins, and how many classes are kept at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from mooring.cluster.columns import Rows
from mooring.engine.placement.kept.bases import no_group, nowhere
from mooring.engine.placement.kept.buckets import MANY, Addition, Bases, MakeColumns, Raws
from mooring.engine.placement.kept.coding import Codes
from mooring.engine.placement.kept.group_columns import NO_GROUP, GroupColumns


class Rated(NamedTuple):
    """What is added to groups."""

    rows: int  # feasible ones, in groups that no domain rejects
    alone: int | None  # what is added to the group that has them, if no other has any
    table: Bases  # the additions of all groups; `no_group` where there is none


class Flat:
    """Every row has a base, `nowhere` when it is not feasible, and the code of its group, also then."""

    def __init__(
        self,
        base: Bases,
        codes: Codes,
        groups: Sequence[Raws],
        addition: Addition,
        columns: MakeColumns | None = None,
        *,
        lent: bool = False,
        sized: bool = False,
    ) -> None:
        self._lent = lent  # the codes are somebody else's, who does not change them either
        self._sized = sized  # additions depend on how many rows the groups have
        self._addition = addition
        self._make_columns = columns
        self._columns: GroupColumns | None = None  # of many groups, by code
        self._in_columns = 0  # so many of them
        self.groups = list(groups)
        self._number: dict[Raws, int] = {}
        self._sizes: list[int] | None = None
        self._there: tuple[list[int], list[Raws]] | None = None  # the groups that have rows
        self._table: Rated | None = None
        self._alone: int | None = None  # what is added to the only group, when nothing but its raws matters
        self._nowhere = nowhere(base.dtype)
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
        self._move(row, self.code_at[row], self._nowhere)

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

    def _not_empty(self) -> tuple[list[int], list[Raws]]:
        """Codes and raws of the groups that have feasible rows: the same lists until there are others."""
        codes = [code for code, size in enumerate(self.sizes()) if size]
        if self._there is None or self._there[0] != codes:
            self._there = codes, [self.groups[code] for code in codes]
        return self._there

    def _rated(self) -> Rated:
        if self._table is None:
            many = len(self.groups) > MANY and self._make_columns is not None
            self._table = self._rated_together() if many else self._rated_one_by_one()
        return self._table

    def _rated_one_by_one(self) -> Rated:
        codes, raws = self._not_empty()
        sizes = self.sizes()
        added = self._addition(raws, [sizes[code] for code in codes])
        rows, alone = 0, added[0] if len(codes) == 1 else None
        table = np.full(len(self.groups), no_group(self.base.dtype), self.base.dtype)
        for code, addition in zip(codes, added, strict=True):
            if addition is not None:
                table[code] = addition
                rows += sizes[code]
        return Rated(rows, alone, table)

    def _rated_together(self) -> Rated:
        if self._columns is None:
            assert self._make_columns is not None
            self._columns = self._make_columns()
        for code in range(self._in_columns, len(self.groups)):
            self._columns.put(code, self.groups[code])
        self._in_columns = len(self.groups)
        sizes = np.array(self.sizes(), np.int64)
        additions = self._columns.additions(sizes)
        feasible = additions != NO_GROUP
        additions[~feasible] = no_group(self.base.dtype)
        return Rated(int(sizes[feasible].sum()), None, additions.astype(self.base.dtype))

    def feasible(self) -> int:
        """How many rows take the pod."""
        return self._rated().rows

    def best(self) -> tuple[int, Sequence[Sequence[int]]]:
        """The highest total, and the rows that have it."""
        totals, added = self.base, 0
        if len(self.groups) == 1 and not self._sized:
            if self._alone is None:
                self._alone = self._addition(self.groups[:], [1])[0] or 0
            added = self._alone
        elif not (rated := self._rated()).rows:
            return -1, []
        elif rated.alone is not None:
            added = rated.alone
        else:
            totals = rated.table.take(self.codes, mode="clip")  # quicker than an index
            totals += self.base
        best = totals[totals.argmax()]
        if best < 0:
            return -1, []
        return int(best) + added, [memoryview((totals == best).nonzero()[0])]

    def totals(self) -> Iterator[tuple[int, int]]:
        """Every feasible row with its total."""
        totals = self._rated().table.take(self.codes, mode="clip") + self.base
        rows = (totals >= 0).nonzero()[0]
        return zip(rows.tolist(), totals[rows].tolist(), strict=True)

    def among(self, rows: Iterable[int]) -> list[tuple[int, Raws, int]]:
        """The feasible ones of some rows, with their groups and bases."""
        known = [row for row in rows if row < len(self.base) and self.base_at[row] >= 0]
        return [(row, self.groups[self.code_at[row]], self.base_at[row]) for row in known]

    def only(self, rows: Iterable[int]) -> bool:
        """Whether no row but some of these is feasible."""
        return len(self.among(rows)) == sum(self.sizes())

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
        assert ((self.base >= 0) | (self.base == self._nowhere)).all()
        assert (self.codes >= 0).all()
        assert (self.codes < len(self.groups)).all()
        known, self._sizes = self._sizes, None
        counted = self.sizes()
        assert known is None or known == counted, (known, counted)
        assert len(set(self.groups)) == len(self.groups)
        assert self._there is None or self._there[1] == [self.groups[code] for code in self._there[0]]
        assert not self._number or self._number == {raws: n for n, raws in enumerate(self.groups)}
