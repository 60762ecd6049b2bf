"""One gang: its members by what has become of them, and how many are missing for it to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from mooring.model.objects import Pod
from mooring.workloads.declared import Declared, Dialect, MatchPolicy, Terms

if TYPE_CHECKING:
    from mooring.workloads.gang_group import GangGroup


class State(Enum):
    """What has become of a member."""

    ASIDE = "aside"  # does not count: it has scheduling gates or a mistake, or is being deleted
    PENDING = "pending"  # wants a place
    WAITING = "waiting"  # holds a place, and is not bound yet
    BOUND = "bound"

    __hash__ = object.__hash__  # there is one of each, and they are looked up for every pod


COLLECTED = (State.PENDING, State.WAITING, State.BOUND)
HOLDING = (State.WAITING,)
HOLDING_OR_BOUND = (State.WAITING, State.BOUND)


class Member:
    """A pod of a gang, as last heard of."""

    __slots__ = ("declared", "gang", "pod", "state", "told")

    def __init__(self, pod: Pod, declared: Declared, gang: Gang) -> None:
        self.pod = pod
        self.declared = declared
        self.gang = gang
        self.state = State.ASIDE
        self.told = ""  # what was last told on the pod

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid


class Crowd:
    """The members in one state, counted by the part they belong to."""

    __slots__ = ("members", "parts")

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.parts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    def add(self, member: Member) -> None:
        self.members[member.uid] = member
        self.parts[member.declared.part] += 1

    def remove(self, member: Member) -> None:
        del self.members[member.uid]
        self.parts[member.declared.part] -= 1


class Gang:
    """Pods that belong together. `terms` is None until somebody says what is asked of it."""

    def __init__(self, key: str, gang_id: str, dialect: Dialect, source: str, entry: str, now: float) -> None:
        self.key = key
        self.id = gang_id
        self.dialect = dialect
        self.source = source  # key of the object that has its terms, if there is one
        self.entry = entry
        self.terms: Terms | None = None
        self.by_object = False  # whether the terms are those of an object
        self.created = now
        self.policy = MatchPolicy.ONCE_SATISFIED
        self.wait_s = 0.0
        self.members: dict[str, Member] = {}
        self.crowds = {state: Crowd() for state in State}
        self.group: GangGroup

    @property
    def pending(self) -> Crowd:
        return self.crowds[State.PENDING]

    @property
    def waiting(self) -> Crowd:
        return self.crowds[State.WAITING]

    @property
    def bound(self) -> Crowd:
        return self.crowds[State.BOUND]

    @property
    def strict(self) -> bool:
        return self.terms is None or self.terms.strict

    def move(self, member: Member, state: State) -> None:
        if member.state is not state:
            self.crowds[member.state].remove(member)
            member.state = state
            self.crowds[state].add(member)

    def enter(self, member: Member) -> None:
        self.members[member.uid] = member
        self.crowds[member.state].add(member)

    def leave(self, member: Member) -> None:
        del self.members[member.uid]
        self.crowds[member.state].remove(member)

    def missing(self, states: tuple[State, ...]) -> int:
        """How many more members in these states it takes to have enough of them in all."""
        terms = self.terms
        if terms is None:
            return 1
        missing = terms.least
        for state in states:
            missing -= len(self.crowds[state].members)
        missing = max(missing, 0)
        if not terms.parts:
            return missing
        crowds = [self.crowds[state] for state in states]
        of_parts = (max(0, part.least - sum(c.parts[part.name] for c in crowds)) for part in terms.parts)
        return max(missing, sum(of_parts))
