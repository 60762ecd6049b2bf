"""What preemption has to know of gangs: those that have places, and when one that wants some can start."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec

from mooring.cluster.pods import Placed
from mooring.framework.api.grouping import Group
from mooring.model.objects import Pod


class PlacedGang(msgspec.Struct, frozen=True):
    """A gang with places. Unless `least` of its pods stay, all of them go; with as many as there are pods,
    it goes as a whole or not at all."""

    key: str
    least: int
    members: tuple[str, ...]  # uids of its pods that hold places


class PlacedGangs(Protocol):
    """The gangs there are, as things are now."""

    def gang_of(self, pod: Pod) -> PlacedGang | None:
        """The gang of a pod that holds a place; None when it is in none."""

    def own(self, group: Group) -> Collection[str]:
        """The uids of pods with places that belong to the gangs of a group: they are not evicted for it."""

    def starts(self, group: Group, placed: Collection[str]) -> bool:
        """Whether the group starts once these of its members have places."""


class Standing:
    """A gang in the way: its pods that are not leaving anyhow, and whether all of them may go."""

    def __init__(self, key: str, least: int, members: tuple[Placed, ...], *, may_go: bool) -> None:
        self.key = key
        self.members = members
        self.may_go = may_go
        self._least = least

    @property
    def spare(self) -> int:
        """How many may go while the others stay."""
        return max(len(self.members) - max(self._least, 0), 0)

    def bears(self, lost: int) -> bool:
        """Whether the others can stay when so many go."""
        return not lost or lost <= self.spare
