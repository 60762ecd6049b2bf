"""Puts pods back that a gang leaves room for, the most important first; who is left out is a victim.

Those that a budget protects come first. A gang comes back as far as there is room for its pods, and when
too few of them would be left, all of them go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mooring.cluster.pods import Placed
from mooring.framework.grouping import GroupTrial
from mooring.plugins.coscheduling.preemption.disruptions import Disruptions
from mooring.plugins.coscheduling.preemption.gangs import Standing
from mooring.plugins.coscheduling.preemption.possible import Places, Possible
from mooring.plugins.coscheduling.preemption.preemptor import Preemptor
from mooring.plugins.preemption.importance import importance


class Unit(NamedTuple):
    """Pods that come back together: one, or those of a gang that were taken off, the most important first."""

    pods: tuple[Placed, ...]
    gang: Standing | None = None

    def order(self) -> tuple[object, ...]:
        """Sorts the more important first: gangs before single pods, larger ones before smaller ones."""
        priority, started = min(map(importance, self.pods))
        size = 0 if self.gang is None else len(self.gang.members)
        return priority, -size, started, self.pods[0].pod.key


def units(gone: Iterable[Placed], possible: Possible) -> list[Unit]:
    """Those that were taken off, the most important first."""
    gangs: dict[str, list[Placed]] = {}
    found = []
    for placed in sorted(gone, key=by_importance):
        standing = possible.standing(placed)
        if standing is None:
            found.append(Unit((placed,)))
        else:
            gangs.setdefault(standing.key, []).append(placed)
    found += [Unit(tuple(pods), possible.standing(pods[0])) for pods in gangs.values()]
    return sorted(found, key=Unit.order)


def by_importance(placed: Placed) -> tuple[int, int, str]:
    return *importance(placed), placed.pod.key


class Reprieve:
    """Members hold their places in the trial, on the nodes of `seated`, while others come back.

    Where resources alone decide they are counted. Otherwise members are placed anew each time, for pods
    anywhere may matter: once for many who come back, and by halves when that is too many.
    """

    def __init__(
        self,
        trial: GroupTrial,
        places: Places,
        preemptor: Preemptor,
        seated: Mapping[str, str],
        *,
        counted: bool,
    ) -> None:
        self._trial = trial
        self._nodes = places.nodes
        self._seated = dict(seated)
        self._counted = counted
        self._lost: dict[str, Unit] = {}  # by the uid of a pod that has not come back
        self._columns: dict[int, set[int]] = {}  # by row: what members there need
        for uid, name in seated.items():
            demand = preemptor.demand(uid)
            amounts = () if demand is None else demand.amounts
            columns = self._columns.setdefault(self._nodes.rows[name], set())
            columns.update(self._nodes.resource(resource) for resource, _ in amounts)

    def victims(self, gone: Sequence[Unit], disruptions: Disruptions) -> list[Placed]:
        """Who does not come back, the most important first."""
        protected = self._protected(gone, disruptions) if disruptions else set()
        for unit in gone:
            self._lost.update((placed.pod.metadata.uid, unit) for placed in unit.pods)
        self._spare([unit for unit in gone if unit.pods[0].pod.metadata.uid in protected])
        self._spare([unit for unit in gone if unit.pods[0].pod.metadata.uid not in protected])
        while not self._counted and self._lost:  # some may come back only because others have
            before = len(self._lost)
            self._spare(self._left(gone))
            if len(self._lost) == before:
                break
        return sorted(self._evicted(), key=by_importance)

    def _protected(self, gone: Sequence[Unit], disruptions: Disruptions) -> set[str]:
        """Units of which some pod is one too many for a budget, each by its first pod."""
        pods = [(placed, unit) for unit in gone for placed in _at_stake(unit)]
        beyond = disruptions.beyond(placed for placed, _ in pods)
        return {
            unit.pods[0].pod.metadata.uid for (_, unit), wrong in zip(pods, beyond, strict=True) if wrong
        }

    def _left(self, gone: Sequence[Unit]) -> list[Unit]:
        left = [unit._replace(pods=tuple(self._still_lost(unit))) for unit in gone]
        return [unit for unit in left if unit.pods]

    def _still_lost(self, unit: Unit) -> list[Placed]:
        return [placed for placed in unit.pods if placed.pod.metadata.uid in self._lost]

    def _evicted(self) -> list[Placed]:
        found: dict[str, Placed] = {}
        for unit in self._lost.values():
            lost = self._still_lost(unit)
            if unit.gang is not None and not unit.gang.bears(len(lost)):
                lost = list(unit.gang.members)
            found.update((placed.pod.metadata.uid, placed) for placed in lost)
        return list(found.values())

    # coming back

    def _spare(self, gone: Sequence[Unit]) -> None:
        back = [placed for unit in gone for placed in self._put_back(unit)]
        if not back or self._fits():
            return
        for placed in back:
            self._take_off(placed, next(unit for unit in gone if placed in unit.pods))
        self._trial.place(self._seated)
        if len(gone) > 1:
            half = len(gone) // 2
            self._spare(gone[:half])
            self._spare(gone[half:])
        elif len(back) > 1:
            for placed in gone[0].pods:
                self._spare([gone[0]._replace(pods=(placed,))])

    def _put_back(self, unit: Unit) -> list[Placed]:
        """Puts back whom there is room for where members are."""
        back: list[Placed] = []
        for placed in unit.pods:
            self._trial.put_back(placed.pod.metadata.uid)
            if self._has_room(placed):
                back.append(placed)
                del self._lost[placed.pod.metadata.uid]
            else:
                self._trial.remove(placed.pod.metadata.uid)
        if unit.gang is not None and back and not unit.gang.bears(len(unit.pods) - len(back)):
            for placed in back:
                self._take_off(placed, unit)
            return []
        return back

    def _take_off(self, placed: Placed, unit: Unit) -> None:
        self._trial.remove(placed.pod.metadata.uid)
        self._lost[placed.pod.metadata.uid] = unit

    def _has_room(self, placed: Placed) -> bool:
        """Whether what members on its node need is still there for them."""
        row = placed.row
        if row is None or (columns := self._columns.get(row)) is None:
            return True
        nodes = self._nodes
        if nodes.pods.at[row] > nodes.max_pods.at[row]:
            return False
        return all(
            nodes.resources[column].requested.at[row] <= nodes.resources[column].allocatable.at[row]
            for column in columns
        )

    def _fits(self) -> bool:
        return self._counted or self._trial.place(self._seated) == self._seated


def _at_stake(unit: Unit) -> tuple[Placed, ...]:
    """Who goes if the unit does: a gang that can spare nobody goes as a whole."""
    if unit.gang is None or unit.gang.bears(len(unit.pods)):
        return unit.pods
    return unit.gang.members
