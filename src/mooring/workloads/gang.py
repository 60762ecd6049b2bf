"""One gang: its members by what has become of them, and how many are missing for it to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from mooring.cluster.pods import Placed
from mooring.model.objects import Pod
from mooring.workloads.declared import Declared, Dialect, MatchPolicy, Part, Terms
from mooring.workloads.gang_parts import PartsLack

if TYPE_CHECKING:
    from mooring.workloads.gang_group import GangGroup


class Standing(Enum):
    """What the API server's word makes of a member."""

    ASIDE = "aside"  # does not count: it has scheduling gates or a mistake, or is being deleted
    OPEN = "open"  # wants a place, or holds one that is not bound yet
    BOUND = "bound"

    __hash__ = object.__hash__  # there is one of each, and they are looked up for every pod


class State(Enum):
    """What has become of a member: its standing, and whether it has a place."""

    ASIDE = "aside"
    PENDING = "pending"  # wants a place
    WAITING = "waiting"  # holds a place, and is not bound yet
    BOUND = "bound"

    __hash__ = object.__hash__


class GangRules(msgspec.Struct, frozen=True):
    """What a profile has for gangs of which nobody says otherwise."""

    policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED
    wait_s: float = 600.0


NO_RULES = GangRules()
HELD = "held"

Key = tuple[str, str, str | None]  # what is noted of a gang or a group, its key, and a part of the gang


@runtime_checkable
class LooksAfterGangs(Protocol):
    """A plugin with the rules of its profile."""

    gang_rules: GangRules


class Places(Protocol):
    """The places of members that are not bound yet, as they are at the moment; and those of all pods."""

    places: Mapping[str, Placed]

    @property
    def entries(self) -> object:
        """What is counted in: another one when everything is counted anew."""

    def has(self, uid: str) -> bool:
        """Whether a pod holds a place, bound or not."""

    def is_settled(self, uid: str) -> bool:
        """Whether a pod holds a place, and nobody waits any more for it to be bound there."""

    def count(self, key: Key) -> int:
        """How many members of a gang, or of a part of it, hold one."""

    def note(self, member: Member, sign: int) -> None:
        """A member holds one, or does so no more."""

    def starters(self, group: str) -> frozenset[str]:
        """The uids of members of a group that were let go together."""

    def let_go(self, group: str, uids: Iterable[str]) -> None:
        """Members are let go together."""

    def forget_starters(self, group: str) -> None:
        """None of a group waits any more."""


class Member:
    """A pod of a gang, as last heard of."""

    __slots__ = ("declared", "gang", "is_bound", "pod", "standing", "told", "uid", "warned")

    def __init__(self, pod: Pod, declared: Declared, gang: Gang) -> None:
        self.uid = pod.metadata.uid
        self.pod = pod
        self.declared = declared
        self.gang = gang
        self.standing = Standing.ASIDE
        self.is_bound = False  # we have heard so; the API server may show it later
        self.told = self.warned = ""  # what was last told on the pod, and what of its words does not count

    @property
    def holds(self) -> bool:
        """Whether it holds a place that is not bound yet."""
        return self.standing is Standing.OPEN and self.gang.places.has(self.uid)

    @property
    def state(self) -> State:
        if self.standing is Standing.OPEN:
            return State.WAITING if self.gang.places.has(self.uid) else State.PENDING
        return State.BOUND if self.standing is Standing.BOUND else State.ASIDE


class Crowd:
    """The members of one standing, counted by the part they belong to."""

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


class Lack(msgspec.Struct, frozen=True):
    """How many more members it takes: in all, and of each part that lacks any."""

    members: int
    parts: dict[str, int]

    def is_met_by(self, members: Collection[Member]) -> bool:
        there = Counter(member.declared.part for member in members)
        enough = len(members) >= self.members and len(there) >= len(self.parts)
        return enough and all(there[name] >= n for name, n in self.parts.items())


class Gang:
    """Pods that belong together. `terms` is None until somebody says what is asked of it."""

    def __init__(self, declared: Declared, dialect: Dialect, places: Places, now: float) -> None:
        self.key = declared.key
        self.id = declared.id
        self.dialect = dialect
        self.source = declared.source or declared.id  # key of the object that has its terms, if there is one
        self.entry = declared.entry
        self.places = places
        self.terms: Terms | None = None
        self.by_object = False  # whether the terms are those of an object
        self.created = now
        self.policy = MatchPolicy.ONCE_SATISFIED
        self.wait_s = 0.0
        self.members: dict[str, Member] = {}
        self.names: dict[str, int] = {}  # members by schedulerName, the first that came first
        self.profiles: tuple[str, ...] = ()  # those of the names that are profiles with rules for gangs
        self.crowds = {standing: Crowd() for standing in Standing}
        self.open, self.bound = self.crowds[Standing.OPEN], self.crowds[Standing.BOUND]
        self.group: GangGroup
        self._named: tuple[Terms | None, frozenset[str]] | None = None  # the parts that terms name
        self._lack: tuple[Terms, object, PartsLack[Counted]] | None = None

    @property
    def pending(self) -> list[Member]:
        has = self.places.has
        return [member for uid, member in self.open.members.items() if not has(uid)]

    @property
    def waiting(self) -> list[Member]:
        has = self.places.has
        return [member for uid, member in self.open.members.items() if has(uid)]

    @property
    def strict(self) -> bool:
        return self.terms is None or self.terms.strict

    def abide_by(self, rules: Mapping[str, GangRules]) -> None:
        """What it does not say itself is as the profile of its members has it; of several, which wait until
        there is one, the first by name."""
        self.profiles = tuple(sorted(name for name in self.names if name in rules))
        own = rules[self.profiles[0]] if self.profiles else NO_RULES
        terms = self.terms
        self.policy = (None if terms is None else terms.policy) or own.policy
        self.wait_s = (0.0 if terms is None else terms.wait_s) or self.dialect.wait_s or own.wait_s

    def move(self, member: Member, standing: Standing) -> None:
        self.crowds[member.standing].remove(member)
        member.standing = standing
        self.crowds[standing].add(member)
        self.part_changed(member.declared.part)

    def enter(self, member: Member) -> None:
        name = member.pod.spec.scheduler_name
        self.names[name] = self.names.get(name, 0) + 1
        self.members[member.uid] = member
        self.crowds[member.standing].add(member)
        self.part_changed(member.declared.part)

    def leave(self, member: Member) -> None:
        name = member.pod.spec.scheduler_name
        self.names[name] -= 1
        if not self.names[name]:
            del self.names[name]
        del self.members[member.uid]
        self.crowds[member.standing].remove(member)
        self.part_changed(member.declared.part)

    def part_changed(self, part: str | None) -> None:
        """Members of a part came, went, or hold places or do so no more."""
        if self._lack is not None and part is not None:
            self._lack[2].changed(part)

    def in_state(self, state: State) -> Iterable[Member]:
        if state is State.PENDING:
            return self.pending
        if state is State.WAITING:
            return self.waiting
        return self.bound if state is State.BOUND else self.crowds[Standing.ASIDE]

    def missing(self, counted: Counted) -> int:
        """How many more members it takes to have enough of those that are counted."""
        terms = self.terms
        if terms is None:
            return 1
        missing = max(0, terms.least - counted(self, None))
        return max(missing, self._parts(terms).total(counted)) if terms.parts else missing

    def lack(self, counted: Counted) -> Lack:
        terms = self.terms
        if terms is None:
            return Lack(1, {})
        least = self._parts(terms).least if terms.parts else {}
        parts = {name: n - there for name, n in least.items() if (there := counted(self, name)) < n}
        return Lack(max(0, terms.least - counted(self, None)), parts)

    def short_parts(self, counted: Counted, most: int) -> list[Part]:
        """The first parts that have too few of those that are counted, at most so many."""
        if self.terms is None or not self.terms.parts:
            return []
        lack = self._parts(self.terms)
        return [Part(name, lack.least[name]) for name in lack.first(counted, most)]

    def has_part(self, name: str) -> bool:
        """Whether the terms name a part."""
        if self._named is None or self._named[0] is not self.terms:
            parts = () if self.terms is None else self.terms.parts
            self._named = self.terms, frozenset([part.name for part in parts])
        return name in self._named[1]

    def _parts(self, terms: Terms) -> PartsLack[Counted]:
        """What parts lack, as long as the terms and the entries of the book are the same ones."""
        known, entries = self._lack, self.places.entries
        if known is None or known[0] is not terms or known[1] is not entries:
            lack: PartsLack[Counted] = PartsLack(
                terms.parts, lambda counted, part: counted(self, part), self._parts_there
            )
            known = self._lack = terms, entries, lack
        return known[2]

    def _parts_there(self) -> Iterable[str]:
        return self.open.parts.keys() | self.bound.parts.keys()


Counted = Callable[[Gang, str | None], int]  # how many members of a gang, or of one of its parts


def collected(gang: Gang, part: str | None) -> int:
    """Members that want a place or have one."""
    return _number(gang.open, part) + _number(gang.bound, part)


def holding(gang: Gang, part: str | None) -> int:
    """Members that hold places which are not bound yet."""
    return gang.places.count((HELD, gang.key, part))


def holding_or_bound(gang: Gang, part: str | None) -> int:
    return gang.places.count((HELD, gang.key, part)) + _number(gang.bound, part)


def bound(gang: Gang, part: str | None) -> int:
    return _number(gang.bound, part)


def _number(crowd: Crowd, part: str | None) -> int:
    return len(crowd.members) if part is None else crowd.parts[part]
