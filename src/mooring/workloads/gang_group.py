"""Gangs that start together: who of them counts, how many more places they need, and what they wait for.

A gang that names no others is a group of its own. One that others name is in their group only if it names
them too: nobody has a gang wait for theirs, or give its places back with theirs, unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from mooring.workloads.declared import NO_MINIMUM, MatchPolicy
from mooring.workloads.gang import (
    Counted,
    Gang,
    Member,
    Places,
    State,
    bound,
    collected,
    holding,
    holding_or_bound,
)
from mooring.workloads.gang_words import shortage

NO_GANG = "gang {} is not there"
NOT_LISTED = "gang {} does not name the same gangs"
DIFFERENT = "{title}: its pods have different schedulerNames: {names}"

StartsWith = Callable[[Collection[str]], bool]


class GangGroup:
    """What gangs of one group share. It is gone with the last of them."""

    def __init__(
        self, key: str, gang_keys: tuple[str, ...], gangs: Mapping[str, Gang], places: Places
    ) -> None:
        self.key = key
        self._places = places
        self.gang_keys = gang_keys  # as they are listed
        self._all = gangs
        self._known_id: tuple[tuple[str, ...], str] | None = None  # of these gangs, once all are there
        self._there: list[Gang] | None = None  # None when one came or went since it was last asked for
        self.satisfied = False  # a member was bound, or as many as it takes: it has started, and stays so
        self.started = False  # that, or its members have been bound for so long that it must have
        self.representative = ""  # uid of the member that stands in the queue for all
        self.held: dict[str, Member] = {}  # members the gate holds back
        self.recover_until: float | None = None  # when members that are bound alone give their places back
        self.rests_until = 0.0  # after members that were tried one by one have given up
        self.falls_apart = False  # while those that wait at permit are told to give up
        self.gives_back = False  # they were told to, and are not gone

    def taken_up(self, uid: str) -> None:
        """A member is out of the queue: it stands there for nobody, and nothing holds it back."""
        self.held.pop(uid, None)
        if self.representative == uid:
            self.representative = ""

    @property
    def starters(self) -> frozenset[str]:
        """The uids of those that were let go together, until none of the group waits any more."""
        return self._places.starters(self.key)

    def starts(self) -> None:
        """Whoever holds a place is let go, together with the others."""
        if not self.starters:
            self._places.let_go(self.key, [each.uid for gang in self.gangs() for each in gang.waiting])

    @property
    def profile(self) -> str:
        """The profile that looks after it: that of its members. "" when no profile of ours does."""
        for gang in self.gangs():
            if gang.profiles:
                return gang.profiles[0]
        return ""

    def gangs(self) -> list[Gang]:
        """Those that are there, in the order they are listed. For reading: it is kept."""
        if (there := self._there) is None:
            named = (self._all.get(key) for key in self.gang_keys)
            there = self._there = [gang for gang in named if gang is not None and gang.group is self]
        return there

    def lists(self, gang_keys: tuple[str, ...]) -> None:
        """Its gangs list themselves in another order."""
        self.gang_keys = gang_keys
        self._there = None

    def gang_came_or_went(self) -> None:
        """Has the gangs that are there looked up anew."""
        self._there = None

    @property
    def id(self) -> str:
        """The sorted ids of the gangs, as Koordinator writes them."""
        known = self._known_id
        if known is None or known[0] is not self.gang_keys:
            known = self.gang_keys, ",".join(sorted(self._id(key) for key in self.gang_keys))
            if len(self.gangs()) == len(self.gang_keys):
                self._known_id = known
        return known[1]

    def _id(self, key: str) -> str:
        gang = self._all.get(key)
        return key if gang is None else gang.id

    @property
    def title(self) -> str:
        return f"gang {self.id}" if len(self.gang_keys) == 1 else f"gang group {self.id}"

    @property
    def created(self) -> float:
        return min((gang.created for gang in self.gangs()), default=0.0)

    @property
    def wait_s(self) -> float:
        """Members of all gangs wait for each other as long as the most patient of them."""
        return max((gang.wait_s for gang in self.gangs()), default=0.0)

    def members(self, state: State) -> Iterator[Member]:
        for gang in self.gangs():
            yield from gang.in_state(state)

    def any_bound(self) -> bool:
        for gang in self.gangs():  # noqa: SIM110 - quicker than `any`
            if gang.bound.members:
                return True
        return False

    def any_pending(self) -> bool:
        """Whether some member wants a place and has none."""
        for gang in self.gangs():  # noqa: SIM110
            if len(gang.open.members) > holding(gang, None):
                return True
        return False

    def any_waiting(self) -> bool:
        return any(holding(gang, None) for gang in self.gangs())

    def can_be_tried(self) -> bool:
        """Whether there is no problem; quicker than saying which."""
        gangs = self.gangs()
        return (
            len(gangs) == len(self.gang_keys) and all(map(_is_complete, gangs)) and not self._mixture(gangs)
        )

    def problem(self) -> str:
        """Why its pods cannot be tried yet; "" when they can."""
        gangs = self.gangs()
        incomplete = [gang for gang in gangs if not _is_complete(gang)]
        if not incomplete and len(gangs) == len(self.gang_keys):
            return self._mixture(gangs)
        for gang in incomplete:
            if gang.terms is not None and gang.terms.mistakes:
                return "; ".join(gang.terms.mistakes)
        sections = [NO_GANG.format(key) for key in sorted(self.gang_keys) if key not in self._all]
        named = sorted(
            (self._all[key] for key in self.gang_keys if key in self._all), key=lambda each: each.id
        )
        sections += [NO_MINIMUM.format(f"gang {each.id}") for each in named if each.terms is None]
        others = [each for each in named if each.terms is not None and each.group is not self]
        sections += [NOT_LISTED.format(each.id) for each in others]
        short = [each for each in named if each.terms is not None and each in incomplete]
        if len(self.gang_keys) == 1:
            return short[0].dialect.too_few(f"{self.title}: {shortage(short[0])}") if short else sections[0]
        sections += [f"gang {each.id} {shortage(each)}" for each in short]
        return f"{self.title}: {'; '.join(sections)}"

    def _mixture(self, gangs: list[Gang]) -> str:
        """Why members that no profile can try together wait; "" when one can."""
        if len(gangs) == 1 and len(gangs[0].profiles) < 2:
            return ""
        names = {name for gang in gangs for name in gang.profiles}
        return DIFFERENT.format(title=self.title, names=", ".join(sorted(names))) if len(names) > 1 else ""

    def lets_alone(self, gang: Gang) -> bool:
        """Whether members of a gang are tried one by one, and fail for themselves."""
        return self.started and gang.policy is MatchPolicy.ONCE_SATISFIED

    def needed(self) -> int:
        """How many more places it takes for the group to start."""
        return sum(map(self.needed_by, self.gangs()))

    @property
    def least(self) -> int:
        """How many of its pods must have places for any to start."""
        return sum(gang.terms.least for gang in self.gangs() if gang.terms is not None)

    def needed_by(self, gang: Gang) -> int:
        return 0 if self.lets_alone(gang) else gang.missing(self.counted(gang))

    def counted(self, gang: Gang) -> Counted:
        """The members of a gang that count when it is to start."""
        recovers = self.recover_until is not None and gang.policy is MatchPolicy.ONCE_SATISFIED
        counts_bound = recovers or gang.policy is MatchPolicy.WAITING_AND_RUNNING
        return holding_or_bound if counts_bound else holding

    def may_start(self) -> bool:
        """Whether every gang has enough members that hold places."""
        gangs = self.gangs()
        return len(gangs) == len(self.gang_keys) and not any(map(self.needed_by, gangs))

    def starts_with(self) -> StartsWith:
        """Says of some members whether it starts once they hold places besides those that do now."""
        lacks = [
            (gang.members, gang.lack(self.counted(gang)))
            for gang in self.gangs()
            if gang.terms is not None and not self.lets_alone(gang)
        ]

        def test(uids: Collection[str]) -> bool:
            return all(
                lack.is_met_by([members[uid] for uid in uids if uid in members]) for members, lack in lacks
            )

        return test

    def all_bound(self) -> bool:
        gangs = self.gangs()
        return len(gangs) == len(self.gang_keys) and not any(gang.missing(bound) for gang in gangs)


def _is_complete(gang: Gang) -> bool:
    terms = gang.terms
    if terms is None or terms.mistakes:
        return False
    if terms.parts:
        return not gang.missing(collected)
    return len(gang.open.members) + len(gang.bound.members) >= terms.least  # asked for every pod
