"""Puts pods back that a gang leaves room for, the most important first; who is left out is a victim.

Those that a budget protects come first. A gang comes back as far as there is room for its pods, and when
too few of them would be left, all of them go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mooring.cluster.pods import Placed
from mooring.framework.api.grouping import GroupTrial
from mooring.model.objects import Pod
from mooring.plugins.coscheduling.preemption.disruptions import Disruptions
from mooring.plugins.coscheduling.preemption.gangs import Standing
from mooring.plugins.coscheduling.preemption.possible import Places, Possible
from mooring.plugins.coscheduling.preemption.preemptor import Preemptor
from mooring.plugins.preemption.importance import started_us

MOST_PLACED = 5_000  # members placed anew; nobody comes back after that: deciding has to come to an end


class Unit(NamedTuple):
    """Pods that come back together: one, or those of a gang that were taken off, the most important first."""

    pods: tuple[Placed, ...]
    gang: Standing | None = None

    def order(self) -> tuple[object, ...]:
        """Sorts the more important first: gangs before single pods, larger ones before smaller ones."""
        priority, started, name = by_importance(self.pods[0])
        size = 0 if self.gang is None else len(self.gang.members)
        return priority, -size, started, name


class Reserved(NamedTuple):
    """What others that are to come to a node first take of what members there need, by resource."""

    pods: int
    amounts: dict[str, int]


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
    """The higher priority first, then who started earlier."""
    pod = placed.pod
    return -pod.priority, started_us(pod.status.start_time), pod.key


class Reprieve:
    """Members hold their places in the trial, on the nodes of `seated`, while others come back. `awaited`
    are those that are to come to nodes first.

    Where resources alone decide they are counted. Otherwise members are placed anew besides, for pods
    anywhere may matter: once for many who come back, and by halves when that is too many.
    """

    def __init__(
        self,
        trial: GroupTrial,
        places: Places,
        preemptor: Preemptor,
        seated: Mapping[str, str],
        *,
        awaited: Mapping[str, Sequence[Pod]],
        counted: bool,
    ) -> None:
        self._trial = trial
        self._nodes = places.nodes
        self._seated = dict(seated)
        self._counted = counted
        self._left_to_place = MOST_PLACED
        self._upset = False  # whether some members have lost their places
        self._gang_of: dict[str, Standing] = {}
        self._lost: dict[str, Placed] = {}  # by uid: who has not come back
        self._lost_of: Counter[str] = Counter()  # by gang
        self._reserved: dict[int, Reserved] = {}  # by row
        for uid, name in seated.items():
            demand = preemptor.demand(uid)
            others = awaited.get(name, ())
            reserved = self._reserved.setdefault(self._nodes.rows[name], Reserved(len(others), {}))
            for resource, _ in () if demand is None else demand.amounts:
                reserved.amounts[resource] = sum(other.request.amount(resource) for other in others)

    def victims(self, gone: Sequence[Unit], disruptions: Disruptions) -> list[Placed]:
        """Who does not come back, the most important first."""
        for unit in gone:
            for placed in unit.pods:
                if unit.gang is not None:
                    self._gang_of[placed.pod.metadata.uid] = unit.gang
                self._lose(placed)
        first, others = _protected_first(gone, disruptions)
        self._spare(first)
        self._spare(others)
        while not self._counted and self._lost:  # some may come back only because others have
            before = len(self._lost)
            self._spare(self._left(gone))
            if len(self._lost) == before:
                break
        return sorted(self._evicted(), key=by_importance)

    def _left(self, gone: Sequence[Unit]) -> list[Unit]:
        left = ((unit, tuple(p for p in unit.pods if p.pod.metadata.uid in self._lost)) for unit in gone)
        return [unit._replace(pods=pods) for unit, pods in left if pods]

    def _evicted(self) -> list[Placed]:
        found: dict[str, Placed] = {}
        for uid, placed in self._lost.items():
            gang = self._gang_of.get(uid)
            if gang is None or gang.bears(self._lost_of[gang.key]):
                found[uid] = placed
            else:
                found.update((member.pod.metadata.uid, member) for member in gang.members)
        return list(found.values())

    # coming back

    def _spare(self, gone: Sequence[Unit]) -> None:
        back = [placed for unit in gone for placed in self._put_back(unit)]
        if not back or self._fits():
            return
        self._take_off(back)
        if len(gone) > 1:
            half = len(gone) // 2
            self._spare(gone[:half])
            self._spare(gone[half:])
        elif len(back) > 1:
            self._one_by_one(gone[0])

    def _put_back(self, unit: Unit) -> list[Placed]:
        """Puts back whom there is room for where members are."""
        back = [placed for placed in unit.pods if self._comes_back(placed)]
        if back and not self._is_whole_enough(unit):
            for placed in back:
                self._trial.remove(placed.pod.metadata.uid)
                self._lose(placed)
            return []
        return back

    def _one_by_one(self, unit: Unit) -> None:
        back = []
        for placed in unit.pods:
            if self._comes_back(placed):
                if self._fits():
                    back.append(placed)
                else:
                    self._take_off([placed])
        if back and not self._is_whole_enough(unit):
            self._take_off(back)

    def _comes_back(self, placed: Placed) -> bool:
        uid = placed.pod.metadata.uid
        self._trial.put_back(uid)
        if not self._has_room(placed):
            self._trial.remove(uid)
            return False
        del self._lost[uid]
        if (gang := self._gang_of.get(uid)) is not None:
            self._lost_of[gang.key] -= 1
        return True

    def _take_off(self, back: Iterable[Placed]) -> None:
        """Takes pods off again, and has members where they were."""
        for placed in back:
            self._trial.remove(placed.pod.metadata.uid)
            self._lose(placed)
        if self._upset:
            self._trial.place(self._seated)
            self._upset = False

    def _lose(self, placed: Placed) -> None:
        uid = placed.pod.metadata.uid
        self._lost[uid] = placed
        if (gang := self._gang_of.get(uid)) is not None:
            self._lost_of[gang.key] += 1

    def _is_whole_enough(self, unit: Unit) -> bool:
        return unit.gang is None or unit.gang.bears(self._lost_of[unit.gang.key])

    def _has_room(self, placed: Placed) -> bool:
        """Whether what members on its node need is still there for them."""
        row = placed.row
        if row is None or (reserved := self._reserved.get(row)) is None:
            return True
        nodes = self._nodes
        if nodes.pods.at[row] + reserved.pods > nodes.max_pods.at[row]:
            return False
        for resource, amount in reserved.amounts.items():
            columns = nodes.of_resource(resource)
            if columns.requested.at[row] + amount > columns.allocatable.at[row]:
                return False
        return True

    def _fits(self) -> bool:
        if self._counted:
            return True
        if self._left_to_place <= 0:
            return False
        self._left_to_place -= len(self._seated)
        self._upset = self._trial.place(self._seated) != self._seated
        return not self._upset


def _protected_first(gone: Sequence[Unit], disruptions: Disruptions) -> tuple[list[Unit], list[Unit]]:
    """Units of which some pod is one too many for a budget, and the others."""
    if not disruptions:
        return [], list(gone)
    pods = [(placed, number) for number, unit in enumerate(gone) for placed in _at_stake(unit)]
    beyond = disruptions.beyond(placed for placed, _ in pods)
    wrong = {number for (_, number), is_beyond in zip(pods, beyond, strict=True) if is_beyond}
    return (
        [unit for number, unit in enumerate(gone) if number in wrong],
        [unit for number, unit in enumerate(gone) if number not in wrong],
    )


def _at_stake(unit: Unit) -> tuple[Placed, ...]:
    """Who goes if the unit does: a gang that can spare nobody goes as a whole."""
    if unit.gang is None or unit.gang.bears(len(unit.pods)):
        return unit.pods
    return unit.gang.members
