"""Puts pods back that there is room for beside whoever asks, the most important first; who is left out goes.

Pods that a budget protects come first, also within a gang. A gang comes back as far as there is room for its
pods; when too few of them would be left, the smallest come first instead, and when that is no help, all go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from mooring.cluster.pods import Placed
from mooring.room.disruptions import Disruptions
from mooring.room.gangs_in_the_way import GangInTheWay, GangsInTheWay, Losses
from mooring.room.importance import importance


class Beneficiary(Protocol):
    """Whoever is to have the room, on trial: it keeps its place while pods go and come back around it."""

    def remove(self, uid: str) -> None: ...

    def put_back(self, uid: str) -> None: ...

    def has_room(self, placed: Placed) -> bool:
        """Whether a pod that was put back is not in the way, as far as can be told at a glance."""

    def fits(self) -> bool:
        """Whether it still fits, after pods were put back."""

    def settle(self) -> None:
        """Has its place again, after pods that were in the way went once more."""


class Unit(NamedTuple):
    """Pods that come back together: one, or those of a gang that were taken off, the most important first."""

    pods: tuple[Placed, ...]
    gang: GangInTheWay | None = None

    def order(self) -> tuple[int, int, int]:
        """Sorts the more important first: gangs before single pods, larger ones before smaller ones."""
        priority, started = importance(self.pods[0])
        return priority, 0 if self.gang is None else -len(self.gang.members), started

    def orders(self) -> Iterator[Sequence[Placed]]:
        """In which its pods come back: as they are, and for a gang the smallest first, so that most do."""
        yield self.pods
        if self.gang is not None and len(self.pods) > 1:
            yield _smallest_first(self.pods)

    def at_stake(self) -> tuple[Placed, ...]:
        """Who goes if the unit does: a gang that can spare nobody goes as a whole."""
        return self.pods if self.gang is None or self.gang.bears(len(self.pods)) else self.gang.members


def _smallest_first(pods: Sequence[Placed]) -> list[Placed]:
    """By the largest share any resource has in what all of them take."""
    totals: Counter[str] = Counter()
    for placed in pods:
        totals.update(dict(placed.charge.amounts))

    def share(placed: Placed) -> float:
        return max((amount / totals[name] for name, amount in placed.charge.amounts if amount), default=0.0)

    return sorted(pods, key=share)


def units(gone: Iterable[Placed], gangs: GangsInTheWay) -> list[Unit]:
    """Those that were taken off, the most important first, as they come already."""
    if gangs.there_are_none:
        return [Unit((placed,)) for placed in gone]
    of_gangs: dict[str, list[Placed]] = {}
    found = []
    for placed in gone:
        gang = gangs.of(placed)
        if gang is None:
            found.append(Unit((placed,)))
        else:
            of_gangs.setdefault(gang.key, []).append(placed)
    found += [Unit(tuple(pods), gangs.of(pods[0])) for pods in of_gangs.values()]
    return sorted(found, key=Unit.order)


class Reprieve:
    """Lets pods back beside a beneficiary.

    one_by_one  each unit is tried by itself; otherwise many at a time, and by halves when that is too many
    again       whoever did not come back is tried again as long as others do
    """

    def __init__(
        self, asks: Beneficiary, gangs: GangsInTheWay, *, one_by_one: bool = False, again: bool = False
    ) -> None:
        self._asks = asks
        self._one_by_one = one_by_one
        self._again = again
        self._losses = Losses(gangs)
        self.protected: set[str] = set()  # uids of pods at stake that are one too many for a budget

    def victims(self, gone: Sequence[Unit], disruptions: Disruptions) -> list[Placed]:
        """Who does not come back."""
        for unit in gone:
            for placed in unit.pods:
                self._losses.add(placed)
        first, others = self._protected_first(gone, disruptions)
        if self._one_by_one:
            for unit in (*first, *others):
                self._spare((unit,))
        else:
            self._spare(first)
            self._spare(others)
        if self._again:
            self._spare_again(gone)
        return list(self._losses.with_fallen_gangs().values())

    def _protected_first(
        self, gone: Sequence[Unit], disruptions: Disruptions
    ) -> tuple[list[Unit], list[Unit]]:
        """Units of which some pod is one too many for a budget, and the others."""
        if not disruptions:
            return [], list(gone)
        pods = [(placed, number) for number, unit in enumerate(gone) for placed in unit.at_stake()]
        beyond = disruptions.beyond(placed for placed, _ in pods)
        wrong = [pod for pod, is_beyond in zip(pods, beyond, strict=True) if is_beyond]
        self.protected = {placed.pod.metadata.uid for placed, _ in wrong}
        numbers = {number for _, number in wrong}
        first = [self._with_protected_first(unit) for number, unit in enumerate(gone) if number in numbers]
        return first, [unit for number, unit in enumerate(gone) if number not in numbers]

    def _with_protected_first(self, unit: Unit) -> Unit:
        pods = sorted(unit.pods, key=lambda placed: placed.pod.metadata.uid not in self.protected)
        return unit._replace(pods=tuple(pods))

    def _spare_again(self, gone: Sequence[Unit]) -> None:
        """Some may come back only because others have."""
        lost, before = self._losses.gone, 0
        while lost and len(lost) != before:
            before = len(lost)
            left = ((unit, tuple(p for p in unit.pods if p.pod.metadata.uid in lost)) for unit in gone)
            self._spare([unit._replace(pods=pods) for unit, pods in left if pods])

    def _spare(self, gone: Sequence[Unit]) -> None:
        back = [placed for unit in gone for placed in self._put_back(unit)]
        if not back or self._asks.fits():
            return
        self._take_off(back)
        if len(gone) > 1:
            half = len(gone) // 2
            self._spare(gone[:half])
            self._spare(gone[half:])
        elif len(back) > 1:
            self._put_back(gone[0], surely=True)

    def _put_back(self, unit: Unit, *, surely: bool = False) -> list[Placed]:
        """Puts back whom there is room for: at a glance, or surely, asking after each."""
        for pods in unit.orders():
            back = [placed for placed in pods if self._comes_back(placed, surely)]
            if not back or self._losses.are_borne(unit.gang):
                return back
            self._take_off(back)
        return []

    def _comes_back(self, placed: Placed, surely: bool) -> bool:
        self._asks.put_back(placed.pod.metadata.uid)
        if not self._asks.has_room(placed):
            self._asks.remove(placed.pod.metadata.uid)
            return False
        self._losses.take_back(placed)
        if surely and not self._asks.fits():
            self._take_off([placed])
            return False
        return True

    def _take_off(self, back: Iterable[Placed]) -> None:
        for placed in back:
            self._asks.remove(placed.pod.metadata.uid)
            self._losses.add(placed)
        self._asks.settle()
