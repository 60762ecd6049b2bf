"""Sums over the domains of a topology key, in step with nodes and pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.row_counts import RowCounts
from mooring.framework.api.domain import FollowingState
from mooring.framework.api.growing_ints import Ints
from mooring.plugins.topology.members import Members

MISSING = None  # the token of a node that lacks the key
NOWHERE = -1  # in its place where all have to be numbers

Token = int | None
Numbered = tuple[NDArray[Any], Sequence[Token]]  # a number for each row, and the token of each number
TABLE_FOR_EACH = 8  # entries for each row: beyond, tokens are numbered row by row


class DomainSums:
    """For each domain of a key: the sum of pods counted on the nodes that take part.

    A node's token stands for its domain. Where every node is a domain of its own, as with host names,
    the token is the node's count itself, so that the many domains of equal sums are alike.
    """

    def __init__(self, members: Members, counts: RowCounts, *, unique: bool) -> None:
        self.members = members
        self.unique = unique
        self._counts = counts
        self._members_position = -1
        self._counts_position = -1
        self._rows: dict[int, tuple[int, int]] = {}  # the domain and the count, of rows that have any
        self._sums: dict[int, int] = {}  # by domain, where there are any
        self._domains_with: dict[int, int] | None = None  # how many of these have each sum, if anybody asks
        self._by_domain: Ints | None = None  # the same as an array, if anybody asks
        self.total = 0

    def sync(self) -> Collection[int]:
        """Takes in what changed; the rows whose tokens, or the sums behind them, may be others."""
        members, counts = self.members, self._counts.journal
        members.sync()
        behind = counts.position - self._counts_position
        if self._members_position == members.journal.position:
            if not behind:
                return ()
            if behind == 1 and counts.rows:  # a pod has been placed: the way most decisions go
                row = counts.rows[-1]
                self._take(row)
                self._counts_position += 1
                return (row,)
        nodes: Collection[int] | None = ()
        if self._members_position != members.journal.position:
            nodes = members.journal.since(self._members_position) if self._members_position >= 0 else None
        pods = counts.since(self._counts_position) if self._counts_position >= 0 else None
        changed: Collection[int]
        if nodes is None:
            changed = range(members.high)
            self._start_over()
        elif pods is None:
            changed = {*self._rows, *self._counts.by_row, *nodes}
            self._start_over()
        else:
            changed = {*nodes, *pods} if nodes or len(pods) > 1 else pods
            for row in changed:
                self._take(row)
        self._members_position, self._counts_position = members.journal.position, counts.position
        return changed

    def _start_over(self) -> None:
        self._rows, self._sums, self._domains_with, self._by_domain, self.total = {}, {}, None, None, 0
        for row in self._counts.by_row:
            self._take(row)

    def _take(self, row: int) -> None:
        members, rows = self.members, self._rows
        amount = self._counts.by_row.get(row, 0) if members.counts_at[row] else 0
        domain = members.domain_at[row]
        if (old := rows.get(row)) is not None:
            if old[0] == domain and amount:
                self._add(domain, amount - old[1])
                rows[row] = (domain, amount)
                return
            self._add(old[0], -old[1])
            del rows[row]
        if amount:
            self._add(domain, amount)
            rows[row] = (domain, amount)

    def _add(self, domain: int, amount: int) -> None:
        sums = self._sums
        before = sums.get(domain, 0)
        after = before + amount
        self.total += amount
        if after:
            sums[domain] = after
        elif before:
            del sums[domain]
        if self._by_domain is not None:
            if domain + 1 < len(self._by_domain):
                self._by_domain[domain] = after
            else:
                self._by_domain = None
        if (domains_with := self._domains_with) is not None:
            if before:
                domains_with[before] -= 1
                if not domains_with[before]:
                    del domains_with[before]
            if after:
                domains_with[after] = domains_with.get(after, 0) + 1

    def token(self, row: int) -> Token:
        domain: int = self.members.domain_at[row]
        if domain < 0:
            return MISSING
        if not self.unique:
            return domain
        known = self._rows.get(row)
        return known[1] if known is not None else 0

    def numbered(self, rows: int) -> Numbered:
        """The tokens of the first rows: a number for each, and the token of each number."""
        numbers = self.members.domain[:rows] + 1
        if not self.unique:
            return numbers, (MISSING, *range(int(numbers.max(initial=0))))
        numbers = (numbers > 0) * 1
        tokens: dict[Token, int] = {MISSING: 0, 0: 1}
        for row, (_, amount) in self._rows.items():
            numbers[row] = tokens.setdefault(amount, len(tokens))
        return numbers, tuple(tokens)

    def rows_with_some(self) -> Collection[int]:
        """Rows that add to a sum."""
        return self._rows.keys()

    def at(self, tokens: Sequence[int]) -> Sequence[int]:
        """The sums of many tokens' domains; that of NOWHERE is not above 0."""
        if self.unique:
            return tokens
        sum_of = self._sums.get
        return [sum_of(token, 0) for token in tokens]

    def of(self, token: int) -> int:
        """The sum of a token's domain."""
        return token if self.unique else self._sums.get(token, 0)

    def by_domain(self, highest: int) -> Ints:
        """The sums of domains up to a number at least. The last one is of no domain, and 0."""
        if self._by_domain is None or len(self._by_domain) < highest + 2:
            highest = max(highest, *self._sums) if self._sums else highest
            self._by_domain = np.zeros(2 * highest + 2, np.int64)
            for domain, amount in self._sums.items():
                self._by_domain[domain] = amount
        return self._by_domain

    @property
    def domains(self) -> int:
        return self.members.domains

    @property
    def smallest(self) -> int:
        """The smallest sum of any domain."""
        if len(self._sums) < self.members.domains:
            return 0
        if self._domains_with is None:
            self._domains_with = dict(Counter(self._sums.values()))
        return min(self._domains_with)

    def check(self) -> None:
        """Asserts that sums are those of the rows that take part, as far as everything is taken in."""
        sums: Counter[int] = Counter()
        for domain, amount in self._rows.values():
            sums[domain] += amount
        assert sums == self._sums
        assert self.total == sums.total()
        assert self._domains_with is None or self._domains_with == Counter(sums.values())
        if self._by_domain is not None:
            assert {domain: self._by_domain[domain] for domain in sums} == sums
            assert self._by_domain.sum() == self.total
        members, counts = self.members, self._counts
        if (self._members_position, self._counts_position) == (
            members.journal.position,
            counts.journal.position,
        ):
            taking_part = {row: amount for row, amount in counts.by_row.items() if members.counts_at[row]}
            assert {row: amount for row, (_, amount) in self._rows.items()} == taking_part
            assert all(members.domain_at[row] == domain for row, (domain, _) in self._rows.items())

    def clone(self) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._rows, copy._sums = dict(self._rows), dict(self._sums)
        copy._domains_with = copy._by_domain = None
        return copy


class SumsState(FollowingState):
    """A state that is made of sums over domains: it has changed when any of them has."""

    _sums: Sequence[DomainSums]  # all of them
    version = 0  # counts syncs that changed something

    def sync(self) -> Collection[int]:
        changed: Collection[int] = ()
        for sums in self._sums:
            if moved := sums.sync():
                changed = together(changed, moved)
        if changed:
            self.version += 1
        return changed

    def check(self) -> None:
        for sums in self._sums:
            sums.check()


def together(some: Collection[int], more: Collection[int]) -> Collection[int]:
    """Rows of both; a range is all there are."""
    if not some or some == more or isinstance(more, range):
        return more
    return some if isinstance(some, range) else {*some, *more}


def combined(all_sums: Sequence[DomainSums], rows: int) -> tuple[NDArray[Any], list[tuple[Token, ...]]]:
    """The tokens of several sums together: a number for each row, and the tokens of each number."""
    parts = [sums.numbered(rows) for sums in all_sums]
    together, span = np.zeros(rows, np.int64), 1
    for numbers, tokens in parts:
        together = together * len(tokens) + numbers
        span *= len(tokens)
        if span > TABLE_FOR_EACH * (rows + 1):
            return _one_by_one(parts)
    there = np.bincount(together, minlength=span).nonzero()[0]
    dense = np.zeros(span, np.int64)
    dense[there] = np.arange(len(there))
    return dense[together], [_tokens(number, parts) for number in there.tolist()]


def _tokens(number: int, parts: Sequence[Numbered]) -> tuple[Token, ...]:
    found: list[Token] = []
    for _, tokens in reversed(parts):
        number, place = divmod(number, len(tokens))
        found.append(tokens[place])
    return tuple(reversed(found))


def _one_by_one(parts: Sequence[Numbered]) -> tuple[NDArray[Any], list[tuple[Token, ...]]]:
    numbers: dict[tuple[Token, ...], int] = {}
    each = [[tokens[number] for number in codes.tolist()] for codes, tokens in parts]
    codes = [numbers.setdefault(tokens, len(numbers)) for tokens in zip(*each, strict=True)]
    return np.array(codes, np.int64), list(numbers)
