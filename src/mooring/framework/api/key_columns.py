"""Keys of nodes asked about all at once: the form of `DomainState` for many groups of nodes.

With five hundred racks, asking about them one by one costs more than everything else. A state that can
answer for arrays offers its own columns; any other one gets columns that ask it key by key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.columns import Bools
from mooring.framework.api.growing_ints import Ints

if TYPE_CHECKING:
    from mooring.framework.api.domain import DomainState, Key


class KeyColumns(ABC):
    """Keys by number. Several numbers may have the same key, and a number may get another key later.

    Answers are arrays over the numbers given out so far, and the same as those of the state for single
    keys, as of its last `sync`. What stands for numbers nobody asks about means nothing.
    """

    @abstractmethod
    def put(self, number: int, key: Key) -> None:
        """From now on the number stands for this key."""

    @abstractmethod
    def passes(self, asked: Bools) -> Bools:
        """`DomainState.passes` of the numbers asked about."""

    @abstractmethod
    def raw_scores(self, sizes: Ints) -> Ints:
        """`DomainState.raw_scores` of the numbers whose size, of feasible nodes, is not 0."""


class LiftedColumns(KeyColumns):
    """Made from the answers for single keys."""

    def __init__(self, state: DomainState) -> None:
        self._state = state
        self._keys: list[Key] = []

    def put(self, number: int, key: Key) -> None:
        self._keys.extend([None] * (number + 1 - len(self._keys)))
        self._keys[number] = key

    def passes(self, asked: Bools) -> Bools:
        numbers, keys, key_of = self._distinct(asked)
        passes: Bools = np.zeros(len(self._keys), np.bool_)
        passes[numbers] = np.array(list(self._state.passes(keys)), np.bool_)[key_of]
        return passes

    def raw_scores(self, sizes: Ints) -> Ints:
        numbers, keys, key_of = self._distinct(sizes > 0)
        counts = np.zeros(len(keys), np.int64)
        np.add.at(counts, key_of, sizes[numbers])
        raw = np.array(list(self._state.raw_scores(keys, counts.tolist())))
        if raw.dtype.kind not in "iu":
            raise TypeError(f"raw scores are {raw.dtype}, not integers")
        scores = np.zeros(len(self._keys), np.int64)
        scores[numbers] = raw[key_of]
        return scores

    def _distinct(self, asked: Bools) -> tuple[NDArray[Any], list[Key], NDArray[Any]]:
        """The numbers asked about, their distinct keys, and which of these each number has."""
        numbers = asked.nonzero()[0]
        number_of: dict[Key, int] = {}
        key_of = [number_of.setdefault(self._keys[n], len(number_of)) for n in numbers.tolist()]
        return numbers, list(number_of), np.array(key_of, np.intp)


def disagreement(state: DomainState, keys: Sequence[Key]) -> str:
    """Where the columns of a state say something else than the state does of single keys; "" when they agree.
    The keys are distinct; each is given two numbers."""
    columns = state.columns()
    for number, key in enumerate((*keys, *keys)):
        columns.put(number, key)
    if state.filters:
        one_by_one = [state.status(key) is None for key in keys]
        if list(state.passes(keys)) != one_by_one:
            return "status and passes disagree"
        if columns.passes(np.ones(2 * len(keys), np.bool_)).tolist() != 2 * one_by_one:
            return "status and columns disagree"
    if state.scores:
        raw = list(state.raw_scores(keys, [2] * len(keys)))
        if columns.raw_scores(np.ones(2 * len(keys), np.int64)).tolist() != 2 * raw:
            return "raw_scores and columns disagree"
    return ""
