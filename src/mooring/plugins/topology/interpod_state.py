"""What InterPodAffinity knows of all nodes for one class of pods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

from numpy.typing import NDArray

from mooring.cluster.row_counts import RowCounts
from mooring.framework.api.domain import Key
from mooring.framework.api.status import Status, unresolvable, unschedulable
from mooring.plugins.topology.interpod_columns import InterPodColumns
from mooring.plugins.topology.members import Memberships
from mooring.plugins.topology.sums import MISSING, DomainSums, SumsState, Token, combined
from mooring.plugins.topology.terms import Term
from mooring.plugins.topology.token_lists import Latest, TokenList

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
        self._asked = Latest(partial(TokenList.all_of, places=len(places)))

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
        columns = self._asked.of(keys)
        passes = [True] * len(keys)
        for index in (*self._apart, *self._kept_away):
            if (sums := self._sums[index]).total:
                counts = sums.at(columns[self._place[index]].tokens)
                passes = [passed and count <= 0 for passed, count in zip(passes, counts, strict=True)]
        if self._near:
            tried = zip(passes, keys, strict=True)
            passes = [passed and self._is_near(key) for passed, key in tried]  # type: ignore[arg-type]
        return passes

    def rows_that_matter(self) -> set[int]:
        filtering = self._sums[: self._kept_away.stop]
        return {row for sums in filtering for row in sums.rows_with_some()}

    def raw_scores(self, keys: Sequence[Key], sizes: Sequence[int]) -> list[int]:
        columns = self._asked.of(keys)
        scores = [0] * len(keys)
        for index, weight in zip(self._weighed, self._weights, strict=True):
            if (sums := self._sums[index]).total:
                column = columns[self._place[index]]
                counts = sums.at(column.tokens)
                if column.lacking:
                    counts = [max(count, 0) for count in counts]  # NOWHERE is below 0
                scores = [score + weight * count for score, count in zip(scores, counts, strict=True)]
        return scores

    def columns(self) -> InterPodColumns:
        def placed(indexes: Sequence[int]) -> list[tuple[int, DomainSums]]:
            return [(self._place[index], self._sums[index]) for index in indexes]

        return InterPodColumns(
            len(self._first),
            near=placed(self._near),
            away=placed((*self._apart, *self._kept_away)),
            weighed=list(zip(self._weights, placed(self._weighed), strict=True)),
            starts_its_own=self._starts_its_own,
        )

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
