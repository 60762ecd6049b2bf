"""Gangs that start together: who of them counts, how many more places they need, and what they wait for.

A gang that names no others is a group of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from mooring.workloads.declared import MatchPolicy
from mooring.workloads.gang import COLLECTED, HOLDING, HOLDING_OR_BOUND, Gang, Member, State

NO_GANGS = "memberGangs [{}] doesn't exists"
NOT_INIT = "memberGangs [{}] has not init"
TOO_FEW = "memberGangs [{}] child pod not collect enough"


class GangGroup:
    """What gangs of one group share. It is gone with the last of them."""

    def __init__(self, key: str, gang_keys: tuple[str, ...], gangs: Mapping[str, Gang]) -> None:
        self.key = key
        self.gang_keys = gang_keys  # as they are listed
        self._all = gangs
        self._known_id: tuple[tuple[str, ...], str] | None = None  # of these gangs, once all are there
        self._there: list[Gang] | None = None  # None when one came or went since it was last asked for
        self.satisfied = False  # a member was bound, or as many as it takes: it has started, and stays so
        self.started = False  # that, or its members have been bound for so long that it must have
        self.representative = ""  # uid of the member that stands in the queue for all
        self.starters: frozenset[str] = frozenset()  # uids of those that were let go together
        self.held: dict[str, Member] = {}  # members the gate holds back
        self.ready_since: float | None = None
        self.recover_until: float | None = None  # when members that are bound alone give their places back
        self.rests_until = 0.0  # after members that were tried one by one have given up
        self.falls_apart = False  # while those that wait at permit are told to give up
        self.gives_back = False  # they were told to, and are not gone

    def taken_up(self, uid: str) -> None:
        """A member is out of the queue: it stands there for nobody, and nothing holds it back."""
        self.held.pop(uid, None)
        if self.representative == uid:
            self.representative = ""

    def gangs(self) -> list[Gang]:
        """Those that are there, in the order they are listed. For reading: it is kept."""
        if (there := self._there) is None:
            there = [gang for key in self.gang_keys if (gang := self._all.get(key)) is not None]
            self._there = there
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
            yield from gang.crowds[state]

    def any(self, state: State) -> bool:
        for gang in self.gangs():  # noqa: SIM110 - quicker than `any`
            if gang.crowds[state].members:
                return True
        return False

    def problem(self) -> str:
        """Why its pods cannot be tried yet; "" when they can."""
        gangs = self.gangs()
        if len(gangs) == len(self.gang_keys) and all(map(_is_complete, gangs)):
            return ""
        for gang in gangs:
            if gang.terms is not None and gang.terms.mistakes:
                return "; ".join(gang.terms.mistakes)
        sections = []
        if len(gangs) < len(self.gang_keys):
            gone = [key for key in self.gang_keys if key not in self._all]
            sections.append(NO_GANGS.format(",".join(sorted(gone))))
        if new := [gang.id for gang in gangs if gang.terms is None]:
            sections.append(NOT_INIT.format(",".join(sorted(new))))
        if any(gang.terms is not None and gang.missing(COLLECTED) for gang in gangs):
            sections.append(gangs[0].dialect.too_few(TOO_FEW.format(self.id)))
        return "; ".join(sections)

    def lets_alone(self, gang: Gang) -> bool:
        """Whether members of a gang are tried one by one, and fail for themselves."""
        return self.started and gang.policy is MatchPolicy.ONCE_SATISFIED

    def needed(self) -> int:
        """How many more places it takes for the group to start."""
        return sum(map(self.needed_by, self.gangs()))

    def needed_by(self, gang: Gang) -> int:
        return 0 if self.lets_alone(gang) else gang.missing(self.counted(gang))

    def counted(self, gang: Gang) -> tuple[State, ...]:
        """The members of a gang that count when it is to start."""
        recovers = self.recover_until is not None and gang.policy is MatchPolicy.ONCE_SATISFIED
        counts_bound = recovers or gang.policy is MatchPolicy.WAITING_AND_RUNNING
        return HOLDING_OR_BOUND if counts_bound else HOLDING

    def may_start(self) -> bool:
        """Whether every gang has enough members that hold places."""
        gangs = self.gangs()
        return len(gangs) == len(self.gang_keys) and not any(map(self.needed_by, gangs))

    def starts_with(self, uids: Collection[str]) -> bool:
        """Whether it starts once these members hold places besides those that do."""
        return all(self._starts_with(gang, uids) for gang in self.gangs())

    def _starts_with(self, gang: Gang, uids: Collection[str]) -> bool:
        if self.lets_alone(gang) or gang.terms is None:
            return True
        mine = [gang.members[uid] for uid in uids if uid in gang.members]
        crowds = [gang.crowds[state] for state in self.counted(gang)]
        if len(mine) + sum(map(len, crowds)) < gang.terms.least:
            return False
        parts = Counter(member.declared.part for member in mine)
        for crowd in crowds:
            parts.update(crowd.parts)
        return all(parts[part.name] >= part.least for part in gang.terms.parts)

    def all_bound(self) -> bool:
        gangs = self.gangs()
        return len(gangs) == len(self.gang_keys) and not any(gang.missing((State.BOUND,)) for gang in gangs)


def _is_complete(gang: Gang) -> bool:
    return gang.terms is not None and not gang.terms.mistakes and not gang.missing(COLLECTED)
