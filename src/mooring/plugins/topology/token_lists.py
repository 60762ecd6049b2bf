"""Tokens of a few keys, place by place: as long as the same keys are asked about, only sums change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from mooring.framework.api.domain import Key
from mooring.plugins.topology.sums import MISSING, NOWHERE, Token

T = TypeVar("T")
REMEMBERED = 16


class TokenList(msgspec.Struct, frozen=True):
    """The tokens that keys have at one place."""

    tokens: list[int]  # NOWHERE where the topology key is missing
    lacking: list[int]  # these
    domains: int  # different ones

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> TokenList:
        numbers = [NOWHERE if token is MISSING else token for token in tokens]
        lacking = [number for number, token in enumerate(tokens) if token is MISSING]
        return cls(numbers, lacking, len(set(numbers)))

    @classmethod
    def all_of(cls, keys: Sequence[Sequence[Token]], places: int) -> list[TokenList]:
        return [cls.of([tokens[place] for tokens in keys]) for place in range(places)]


class Latest(Generic[T]):
    """What follows from keys alone, known for those that were asked about lately."""

    __slots__ = ("_known", "_work_out")

    def __init__(self, work_out: Callable[[Sequence[Any]], T]) -> None:
        self._work_out = work_out
        self._known: dict[int, tuple[Sequence[Key], T]] = {}  # by identity, as long as the keys are held

    def of(self, keys: Sequence[Key]) -> T:
        """Whoever asks about the same keys again gives the same sequence again."""
        known = self._known.get(id(keys))
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[id(keys)] = (keys, self._work_out(keys))
        return known[1]
