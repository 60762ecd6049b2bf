"""What preemption on one node would come to, when only free resources decide.

Says the same as a sweep over many nodes, and is quicker for a few: between two preemptors hardly more
than the node of the first changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add

import msgspec

from mooring.model.objects import Pod
from mooring.plugins.preemption.choice import PRIORITY_OFFSET
from mooring.plugins.preemption.coverage import Coverage
from mooring.plugins.preemption.slots import PodSlots
from mooring.plugins.preemption.sweep import Need

Amounts = tuple[int, ...]  # of pods, then of each resource that is needed


class Single(msgspec.Struct, frozen=True):
    """As a row of an Outcome."""

    has_victims: bool
    short: int = 0
    slots: tuple[int, ...] = ()  # of the victims
    violations: int = 0
    highest: int = 0
    total: int = 0
    earliest_us: int = 0


class SingleRows:
    """One need on one row at a time."""

    def __init__(self, slots: PodSlots, need: Need, coverage: Coverage) -> None:
        self._slots = slots
        self._need = need
        self._coverage = coverage
        self._columns = [slots.nodes.resource(name) for name, _ in need.amounts]
        self._generation = -1
        self._taken: list[Amounts | None] = []  # by kind, if it is less important

    def on(self, row: int, others: Sequence[Pod]) -> Single:
        """What it comes to on a row to which others are to come first."""
        placed, taken = self._slots.placed(row), self._follow()
        kinds = self._slots.kinds.numbers(placed)
        sizes = [amounts for kind in kinds if (amounts := taken[kind]) is not None]
        if not sizes:
            return Single(False, _short(self._left(row, others)))
        first = len(kinds) - len(sizes)  # the most important come first, so those that may go are the last
        freed = list(map(sum, zip(*sizes, strict=True)))
        left = list(map(add, self._left(row, others), freed))
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
        slots = tuple([first + index for index in gone])
        every = self._slots.kinds.all
        priorities = [every[kinds[slot]].priority for slot in slots]
        total = sum(priorities) + PRIORITY_OFFSET * len(slots)
        return Single(True, 0, slots, len(wrong), priorities[0], total, placed[slots[0]].started_us)

    def _follow(self) -> list[Amounts | None]:
        """What a pod of each kind takes, up to the kinds there are now."""
        kinds = self._slots.kinds
        if self._generation != kinds.generation:
            self._generation, self._taken = kinds.generation, []
        for kind in kinds.all[len(self._taken) :]:
            amounts = dict(kind.charge.columns)
            taken = (1, *(amounts.get(column, 0) for column in self._columns))
            self._taken.append(taken if kind.priority < self._need.priority else None)
        return self._taken

    def _left(self, row: int, others: Sequence[Pod]) -> list[int]:
        """What is left when the pod is there and those ahead of it have come."""
        nodes = self._slots.nodes
        ahead = self._slots.absent(others)
        left = [nodes.max_pods.at[row] - nodes.pods.at[row] - 1 - len(ahead)]
        for column, (name, amount) in zip(self._columns, self._need.amounts, strict=True):
            columns = nodes.resources[column]
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
