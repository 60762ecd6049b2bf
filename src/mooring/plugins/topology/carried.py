"""Terms that placed pods carry, and which of them mean a pod."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import islice

import msgspec

from mooring.plugins.kept import Sign
from mooring.plugins.topology.terms import Term

Carried = tuple[Hashable, Term]  # what it is, or its weight; and the term


class Against(msgspec.Struct, frozen=True):
    """The terms that mean a pod, in the order they came up."""

    carried: tuple[Carried, ...] = ()
    sign: Sign = Sign(())
    keys: tuple[str, ...] = ()  # sorted

    @classmethod
    def of(cls, carried: tuple[Carried, ...]) -> Against:
        sign = Sign(tuple((kind, term.ident) for kind, term in carried))
        return cls(carried, sign, tuple(sorted({term.key for _, term in carried})))


NOTHING_AGAINST = Against()


class CarriedIndex:
    """Terms by a label that all they mean have: with many terms, most are not asked about a pod."""

    def __init__(self) -> None:
        self._recounts = -1
        self._seen = 0
        self._needing: dict[tuple[str, str], list[tuple[int, Carried]]] = {}
        self._needing_none: list[tuple[int, Carried]] = []

    def follow(self, carried: Mapping[Carried, object], recounts: int) -> None:
        """Takes in terms that came up since. They stay known, until all is counted anew."""
        if recounts != self._recounts:
            self._recounts, self._seen = recounts, 0
            self._needing, self._needing_none = {}, []
        for number, (kind, term) in enumerate(islice(carried, self._seen, None), self._seen):
            needs = term.needs
            places = self._needing_none if needs is None else self._needing.setdefault(needs, [])
            places.append((number, (kind, term)))
        self._seen = len(carried)

    def asking(self, labels: Mapping[str, str]) -> Iterator[Carried]:
        """Terms that may mean a pod of these labels, in the order they came up."""
        found = [*self._needing_none]
        for label in labels.items():
            found += self._needing.get(label, ())
        return (carried for _, carried in sorted(found, key=_number))


def _number(numbered: tuple[int, Carried]) -> int:
    return numbered[0]
