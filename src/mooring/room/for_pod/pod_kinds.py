"""Kinds of placed pods: pods of one kind have the same priority, take the same and look the same to budgets.

Each pod is looked at once, when it comes, and is from then on a small integer and the time it started.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice

import msgspec
import numpy as np

from mooring.cluster.charge import Charge
from mooring.cluster.column import Ints
from mooring.cluster.nodes import NodeTable
from mooring.cluster.pods import KINDS, Placed
from mooring.room.importance import NOT_STARTED, started_us

EMPTY = 0  # the kind of a slot that nobody is in
EMPTY_PRIORITY = 2**40  # above any pod's: an empty slot is nobody's victim
START_BITS = NOT_STARTED.bit_length()
SPARE = 1024  # kinds that may be known beside two for each pod; then all pods are looked at anew
FEW_KEYS = 16  # labels; with more, those of a pod are looked up among them
NO_AMOUNTS: Ints = np.zeros(0, np.int64)


class Kind(msgspec.Struct, frozen=True, eq=False):
    """`namespace` and `labels` are those of the first pod of the kind."""

    priority: int
    charge: Charge
    namespace: str = ""
    labels: Mapping[str, str] = {}


NOBODY = Kind(EMPTY_PRIORITY, Charge((), 0, 0))


class Kinds:
    """All kinds there are. `generation` moves when they are numbered anew."""

    def __init__(self, nodes: NodeTable, kinds_from: int = 0) -> None:
        self._nodes = nodes
        self.generation = 0
        self._end = kinds_from + KINDS  # numbers from there on are of other tables
        self._base = kinds_from  # pods carry numbers from here on; smaller ones are of an earlier generation
        self._keys: tuple[str, ...] = ()  # labels budgets look at
        self._key_set: frozenset[str] = frozenset()
        self._few = True
        self.all = [NOBODY]
        self._numbers: dict[tuple[object, ...], int] = {}
        self._priority: Ints = NO_AMOUNTS
        self._ranks: Ints = NO_AMOUNTS
        self._keys_of: list[int] = []
        self._amounts: dict[str, Ints] = {}

    def look_at(self, keys: tuple[str, ...], pods: int) -> None:
        """Pods, of which there are so many, are told apart by the values of these labels."""
        if (keys is not self._keys and keys != self._keys) or len(self.all) > 2 * pods + SPARE:
            self._keys, self._key_set, self._few = keys, frozenset(keys), len(keys) <= FEW_KEYS
            self._forget()

    def _among(self, labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
        """Those of some labels that budgets look at."""
        return frozenset([label for label in labels.items() if label[0] in self._key_set])

    def note(self, placed: Placed) -> None:
        """Looks at a pod, unless that was done already."""
        if self._base <= placed.kind < self._end:
            return
        pod = placed.pod
        priority, charge = pod.spec.priority or 0, placed.charge
        key: tuple[object, ...] = (priority, charge)
        if self._keys:
            meta = pod.metadata
            labels = meta.labels
            seen: object = tuple(map(labels.get, self._keys)) if self._few else self._among(labels)
            key = (priority, charge, meta.namespace, not labels, seen)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.all)
            self.all.append(Kind(priority, charge, pod.metadata.namespace, pod.metadata.labels))
        placed.kind = self._base + number
        placed.started_us = started_us(pod.status.start_time)

    def number(self, placed: Placed) -> int:
        """The kind of a pod."""
        self.note(placed)
        return placed.kind - self._base

    def of(self, placed: list[Placed]) -> tuple[Ints, Ints]:
        """The kinds of pods, and when they started."""
        kinds: Ints = np.array([p.kind for p in placed], np.int64)
        unknown = np.flatnonzero((kinds < self._base) | (kinds >= self._end)).tolist()
        for index in unknown:
            self.note(placed[index])
            kinds[index] = placed[index].kind
        return kinds - self._base, np.array([p.started_us for p in placed], np.int64)

    @property
    def priority(self) -> Ints:
        """The priority of each kind."""
        self._priority = _extended(self._priority, (kind.priority for kind in self._new(self._priority)))
        return self._priority

    @property
    def ranks(self) -> Ints:
        """0 for the kinds of the highest priority, 1 for the next; empty slots come last."""
        if len(self._ranks) != len(self.all):
            priority = self.priority
            highest_first = sorted({-each for each in priority[1:].tolist()})
            self._ranks = np.searchsorted(np.array(highest_first, np.int64), -priority)
            self._ranks[EMPTY] = len(highest_first)
        return self._ranks

    def in_order(self, placed: Collection[Placed]) -> list[Placed]:
        """The most important first; equals stay in the order they came."""
        base, end = self._base, self._end
        for each in placed:
            if not base <= each.kind < end:
                self.note(each)
        if len(self._keys_of) != len(self.all):
            self._keys_of = [rank << START_BITS for rank in self.ranks.tolist()]
        keys = self._keys_of
        return sorted(placed, key=lambda each: keys[each.kind - base] | each.started_us)

    def numbers(self, placed: Iterable[Placed]) -> list[int]:
        """The kinds of pods that were noted."""
        base = self._base
        return [each.kind - base for each in placed]

    def amounts(self, resource: str) -> Ints:
        """What a pod of each kind takes of a resource."""
        known = self._amounts.get(resource, NO_AMOUNTS)
        more = (dict(kind.charge.amounts).get(resource, 0) for kind in self._new(known))
        known = self._amounts[resource] = _extended(known, more)
        return known

    def _new(self, known: Ints) -> Iterable[Kind]:
        return islice(self.all, len(known), None)

    def _forget(self) -> None:
        self.generation += 1
        self._base += len(self.all)
        self._numbers = {}
        self.all = [NOBODY]
        self._priority = self._ranks = NO_AMOUNTS
        self._keys_of = []
        self._amounts = {}


def _extended(known: Ints, more: Iterable[int]) -> Ints:
    new = np.fromiter(more, np.int64)
    return np.concatenate([known, new]) if len(new) else known
