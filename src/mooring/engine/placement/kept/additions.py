"""G: what is added to the base scores of the nodes of each group.

It depends on all groups that have nodes: topology domains reject some of them, and raw scores are
normalised over those that are left. Groups appear and vanish seldom, so what follows from their raw
scores and keys alone is worked out once for as long as they are the same; from one decision to the
next only counts of pods change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooring.engine.placement.kept.buckets import Raws
from mooring.engine.placement.kept.domains import Domains
from mooring.engine.placement.kept.group_columns import GroupColumns
from mooring.framework.api.domain import Key
from mooring.framework.running.forms import Scorer

REMEMBERED = 16
MOST_LONE = 1024


class Passing:
    """Groups that no domain rejects; `numbers` is None when that is all of them."""

    def __init__(self, columns: Sequence[Sequence[Any]], numbers: tuple[int, ...] | None, count: int) -> None:
        self.numbers = numbers
        self.count = count if numbers is None else len(numbers)
        self._columns = columns
        self._keys: dict[int, tuple[Sequence[Key], Sequence[int] | None]] = {}
        self.plain: list[int] = []  # what is added whatever pods there are in their domains

    def column(self, place: int) -> Sequence[Any]:
        """What they have at a place of their raws."""
        column = self._columns[place]
        return column if self.numbers is None else [column[number] for number in self.numbers]

    def keys(self, place: int) -> tuple[Sequence[Key], Sequence[int] | None]:
        """The distinct keys at a place, and which of them each group has; None: each has its own."""
        if place not in self._keys:
            column = self.column(place)
            number_of: dict[Key, int] = {}
            numbers = [number_of.setdefault(key, len(number_of)) for key in column]
            distinct = len(number_of) == len(column)
            self._keys[place] = (column, None) if distinct else (list(number_of), numbers)
        return self._keys[place]

    def among_all(self, additions: list[int], count: int) -> list[int | None]:
        """The additions of all groups; None for those that are rejected."""
        if self.numbers is None:
            return list(additions)
        found: list[int | None] = [None] * count
        for number, addition in zip(self.numbers, additions, strict=True):
            found[number] = addition
        return found


class Additions:
    """Worked out from the raw scores of groups, which `scorers` normalise, and the keys of `domains` after
    them. What is added to a group that is the only one is kept in `lone`, for all classes that share it."""

    def __init__(
        self, scorers: Sequence[tuple[Scorer, int]], domains: Domains, lone: dict[tuple[Any, ...], int]
    ) -> None:
        self._lone = lone
        self._scorers = scorers
        self._domains = domains
        self._asked: Sequence[Raws] | None = None  # about these groups, the last time
        self._columns: Sequence[Sequence[Any]] = ()
        self._known: dict[tuple[int, ...] | None, Passing] = {}  # the same few pass again and again
        self._normalized: dict[Scorer, tuple[list[int], dict[int, int]]] = {}  # the last values of each

    def __call__(self, raws: Sequence[Raws], sizes: Sequence[int]) -> list[int | None]:
        """The addition of each group; None where it is not feasible. Who asks about the same groups again
        gives the same sequence again."""
        if not raws:
            return []
        if len(raws) == 1 and not self._domains:
            return [self._alone(raws[0])]
        if raws is not self._asked:
            self._asked, self._columns = raws, list(zip(*raws, strict=True))
            self._known.clear()
        numbers = self._domains.passing(self._columns) if self._domains else None
        passing = self._known.get(numbers) or self._learn(numbers)
        additions = passing.plain
        if passing.count:
            sizes = sizes if numbers is None else [sizes[number] for number in numbers]
            for place, state, scorer, weight in self._domains.scoring:
                if state.scores:
                    keys, number_of = passing.keys(place)
                    raw = self._domains.raw_scores(scorer.name, state, keys, number_of, sizes)
                    final = self._final(scorer, weight, raw)
                    additions = [added + final[value] for added, value in zip(additions, raw, strict=True)]
        return passing.among_all(additions, len(raws))

    def _alone(self, raws: tuple[Any, ...]) -> int:
        added = self._lone.get(raws)
        if added is None:
            weighed = zip(self._scorers, raws, strict=True)
            parts = [weight * scorer.normalized([value])[0] for (scorer, weight), value in weighed]
            if len(self._lone) >= MOST_LONE:
                self._lone.clear()
            added = self._lone[raws] = sum(parts)
        return added

    def columns(self) -> GroupColumns:
        """The same for many groups."""
        return GroupColumns(self._scorers, self._domains)

    def _learn(self, numbers: tuple[int, ...] | None) -> Passing:
        assert self._asked is not None
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        passing = Passing(self._columns, numbers, len(self._asked))
        passing.plain = self._plain(passing)
        self._known[numbers] = passing  # only now: a normaliser that fails leaves nothing half worked out
        return passing

    def _plain(self, passing: Passing) -> list[int]:
        additions = [0] * passing.count
        for place, (scorer, weight) in enumerate(self._scorers if passing.count else ()):
            raw = passing.column(place)
            final = self._final(scorer, weight, raw)
            additions = [added + final[value] for added, value in zip(additions, raw, strict=True)]
        return additions

    def _final(self, scorer: Scorer, weight: int, raw: Sequence[int]) -> dict[int, int]:
        """Weighted, normalised scores by raw score. They depend on nothing but the distinct values, which are
        often those of the last time."""
        values = sorted(set(raw))
        known = self._normalized.get(scorer)
        if known is None or known[0] != values:
            given = zip(values, scorer.normalized(values), strict=True)
            known = self._normalized[scorer] = (values, {value: weight * score for value, score in given})
        return known[1]
