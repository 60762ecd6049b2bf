"""Counts and times, kept as plain numbers: cheap to write, turned into metrics when somebody reads them.

A meter measures and never decides: an engine decides the same with one and without. Its clock and its
source of chance are passed in.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import numpy as np

from mooring.framework.metrics.families import Family

GAPS = 17  # single plugins are timed in a cycle out of 2 to 18: a tenth of all, as in kube-scheduler
FOLD_ABOVE = 4096  # observations of a series kept apart before they are sorted into buckets
LOOK_EVERY = 100  # sampled cycles between two looks for series that have so many

Labels = tuple[str, ...]
Series = TypeVar("Series")
Key = TypeVar("Key", bound=Hashable)


class Lazy(dict[Key, Series]):
    """Series at hand by some key, made when first asked for: a plain lookup from then on."""

    def __init__(self, make: Callable[[Key], Series]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Key) -> Series:
        made = self[key] = self._make(key)
        return made


class Count:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Samples:
    """Observations of one series. Taking one in is an append; sorting them into buckets waits."""

    __slots__ = ("_bounds", "_counts", "_fresh", "_sum", "observe")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = np.array(bounds)
        self._counts = np.zeros(len(bounds) + 1, np.int64)
        self._sum = 0.0
        self._fresh = array("d")  # plain doubles: a list would keep an object alive for each
        self.observe: Callable[[float], None] = self._fresh.append

    @property
    def unsorted(self) -> int:
        return len(self._fresh)

    @property
    def counts(self) -> list[int]:
        """How many observations lie in each bucket, and above the last bound; not cumulative."""
        self.fold()
        return self._counts.tolist()

    @property
    def sum(self) -> float:
        self.fold()
        return self._sum

    def fold(self) -> None:
        """Sorts what came in into the buckets. A value on a bound belongs to the bucket below it."""
        if self._fresh:
            values = np.array(self._fresh)
            del self._fresh[:]
            places = np.searchsorted(self._bounds, values, side="left")
            self._counts += np.bincount(places, minlength=len(self._counts))
            self._sum += float(values.sum())


class Meter:
    """All series of one scheduler, made when they are first asked for. Whoever writes often keeps them."""

    def __init__(self, clock: Callable[[], float], rng: random.Random | None = None) -> None:
        self.clock = clock
        self.sampled = False  # whether single plugins are timed in this cycle
        self._chance = (rng or random.Random(0)).random
        self._counts: dict[Family, dict[Labels, Count]] = {}
        self._samples: dict[Family, dict[Labels, Samples]] = {}
        self._gaps = 0

    def count(self, family: Family, *labels: str) -> Count:
        series = self._counts.setdefault(family, {})
        return series.get(labels) or series.setdefault(labels, Count())

    def samples(self, family: Family, *labels: str) -> Samples:
        series = self._samples.setdefault(family, {})
        return series.get(labels) or series.setdefault(labels, Samples(family.buckets))

    def counted(self, family: Family) -> Iterator[tuple[Labels, int]]:
        for labels, count in self._counts.get(family, {}).items():
            yield labels, count.value

    def sampled_series(self, family: Family) -> Iterator[tuple[Labels, Samples]]:
        yield from self._samples.get(family, {}).items()

    def gap(self) -> int:
        """How many cycles from now the next one is sampled. Meanwhile is the time to tidy up."""
        self._gaps += 1
        if not self._gaps % LOOK_EVERY:
            self._fold()
        return 1 + int(self._chance() * GAPS)

    def _fold(self) -> None:
        for series in self._samples.values():
            for samples in series.values():
                if samples.unsorted > FOLD_ABOVE:
                    samples.fold()
