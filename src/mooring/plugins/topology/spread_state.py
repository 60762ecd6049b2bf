"""What PodTopologySpread knows of all nodes for one class of pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import msgspec
from numpy.typing import NDArray

from mooring.cluster.row_counts import RowCounts
from mooring.framework.api.domain import Key
from mooring.framework.api.status import Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.plugins.topology.constraints import HOSTNAME, IGNORED, Constraint
from mooring.plugins.topology.eligible import Eligibility
from mooring.plugins.topology.go_math import half_away_each, log
from mooring.plugins.topology.members import Memberships
from mooring.plugins.topology.spread_columns import SpreadColumns
from mooring.plugins.topology.sums import MISSING, DomainSums, SumsState, Token, combined
from mooring.plugins.topology.token_lists import Latest, TokenList

SKEWED = unschedulable("node(s) didn't match pod topology spread constraints")
NO_LABEL = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")

Counting = Callable[[Constraint], RowCounts]  # the matching pods of a constraint, per row


class SpreadState(SumsState):
    """Hard constraints reject, soft ones score. A row's key is its tokens for both."""

    def __init__(
        self,
        pod: Pod,
        constraints: Sequence[Constraint],
        counting: Counting,
        unique: Mapping[str, bool],
        memberships: Memberships,
        *,
        needs_all_keys: bool,
        comparisons: bool = False,
    ) -> None:
        self._hard = [c for c in constraints if c.hard]
        self._soft = [c for c in constraints if not c.hard]
        self.filters, self.scores = bool(self._hard), bool(self._soft)
        self._needs_all_keys = needs_all_keys
        self._unique = unique
        self._judged = Latest(partial(_hard_tokens, len(self._hard)))
        self._scored = Latest(partial(_soft_tokens, len(self._soft), needs_all_keys))
        self._adds = [int(c.selects(pod.labels)) for c in self._hard]
        hard_keys = [c.key for c in self._hard]
        soft_keys = [c.key for c in self._soft] if needs_all_keys else []
        hard = Eligibility(memberships, pod.spec, hard_keys, comparisons=comparisons)
        soft = Eligibility(memberships, pod.spec, soft_keys, comparisons=comparisons)

        def sums(c: Constraint, eligibility: Eligibility) -> DomainSums:
            return DomainSums(eligibility.members(c), counting(c), unique=unique[c.key])

        def soft_sums(c: Constraint) -> DomainSums:
            if c.key != HOSTNAME:
                return sums(c, soft)
            # Counted on the node itself, whatever else is excluded.
            return DomainSums(memberships.of(HOSTNAME), counting(c), unique=True)

        self._hard_sums = [sums(c, hard) for c in self._hard]
        self._soft_sums = [soft_sums(c) for c in self._soft]
        self._sums = (*self._hard_sums, *self._soft_sums)

    def key(self, row: int) -> Key:
        hard = tuple([sums.token(row) for sums in self._hard_sums])
        return hard, tuple([sums.token(row) for sums in self._soft_sums])

    def numbered(self, rows: int) -> tuple[NDArray[Any], Sequence[Key]]:
        split = len(self._hard_sums)
        numbers, tokens = combined(self._sums, rows)
        return numbers, [(token[:split], token[split:]) for token in tokens]

    def status(self, key: Key) -> Status | None:
        tokens: tuple[Token, ...] = key[0]  # type: ignore[index]
        rules = zip(self._hard, self._hard_sums, self._adds, tokens, strict=True)
        for constraint, sums, adds, token in rules:
            if token is MISSING:
                return NO_LABEL
            if not sums.domains:
                continue
            least = 0 if sums.domains < constraint.min_domains else sums.smallest
            if sums.of(token) + adds - least > constraint.max_skew:
                return SKEWED
        return None

    def passes(self, keys: Sequence[Key]) -> list[bool]:
        columns = self._judged.of(keys)
        passes = [True] * len(keys)
        for place, most in self._limits():
            counts = self._hard_sums[place].at(columns[place].tokens)
            passes = [passed and count <= most for passed, count in zip(passes, counts, strict=True)]
        for column in columns:
            for number in column.lacking:
                passes[number] = False
        return passes

    def _limits(self) -> list[tuple[int, int]]:
        """The most pods there may be in a domain, for each hard constraint that has any domains."""
        limits = []
        for place, sums in enumerate(self._hard_sums):
            if domains := sums.domains:
                constraint = self._hard[place]
                least = 0 if domains < constraint.min_domains else sums.smallest
                limits.append((place, constraint.max_skew + least - self._adds[place]))
        return limits

    def rows_that_matter(self) -> set[int]:
        return {row for sums in self._hard_sums for row in sums.rows_with_some()}

    def raw_scores(self, keys: Sequence[Key], sizes: Sequence[int]) -> list[int]:
        scored = self._scored.of(keys)
        sizes = sizes if scored.kept is None else [sizes[number] for number in scored.kept]
        scores: list[float] = []
        for constraint, sums, column in zip(self._soft, self._soft_sums, scored.columns, strict=True):
            weight = log(self._size(constraint.key, column, sizes) + 2)
            skew = constraint.max_skew - 1
            part = [count * weight + skew for count in sums.at(column.tokens)]
            for number in column.lacking:
                part[number] = 0.0
            scores = [score + more for score, more in zip(scores, part, strict=True)] if scores else part
        raw = half_away_each(scores)
        return raw if scored.kept is None else scored.among_all(raw)

    def columns(self) -> SpreadColumns:
        soft = list(zip(self._soft, self._soft_sums, strict=True))
        return SpreadColumns(self._hard_sums, self._limits, soft, needs_all=self._needs_all_keys)

    def clone(self) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._hard_sums = [sums.clone() for sums in self._hard_sums]
        copy._soft_sums = [sums.clone() for sums in self._soft_sums]
        copy._sums = (*copy._hard_sums, *copy._soft_sums)
        return copy

    def _size(self, key: str, column: TokenList, sizes: Sequence[int]) -> int:
        """How many domains the feasible nodes are in. Nodes that lack the key count as one together."""
        if key == HOSTNAME:
            return sum(sizes)
        if not self._unique[key]:
            return column.domains
        return bool(column.lacking) + sum(sizes) - sum([sizes[number] for number in column.lacking])


class Scored(msgspec.Struct, frozen=True):
    """Which of some keys are scored, None: all of them; and their tokens, constraint by constraint."""

    count: int  # of the keys
    kept: list[int] | None
    columns: list[TokenList]

    def among_all(self, raw: Sequence[int]) -> list[int]:
        assert self.kept is not None
        found = [IGNORED] * self.count
        for number, score in zip(self.kept, raw, strict=True):
            found[number] = score
        return found


def _hard_tokens(places: int, keys: Sequence[Any]) -> list[TokenList]:
    return TokenList.all_of([key[0] for key in keys], places)


def _soft_tokens(places: int, needs_all: bool, keys: Sequence[Any]) -> Scored:
    """Where the pod's own constraints name the keys, a node that lacks any of them is ignored."""
    tokens: list[tuple[Token, ...]] = [key[1] for key in keys]
    kept = [number for number, each in enumerate(tokens) if not (needs_all and MISSING in each)]
    columns = TokenList.all_of([tokens[number] for number in kept], places)
    return Scored(len(keys), None if len(kept) == len(keys) else kept, columns)
