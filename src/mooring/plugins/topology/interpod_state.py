"""What InterPodAffinity knows of all nodes for one class of pods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from mooring.cluster.counts import RowCounts
from mooring.framework.domain import Key
from mooring.framework.status import Status, unresolvable, unschedulable
from mooring.plugins.topology.members import Memberships
from mooring.plugins.topology.sums import MISSING, DomainSums, SumOf, Token, combined
from mooring.plugins.topology.sums_state import SumsState
from mooring.plugins.topology.terms import Term

NO_AFFINITY = unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY = unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

Counted = tuple[str, RowCounts]  # a topology key, and what is counted on each row
Held = tuple[Term, RowCounts]  # a term of placed pods, and how many on each row hold it
Weighed = tuple[int, str, RowCounts]


class InterPodState(SumsState):
    """Sums over domains of: pods the pod must be near, must not be near, must not be near it, and
    pods it or they would rather be near or far from. A row's key is its tokens; sums over the same
    domains share one."""

    def __init__(
        self,
        unique: Callable[[str], bool],
        memberships: Memberships,
        *,
        near: Sequence[Counted],
        apart: Sequence[Counted],
        kept_away: Sequence[Held],
        weighed: Sequence[Weighed],
        starts_its_own: bool,
    ) -> None:
        self.filters = bool(near or apart or kept_away)
        self.scores = bool(weighed)
        self.kept_away = frozenset(term for term, _ in kept_away)
        self._is_copy = False
        self._starts_its_own = starts_its_own
        self._unique = unique
        self._memberships = memberships
        self._weights = [weight for weight, _, _ in weighed]
        held = ((term.key, counts) for term, counts in kept_away)
        counted = (*near, *apart, *held, *((key, counts) for _, key, counts in weighed))
        self._sums = [self._sums_over(key, counts) for key, counts in counted]
        self._near = range(len(near))
        self._apart = range(len(near), len(near) + len(apart))
        self._kept_away = range(self._apart.stop, self._apart.stop + len(kept_away))
        self._weighed = range(self._kept_away.stop, len(counted))
        self._give_places()

    def _give_places(self) -> None:
        """Where in a key the token of each of the sums is."""
        places: dict[object, int] = {}
        self._place: list[int] = []
        self._first: list[DomainSums] = []  # that have each place
        for sums in self._sums:
            place = places.setdefault(sums if sums.unique else sums.members, len(places))
            self._place.append(place)
            if place == len(self._first):
                self._first.append(sums)

    def keep_away(self, term: Term, counts: RowCounts) -> None:
        """One more term is held against the pod. For copies to try things on: keys given out so far are of
        no use any more."""
        sums = self._sums_over(term.key, counts)
        sums.sync()
        before = self._kept_away.stop
        self._sums = [*self._sums[:before], sums, *self._sums[before:]]
        self._kept_away = range(self._kept_away.start, self._kept_away.stop + 1)
        self._weighed = range(self._kept_away.stop, len(self._sums))
        self.kept_away |= {term}
        self._give_places()

    def _sums_over(self, key: str, counts: RowCounts) -> DomainSums:
        return DomainSums(self._memberships.of(key), counts, unique=self._unique(key))

    def key(self, row: int) -> Key:
        return tuple([sums.token(row) for sums in self._first])

    def numbered(self, rows: int) -> tuple[NDArray[Any], Sequence[Key]]:
        return combined(self._first, rows)

    def status(self, key: Key) -> Status | None:
        tokens: tuple[Token, ...] = key  # type: ignore[assignment]
        if self._near and not self._is_near(tokens):
            return NO_AFFINITY
        if any(self._count(index, tokens) for index in self._apart):
            return ANTI_AFFINITY
        if any(self._count(index, tokens) for index in self._kept_away):
            return EXISTING_ANTI_AFFINITY
        return None

    def passes(self, keys: Sequence[Key]) -> list[bool]:
        away = [
            (self._place[index], self._sums[index].by_token())
            for index in (*self._apart, *self._kept_away)
            if self._sums[index].total
        ]
        return [self._lets_in(key, away) for key in keys]  # type: ignore[arg-type]

    def _lets_in(self, tokens: Sequence[Token], away: Sequence[tuple[int, SumOf]]) -> bool:
        """`status` with what is the same for all keys worked out."""
        for place, sum_of in away:
            token = tokens[place]
            if token is not MISSING and sum_of(token, 0):
                return False
        return not self._near or self._is_near(tokens)

    def rows_that_matter(self) -> set[int]:
        filtering = self._sums[: self._kept_away.stop]
        return {row for sums in filtering for row in sums.rows_with_some()}

    def raw_scores(self, keys: Sequence[Key], sizes: Sequence[int]) -> list[int]:
        weighed = [
            (self._place[index], weight, self._sums[index].by_token())
            for index, weight in zip(self._weighed, self._weights, strict=True)
            if self._sums[index].total
        ]
        return [_raw(key, weighed) for key in keys]  # type: ignore[arg-type]

    def clone(self) -> Self:
        """As with kube-scheduler, what is tried on a copy makes no difference to a pod that no node would
        be rejected for without it."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._sums = [sums.clone() for sums in self._sums]
        copy._give_places()
        if not self._is_copy:
            held = any(self._sums[index].total for index in self._kept_away)
            copy.filters, copy._is_copy = bool(self._near or self._apart or held), True
        return copy

    def _is_near(self, tokens: Sequence[Token]) -> bool:
        """Near a matching pod by every term; or there is none at all and it is its own first."""
        if any(tokens[self._place[index]] is MISSING for index in self._near):
            return False
        if all(self._count(index, tokens) for index in self._near):
            return True
        return self._starts_its_own and not any(self._sums[index].total for index in self._near)

    def _count(self, index: int, tokens: Sequence[Token]) -> int:
        token = tokens[self._place[index]]
        return 0 if token is MISSING else self._sums[index].of(token)


def _raw(tokens: Sequence[Token], weighed: Sequence[tuple[int, int, SumOf]]) -> int:
    score = 0
    for place, weight, sum_of in weighed:
        token = tokens[place]
        if token is not MISSING:
            score += weight * sum_of(token, 0)
    return score
