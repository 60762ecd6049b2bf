"""The places that members of gangs hold and that are not bound yet: a book, one for the whole scheduler.

Members are counted, so that a gang knows at every moment how many more it needs, in trials too; those that
were let go together are noted until none of their group waits any more. Whatever is undone, the book has
again what it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from mooring.cluster.books.book import Book
from mooring.cluster.pods import PROMISED, Placed
from mooring.framework.api.handle import Lister
from mooring.model.objects import Pod
from mooring.workloads.gang import HELD, Key, Member, Standing, State
from mooring.workloads.gang_table import Gangs

STARTERS = "starters"
NOBODY: frozenset[str] = frozenset()


class GangPlaces(Book[Key, Any]):
    """`gangs` are those of the scheduler. A place counts as long as the gangs know that it is not bound."""

    def __init__(
        self,
        places: Mapping[str, Placed] | None = None,
        lister: Callable[[str], Lister] | None = None,
        now: Callable[[], float] = lambda: 0.0,
        under_way: Callable[[str], bool] = lambda uid: False,
    ) -> None:
        self.places: Mapping[str, Placed] = {} if places is None else places  # of all pods, by uid
        self._under_way = under_way  # whether a pod waits at permit, or is being bound
        self.gangs = Gangs(self, lister, now)
        self.concerns = self._members = self.gangs.members

    # what it is told

    def taken(self, pod: Pod, node_name: str) -> None:
        member = self._members[pod.metadata.uid]
        if member.standing is Standing.OPEN:
            self.note(member, 1)

    def given_back(self, pod: Pod, node_name: str) -> None:
        member = self._members[pod.metadata.uid]
        if member.standing is Standing.OPEN:
            self.note(member, -1)

    def begun(self, before: Self) -> None:
        """Who was let go together does not follow from places alone."""
        for key, uids in before.items():
            group = self.gangs.groups.get(key[1]) if key[0] == STARTERS else None
            if group is not None and next(group.members(State.WAITING), None) is not None:
                self.set(key, uids)

    def note(self, member: Member, sign: int) -> None:
        """A member holds a place, or does so no more."""
        gang, part = member.gang, member.declared.part
        self.add((HELD, gang.key, None), sign)
        if part:
            self.add((HELD, gang.key, part), sign)
        if sign < 0 and not self.count((HELD, gang.key, None)):
            for group in self.gangs.concerned(gang):
                if not group.any_waiting():
                    self.forget_starters(group.key)

    def forget_starters(self, group: str) -> None:
        self.drop((STARTERS, group, None))

    def let_go(self, group: str, uids: Iterable[str]) -> None:
        self.set((STARTERS, group, None), frozenset(uids))

    def counted(self, key: Key) -> None:
        if key[0] == HELD and (gang := self.gangs.gangs.get(key[1])) is not None:
            gang.part_changed(key[2])

    # reading

    @property
    def entries(self) -> object:
        return self._entries

    def has(self, uid: str) -> bool:
        """Whether a pod holds a place, bound or not."""
        placed = self.places.get(uid)
        return placed is not None and placed.hold is not PROMISED

    def is_settled(self, uid: str) -> bool:
        """Whether a pod holds a place, and nobody waits any more for it to be bound there."""
        return self.has(uid) and not self._under_way(uid)

    def starters(self, group: str) -> frozenset[str]:
        found: frozenset[str] = self.get((STARTERS, group, None)) or NOBODY
        return found
