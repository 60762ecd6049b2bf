"""What preemption on one node would come to, when only free resources decide.

Says the same as a sweep over many nodes, and is quicker for a few: between two preemptors hardly more
than the node of the first changes. Nodes are often alike, so what was found for one holds for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mooring.cluster.columns import Bools
from mooring.cluster.pods import Placed
from mooring.model.objects import Pod
from mooring.room.choice import PRIORITY_OFFSET
from mooring.room.for_pod.coverage import Coverage
from mooring.room.for_pod.slots import PodSlots
from mooring.room.for_pod.sweep import Need

STATES_KNOWN = 1000
NO_BITS: NDArray[np.uint8] = np.zeros(0, np.uint8)

Amounts = tuple[int, ...]  # of pods, then of each resource that is needed


class Left(NamedTuple):
    """What is left on a row: of pods, under no name, then of each resource that is needed."""

    names: tuple[str, ...]
    amounts: list[int]


class Single(msgspec.Struct, frozen=True, eq=False):
    """As a row of an Outcome."""

    has_victims: bool
    short: int = 0
    victims: NDArray[np.uint8] = NO_BITS  # a bit for each slot
    first: int = 0  # the slot of the first victim
    violations: int = 0
    count: int = 0
    highest: int = 0
    total: int = 0


class SingleRows:
    """One need on one row at a time."""

    def __init__(self, slots: PodSlots, need: Need, coverage: Coverage) -> None:
        self._slots = slots
        self._need = need
        self._coverage = coverage
        self._generation = -1
        self._taken: list[Amounts | None] = []  # by kind, if it is less important
        self._known: dict[tuple[int, ...], Single] = {}  # by what is left, and the kinds of the pods there

    def on(self, row: int, others: Sequence[Pod]) -> tuple[Single, int]:
        """What it comes to on a row to which others are to come first, and when the first victim started."""
        placed, taken = self._slots.placed(row), self._follow()
        kinds, left = self._slots.kinds.numbers(placed), self._left(row, others)
        state = (*left, *kinds)
        found = self._known.get(state)
        if found is None:
            found = self._judge(placed, kinds, left, taken)
            if self._coverage.by_kind:
                if len(self._known) >= STATES_KNOWN:
                    self._known.clear()
                self._known[state] = found
        return found, placed[found.first].started_us if found.count else 0

    def _judge(
        self, placed: list[Placed], kinds: list[int], left: list[int], taken: list[Amounts | None]
    ) -> Single:
        sizes = [amounts for kind in kinds if (amounts := taken[kind]) is not None]
        if not sizes:
            return Single(False, _short(left))
        first = len(kinds) - len(sizes)  # the most important come first, so those that may go are the last
        freed = list(map(sum, zip(*sizes, strict=True)))
        left = list(map(add, left, freed))
        if short := _short(left):
            return Single(True, short)
        scarce = [number for number, amount in enumerate(freed) if left[number] < amount]
        beyond = self._coverage.violating_on(placed[first:], kinds[first:])
        wrong = _let_back(sizes, beyond, left, scarce)
        right: Iterable[int] = range(len(sizes))
        if beyond:
            spared = set(beyond)
            right = [index for index in right if index not in spared]
        gone = sorted(wrong + _let_back(sizes, right, left, scarce))
        if not gone:
            return Single(True, 0)
        # The first victim is the most important: of the highest priority, and of those it started first.
        slots = [first + index for index in gone]
        every = self._slots.kinds.all
        priorities = [every[kinds[slot]].priority for slot in slots]
        total = sum(priorities) + PRIORITY_OFFSET * len(slots)
        victims: Bools = np.zeros(len(kinds), np.bool_)
        victims[slots] = True
        bits = np.packbits(victims)
        return Single(True, 0, bits, slots[0], len(wrong), len(slots), priorities[0], total)

    def _follow(self) -> list[Amounts | None]:
        """What a pod of each kind takes, up to the kinds there are now."""
        kinds = self._slots.kinds
        if self._generation != kinds.generation:
            self._generation, self._taken = kinds.generation, []
            self._known.clear()
        for kind in kinds.all[len(self._taken) :]:
            amounts = dict(kind.charge.amounts)
            taken = (1, *(amounts.get(name, 0) for name, _ in self._need.amounts))
            self._taken.append(taken if kind.priority < self._need.priority else None)
        return self._taken

    def left(self, row: int, others: Sequence[Pod]) -> Left:
        """What is left when the pod is there and those ahead of it have come."""
        return Left(("", *(name for name, _ in self._need.amounts)), self._left(row, others))

    def _left(self, row: int, others: Sequence[Pod]) -> list[int]:
        nodes = self._slots.nodes
        ahead = self._slots.absent(others)
        left = [nodes.max_pods.at[row] - nodes.pods.at[row] - 1 - len(ahead)]
        for name, amount in self._need.amounts:
            columns = nodes.of_resource(name)
            free = columns.allocatable.at[row] - columns.requested.at[row] - amount
            left.append(free - sum(request.amount(name) for request in ahead))
        return left


def _short(left: Sequence[int]) -> int:
    """A bit for each amount that is missing."""
    return sum(1 << number for number, amount in enumerate(left) if amount < 0)


def _let_back(sizes: list[Amounts], asked: Iterable[int], left: list[int], scarce: list[int]) -> list[int]:
    """Lets back whom there is room for; returns who is left out. There is enough of what is not scarce."""
    out = []
    if len(scarce) == 1:  # as nearly always
        (number,) = scarce
        room = left[number]
        for index in asked:
            if (amount := sizes[index][number]) > room:
                out.append(index)
            else:
                room -= amount
        left[number] = room
        return out
    for index in asked:
        taken = sizes[index]
        if any(taken[number] > left[number] for number in scarce):
            out.append(index)
            continue
        for number in scarce:
            left[number] -= taken[number]
    return out
