"""What preemption on one node would come to, when only free resources decide.

Says the same as a sweep over many nodes, and is quicker for a few: between two preemptors hardly more
than the node of the first changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mooring.model.objects import Pod
from mooring.model.requests import Request
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
        placed = self._slots.placed(row)
        kinds, taken = self._slots.kinds.numbers(placed), self._follow()
        places = [slot for slot, kind in enumerate(kinds) if taken[kind] is not None]
        lower = [kinds[slot] for slot in places]
        sizes = [amounts for kind in lower if (amounts := taken[kind]) is not None]
        freed = [sum(column) for column in zip(*sizes, strict=True)] or [0] * (1 + len(self._columns))
        left = list(map(int.__add__, self._left(row, self._slots.absent(others)), freed))
        short = sum(1 << number for number, amount in enumerate(left) if amount < 0)
        if short or not lower:
            return Single(bool(lower), short)
        scarce = [number for number, amount in enumerate(freed) if left[number] < amount]
        beyond = self._coverage.violating_on([placed[slot] for slot in places], lower)
        wrong = _let_back(sizes, [index for index, each in enumerate(beyond) if each], left, scarce)
        right = _let_back(sizes, [index for index, each in enumerate(beyond) if not each], left, scarce)
        gone = sorted(wrong + right)
        if not gone:
            return Single(True, 0)
        # The first victim is the most important: of the highest priority, and of those it started first.
        every = self._slots.kinds.all
        first = places[gone[0]]
        total = sum(every[lower[index]].priority for index in gone) + PRIORITY_OFFSET * len(gone)
        victims = tuple(places[index] for index in gone)
        highest = every[kinds[first]].priority
        return Single(True, 0, victims, len(wrong), highest, total, placed[first].started_us)

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

    def _left(self, row: int, ahead: Sequence[Request]) -> list[int]:
        """What is left when the pod is there and those ahead of it have come."""
        nodes = self._slots.nodes
        left = [nodes.max_pods.at[row] - nodes.pods.at[row] - 1 - len(ahead)]
        for column, (name, amount) in zip(self._columns, self._need.amounts, strict=True):
            columns = nodes.resources[column]
            free = columns.allocatable.at[row] - columns.requested.at[row] - amount
            left.append(free - sum(request.amount(name) for request in ahead))
        return left


def _let_back(sizes: list[Amounts], asked: list[int], left: list[int], scarce: list[int]) -> list[int]:
    """Lets back whom there is room for; returns who is left out. There is enough of what is not scarce."""
    out = []
    for index in asked:
        taken = sizes[index]
        for number in scarce:
            if taken[number] > left[number]:
                out.append(index)
                break
        else:
            for number in scarce:
                left[number] -= taken[number]
    return out
