"""PodTopologySpread over many keys at once: `SpreadState` as arrays, number for number the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.cluster.columns import Bools
from mooring.framework.api.growing_ints import Ints
from mooring.framework.api.key_columns import KeyColumns
from mooring.plugins.topology.constraints import HOSTNAME, IGNORED, Constraint
from mooring.plugins.topology.go_math import Floats, half_away_all, log
from mooring.plugins.topology.sums import DomainSums
from mooring.plugins.topology.token_columns import TokenColumn


class Soft(msgspec.Struct, frozen=True):
    """A constraint that scores, and what it counts."""

    constraint: Constraint
    sums: DomainSums
    column: TokenColumn


class SpreadColumns(KeyColumns):
    """`limits` tells which hard constraints hold now, by number, and the most pods that each allows for."""

    def __init__(
        self,
        hard: Sequence[DomainSums],
        limits: Callable[[], list[tuple[int, int]]],
        soft: Sequence[tuple[Constraint, DomainSums]],
        *,
        needs_all: bool,
    ) -> None:
        self._hard = [(sums, TokenColumn()) for sums in hard]
        self._limits = limits
        self._soft = [Soft(constraint, sums, TokenColumn()) for constraint, sums in soft]
        self._needs_all = needs_all
        self._columns = [*(column for _, column in self._hard), *(soft.column for soft in self._soft)]

    def put(self, number: int, key: Any) -> None:
        for column, token in zip(self._columns, (*key[0], *key[1]), strict=True):
            column.put(number, token)

    def passes(self, asked: Bools) -> Bools:
        passing = asked
        for _, column in self._hard:
            passing = column.present(passing)
        for place, most in self._limits():
            sums, column = self._hard[place]
            passing = passing & (column.counts(sums) <= most)
        return passing

    def raw_scores(self, sizes: Ints) -> Ints:
        kept = sizes > 0
        for soft in self._soft if self._needs_all else ():
            kept = soft.column.present(kept)
        scores: Floats = np.zeros(len(sizes))
        for soft in self._soft:
            weight = log(self._size(soft, sizes, kept) + 2)
            part = soft.column.counts(soft.sums) * weight + (soft.constraint.max_skew - 1)
            if (lacking := soft.column.lacking()) is not None:
                part[lacking] = 0.0
            scores += part
        raw = half_away_all(scores)
        if self._needs_all:
            raw[~kept] = IGNORED
        return raw

    def _size(self, soft: Soft, sizes: Ints, kept: Bools) -> int:
        """How many domains the feasible nodes are in. Nodes that lack the key count as one together."""
        if soft.constraint.key == HOSTNAME:
            return int(sizes[kept].sum())
        if not soft.sums.unique:
            return soft.column.domains(kept)
        present = soft.column.present(kept)
        return int(sizes[present].sum()) + bool((kept != present).any())
