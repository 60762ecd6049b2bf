"""What PodTopologySpread knows of all nodes for one class of pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from mooring.cluster.counts import RowCounts
from mooring.framework.domain import Key
from mooring.framework.status import Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.plugins.topology.constraints import HOSTNAME, Constraint
from mooring.plugins.topology.eligible import members_of
from mooring.plugins.topology.go_math import half_away, log
from mooring.plugins.topology.members import Memberships
from mooring.plugins.topology.sums import MISSING, DomainSums, SumOf, Token, combined
from mooring.plugins.topology.sums_state import SumsState

SKEWED = unschedulable("node(s) didn't match pod topology spread constraints")
NO_LABEL = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
IGNORED = -1  # the raw score of a node that lacks a key the pod's own constraints name

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
        self._adds = [int(c.selects(pod.labels)) for c in self._hard]
        hard_keys = [c.key for c in self._hard]
        soft_keys = [c.key for c in self._soft] if needs_all_keys else []

        def sums(c: Constraint, keys: Sequence[str]) -> DomainSums:
            members = members_of(memberships, pod.spec, c, keys, comparisons)
            return DomainSums(members, counting(c), unique=unique[c.key])

        def soft_sums(c: Constraint) -> DomainSums:
            if c.key != HOSTNAME:
                return sums(c, soft_keys)
            # Counted on the node itself, whatever else is excluded.
            return DomainSums(memberships.of(HOSTNAME), counting(c), unique=True)

        self._hard_sums = [sums(c, hard_keys) for c in self._hard]
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
        rules = []
        for place, (constraint, sums, adds) in enumerate(
            zip(self._hard, self._hard_sums, self._adds, strict=True)
        ):
            if domains := sums.domains:
                least = 0 if domains < constraint.min_domains else sums.smallest
                rules.append((place, constraint.max_skew + least - adds, sums.by_token()))
        return [_keeps(key[0], rules) for key in keys]  # type: ignore[index]

    def rows_that_matter(self) -> set[int]:
        return {row for sums in self._hard_sums for row in sums.rows_with_some()}

    def raw_scores(self, keys: Sequence[Key], sizes: Sequence[int]) -> list[int]:
        rows: list[tuple[Token, ...]] = [key[1] for key in keys]  # type: ignore[index]
        needs_all = self._needs_all_keys
        sized = zip(rows, sizes, strict=True)
        kept = [(tokens, size) for tokens, size in sized if not (needs_all and MISSING in tokens)]
        rules = [
            (place, sums.by_token(), log(self._size(place, kept) + 2), constraint.max_skew - 1)
            for place, (constraint, sums) in enumerate(zip(self._soft, self._soft_sums, strict=True))
        ]
        return [IGNORED if needs_all and MISSING in tokens else _raw(tokens, rules) for tokens in rows]

    def clone(self) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._hard_sums = [sums.clone() for sums in self._hard_sums]
        copy._soft_sums = [sums.clone() for sums in self._soft_sums]
        copy._sums = (*copy._hard_sums, *copy._soft_sums)
        return copy

    def _size(self, number: int, kept: Sequence[tuple[tuple[Token, ...], int]]) -> int:
        """How many domains the feasible nodes are in. Nodes that lack the key count as one together."""
        key = self._soft[number].key
        if key == HOSTNAME:
            return sum([size for _, size in kept])
        if not self._unique[key]:
            return len({tokens[number] for tokens, _ in kept})
        missing = any(tokens[number] is MISSING for tokens, _ in kept)
        return missing + sum(size for tokens, size in kept if tokens[number] is not MISSING)


def _keeps(tokens: tuple[Token, ...], rules: Sequence[tuple[int, int, SumOf]]) -> bool:
    """`status` with what is the same for all keys worked out: the place of a token, and the most pods there
    may be in its domain."""
    if MISSING in tokens:
        return False
    for place, most, sum_of in rules:  # noqa: SIM110 - a generator takes longer to make than this to run
        if sum_of(tokens[place], 0) > most:  # type: ignore[arg-type]
            return False
    return True


def _raw(tokens: tuple[Token, ...], rules: Sequence[tuple[int, SumOf, float, int]]) -> int:
    """The score of a key, by the place of each token, its sums, their weight and the skew that is allowed."""
    score = 0.0
    for place, sum_of, weight, skew in rules:
        if (token := tokens[place]) is not MISSING:
            score += sum_of(token, 0) * weight + skew
    return half_away(score)
