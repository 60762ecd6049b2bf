"""Tokens of keys as arrays: the sums of many domains at once."""

from __future__ import annotations

import numpy as np

from mooring.cluster.columns import Bools
from mooring.framework.api.growing_ints import Growing, Ints
from mooring.plugins.topology.sums import MISSING, NOWHERE, DomainSums, Token


class TokenColumn:
    """The token of each number; NOWHERE where the key is missing."""

    def __init__(self) -> None:
        self._tokens = Growing(NOWHERE)
        self._highest = 0
        self._lacking = False  # whether any number ever had no token

    def put(self, number: int, token: Token) -> None:
        if token is MISSING:
            token, self._lacking = NOWHERE, True
        elif token > self._highest:
            self._highest = token
        self._tokens.put(number, token)

    @property
    def tokens(self) -> Ints:
        return self._tokens.all

    def counts(self, sums: DomainSums) -> Ints:
        """What some sums have in the domain of each number; where the key is missing it means nothing."""
        return self.tokens if sums.unique else sums.by_domain(self._highest)[self.tokens]

    def lacking(self) -> Bools | None:
        """Which numbers have no token; None: all have one."""
        return self.tokens == NOWHERE if self._lacking else None

    def present(self, among: Bools) -> Bools:
        """Those of some numbers that have a token."""
        return among & (self.tokens != NOWHERE) if self._lacking else among

    def domains(self, kept: Bools) -> int:
        """How many different tokens there are; all that are missing are one together."""
        return int(np.count_nonzero(np.bincount(self.tokens[kept] + 1)))
