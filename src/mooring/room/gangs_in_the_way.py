"""Gangs among possible victims: one that would be left with too few of its pods goes as a whole."""

from __future__ import annotations

from collections import Counter

from mooring.cluster.pods import Placed
from mooring.room.victims import VictimRule, is_leaving
from mooring.workloads.placed_gangs import PlacedGangs


class GangInTheWay:
    """A gang of which pods may have to go: those that are not leaving anyhow, and whether all may go."""

    def __init__(self, key: str, least: int, members: tuple[Placed, ...], *, may_go: bool) -> None:
        self.key = key
        self.members = members
        self.may_go = may_go
        self.spare = self._spare(max(least, 0))  # how many may go while the others stay

    def _spare(self, least: int) -> int:
        """One that has too few pods anyhow, and cannot go, has nothing to lose: its pods go one by one."""
        there = len(self.members)
        return max(there - least, 0) if there >= least or self.may_go else there

    def bears(self, lost: int) -> bool:
        """Whether the others can stay when so many go."""
        return not lost or lost <= self.spare


class GangsInTheWay:
    """Looks up the gangs of pods for whoever has a rule about victims."""

    def __init__(self, gangs: PlacedGangs, rule: VictimRule) -> None:
        self._gangs = gangs
        self._rule = rule
        self.there_are_none = not gangs.members  # as nearly always
        self._known: dict[str, GangInTheWay | None] = {}  # by the uid of a pod

    def of(self, placed: Placed) -> GangInTheWay | None:
        """The gang of a pod, if it is in one and not leaving it."""
        uid = placed.pod.metadata.uid
        if uid not in self._known:
            found = self._found(placed)
            self._known[uid] = found
            for member in () if found is None else found.members:
                self._known[member.pod.metadata.uid] = found
        return self._known[uid]

    def _found(self, placed: Placed) -> GangInTheWay | None:
        gang = None if is_leaving(placed) else self._gangs.gang_of(placed.pod)
        if gang is None:
            return None
        members = tuple(each for each in gang.members if not is_leaving(each))
        return GangInTheWay(gang.key, gang.least, members, may_go=all(map(self._rule.allows, members)))


class Losses:
    """Who has to go so far, and how many of each gang."""

    def __init__(self, gangs: GangsInTheWay) -> None:
        self._gangs = gangs
        self._of_gangs: Counter[str] = Counter()
        self.gone: dict[str, Placed] = {}  # by uid

    def may_go(self, placed: Placed) -> bool:
        """Whether a pod can go besides: of a gang that has to stay, only as many go as it can spare."""
        gang = None if self._gangs.there_are_none else self._gangs.of(placed)
        return gang is None or gang.may_go or self._of_gangs[gang.key] < gang.spare

    def add(self, placed: Placed) -> None:
        self.gone[placed.pod.metadata.uid] = placed
        self._count(placed, 1)

    def take_back(self, placed: Placed) -> None:
        del self.gone[placed.pod.metadata.uid]
        self._count(placed, -1)

    def are_borne(self, gang: GangInTheWay | None) -> bool:
        """Whether the rest of a gang can stay."""
        return gang is None or gang.bears(self._of_gangs[gang.key])

    def with_fallen_gangs(self) -> dict[str, Placed]:
        """All who have to go, with the other pods of gangs that cannot stay."""
        found: dict[str, Placed] = {}
        for uid, placed in self.gone.items():
            gang = self._gangs.of(placed)
            if gang is None or self.are_borne(gang):
                found[uid] = placed
            else:
                found.update((member.pod.metadata.uid, member) for member in gang.members)
        return found

    def _count(self, placed: Placed, sign: int) -> None:
        if not self._gangs.there_are_none and (gang := self._gangs.of(placed)) is not None:
            self._of_gangs[gang.key] += sign
