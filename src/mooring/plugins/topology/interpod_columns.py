"""InterPodAffinity over many keys at once: `InterPodState` as arrays, number for number the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mooring.cluster.columns import Bools
from mooring.framework.api.growing_ints import Ints
from mooring.framework.api.key_columns import KeyColumns
from mooring.plugins.topology.sums import DomainSums
from mooring.plugins.topology.token_columns import TokenColumn

Placed = tuple[int, DomainSums]  # where in a key the token of the sums is


class InterPodColumns(KeyColumns):
    """Sums of pods to be near, to be away from, and with a weight."""

    def __init__(
        self,
        places: int,
        *,
        near: Sequence[Placed],
        away: Sequence[Placed],
        weighed: Sequence[tuple[int, Placed]],
        starts_its_own: bool,
    ) -> None:
        self._columns = [TokenColumn() for _ in range(places)]
        self._near, self._away, self._weighed = near, away, weighed
        self._starts_its_own = starts_its_own

    def put(self, number: int, key: Any) -> None:
        for column, token in zip(self._columns, key, strict=True):
            column.put(number, token)

    def passes(self, asked: Bools) -> Bools:
        passing = asked
        for place, sums in self._away:
            if sums.total:
                column = self._columns[place]
                none = column.counts(sums) == 0
                passing = passing & (none if (lacking := column.lacking()) is None else none | lacking)
        for place, _ in self._near:
            passing = self._columns[place].present(passing)
        if self._starts_its_own and not any(sums.total for _, sums in self._near):
            return passing
        for place, sums in self._near:
            passing = passing & (self._columns[place].counts(sums) > 0)
        return passing

    def raw_scores(self, sizes: Ints) -> Ints:
        raw = np.zeros(len(sizes), np.int64)
        for weight, (place, sums) in self._weighed:
            if sums.total:
                column = self._columns[place]
                part = weight * column.counts(sums)
                if (lacking := column.lacking()) is not None:
                    part[lacking] = 0
                raw += part
        return raw
