"""G of many groups at once: what `Additions` works out, as arrays over groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mooring.cluster.columns import Bools
from mooring.framework.api import answers
from mooring.framework.api.growing_ints import Growing, Ints
from mooring.framework.running.forms import Scorer

if TYPE_CHECKING:
    from mooring.engine.placement.kept.buckets import Raws
    from mooring.engine.placement.kept.domains import Domains

NO_GROUP = -(1 << 29)  # the addition of a group that is not feasible
TABLE_UP_TO = 4096  # raw scores that lie closer together are looked up in a table


class Normalizing:
    """Raw scores of one scorer to weighted, normalised ones."""

    def __init__(self, scorer: Scorer, weight: int) -> None:
        self._scorer = scorer
        self._weight = weight
        self._values: list[int] = []  # the last time
        self._table: Ints = np.zeros(1, np.int64)

    def __call__(self, raw: Ints, passing: Bools) -> Ints:
        """The scores of those that pass, which some do; they depend on nothing but their distinct values."""
        values = raw[passing]
        low = int(values.min())
        span = int(values.max()) - low + 1
        if span > TABLE_UP_TO:
            distinct = np.unique(values)
            final = self._weight * np.array(self._scorer.normalized(distinct.tolist()), np.int64)
            return final.take(distinct.searchsorted(raw), mode="clip")
        found = np.bincount(values - low).nonzero()[0]
        distinct_values = (found + low).tolist()
        if distinct_values != self._values:
            self._values, self._table = distinct_values, np.zeros(span, np.int64)
            self._table[found] = self._scorer.normalized(distinct_values)
            self._table *= self._weight
        return self._table.take(raw - low, mode="clip")


class GroupColumns:
    """Groups by number: their raw scores and keys in columns."""

    def __init__(self, scorers: Sequence[tuple[Scorer, int]], domains: Domains) -> None:
        self._scorers = [(Growing(), Normalizing(scorer, weight)) for scorer, weight in scorers]
        self._keys = [(place, state.columns()) for place, state in domains.placed]
        columns = dict(self._keys)
        self._judging = [(name, state, columns[place]) for place, name, state in domains.judging]
        self._scoring = [
            (scorer.name, state, columns[place], Normalizing(scorer, weight))
            for place, state, scorer, weight in domains.scoring
        ]
        self._plain: tuple[Bools, Ints] | None = None  # who passed, and what they get at any rate

    def put(self, number: int, raws: Raws) -> None:
        """From now on this is the group of the number."""
        for (column, _), raw in zip(self._scorers, raws, strict=False):
            column.put(number, raw)  # type: ignore[arg-type]
        for place, keys in self._keys:
            keys.put(number, raws[place])
        self._plain = None

    def additions(self, sizes: Ints) -> Ints:
        """By number, given how many nodes each group has; NO_GROUP where it is not feasible."""
        passing = sizes > 0
        for name, state, columns in self._judging:
            if state.filters:
                passing = answers.call(name, "filter", columns.passes, passing)
        if not passing.any():
            return np.full(len(sizes), NO_GROUP, np.int64)
        additions = self._added_to_all(passing)
        feasible = sizes * passing
        for name, state, columns, normalizing in self._scoring:
            if state.scores:
                raw = answers.call(name, "score", columns.raw_scores, feasible)
                additions = additions + normalizing(raw, passing)
        return np.where(passing, additions, NO_GROUP)

    def _added_to_all(self, passing: Bools) -> Ints:
        """Scores that are normalised and have nothing to do with domains: the same until others pass."""
        if self._plain is None or not np.array_equal(self._plain[0], passing):
            additions = np.zeros(len(passing), np.int64)
            for column, normalizing in self._scorers:
                additions += normalizing(column.all, passing)
            self._plain = passing, additions
        return self._plain[1]
