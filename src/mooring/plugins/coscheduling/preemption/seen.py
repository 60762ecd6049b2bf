"""The gangs that Coscheduling follows, as preemption looks at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from mooring.framework.api.grouping import Group
from mooring.model.objects import Pod
from mooring.plugins.coscheduling.preemption.gangs import PlacedGang
from mooring.workloads.gang import HOLDING_OR_BOUND, Gang
from mooring.workloads.gang_group import GangGroup
from mooring.workloads.gang_table import Gangs


class SeenGangs:
    """Fulfils PlacedGangs."""

    def __init__(self, gangs: Gangs) -> None:
        self._gangs = gangs

    def gang_of(self, pod: Pod) -> PlacedGang | None:
        member = self._gangs.members.get(pod.metadata.uid)
        if member is None:
            return None
        gang = member.gang
        placed = [uid for state in HOLDING_OR_BOUND for uid in gang.crowds[state].members]
        return PlacedGang(gang.key, _least(gang, len(placed)), tuple(placed))

    def own(self, group: Group) -> Collection[str]:
        found = self._gangs.groups.get(group.key)
        if found is None:
            return ()
        return {
            uid for gang in found.gangs() for state in HOLDING_OR_BOUND for uid in gang.crowds[state].members
        }

    def starts(self, group: Group, placed: Collection[str]) -> bool:
        if len(placed) < group.needed:
            return False
        found = self._gangs.groups.get(group.key)
        return found is None or all(_starts(found, gang, placed) for gang in found.gangs())


def _least(gang: Gang, placed: int) -> int:
    """How many have to stay for the others to make sense. Where roles have minima of their own, or the gang
    says so, it is a whole."""
    terms = gang.terms
    if terms is None:
        return 0
    return placed if terms.parts or terms.whole else terms.least


def _starts(group: GangGroup, gang: Gang, placed: Collection[str]) -> bool:
    if group.lets_alone(gang) or gang.terms is None:
        return True
    mine = [gang.members[uid] for uid in placed if uid in gang.members]
    crowds = [gang.crowds[state] for state in group.counted(gang)]
    if len(mine) + sum(map(len, crowds)) < gang.terms.least:
        return False
    parts = Counter(member.declared.part for member in mine)
    for crowd in crowds:
        parts.update(crowd.parts)
    return all(parts[part.name] >= part.least for part in gang.terms.parts)
