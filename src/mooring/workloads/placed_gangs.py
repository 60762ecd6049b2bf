"""The gangs that have places, whichever profile looks after them.

Which members have places is what the cluster says, so it is true at every moment, in trials too.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from mooring.cluster.pods import PROMISED, Placed
from mooring.model.objects import Pod
from mooring.workloads.gang import Gang
from mooring.workloads.gang_places import GangPlaces


class PlacedGang(msgspec.Struct, frozen=True):
    """A gang with places. Unless `least` of its pods stay, all of them go; with as many as there are pods,
    it goes as a whole or not at all."""

    key: str
    least: int
    members: tuple[Placed, ...]


class PlacedGangs:
    """Looks gangs up in the book of the scheduler."""

    def __init__(self, places: GangPlaces) -> None:
        self._placed = places.places
        self.members = places.gangs.members  # of all gangs, by uid, those without a place too

    def gang_of(self, pod: Pod) -> PlacedGang | None:
        """The gang of a pod; None when it is in none."""
        member = self.members.get(pod.metadata.uid)
        if member is None:
            return None
        there = (self._placed.get(uid) for uid in member.gang.members)
        placed = tuple(each for each in there if each is not None and each.hold is not PROMISED)
        return PlacedGang(member.gang.key, _least(member.gang, len(placed)), placed)

    def kin(self, pod: Pod) -> Collection[str]:
        """The uids of all pods that a pod starts together with."""
        member = self.members.get(pod.metadata.uid)
        if member is None:
            return ()
        return {uid for gang in member.gang.group.gangs() for uid in gang.members}


def _least(gang: Gang, placed: int) -> int:
    """How many have to stay for the others to make sense. Where roles have minima of their own, or the gang
    says so, it is a whole."""
    terms = gang.terms
    if terms is None:
        return 0
    return placed if terms.parts or terms.whole else terms.least
