"""All gangs there are, true to what pods and pod groups say.

Follows pods and objects one at a time. Every change returns the groups it may matter to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads.declared import Declared, MatchPolicy, Terms
from mooring.workloads.dialects import BY_NAME, DIALECTS, declared_by, is_member
from mooring.workloads.gang import Gang, Member, State
from mooring.workloads.gang_group import GangGroup
from mooring.workloads.written_values import moment

FINISHED = ("Succeeded", "Failed")
Groups = Iterable[GangGroup]


class GangDefaults(msgspec.Struct, frozen=True):
    """What holds for gangs of which nobody says otherwise."""

    policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED
    wait_s: float = 600.0


class Gangs:
    """Gangs by key, their groups, and members by uid. `profile` is the scheduler whose pods are collected."""

    def __init__(
        self,
        defaults: GangDefaults,
        profile: str,
        listers: Mapping[str, Lister],
        now: Callable[[], float],
    ) -> None:
        self._defaults = defaults
        self._profile = profile
        self._listers = listers
        self._now = now
        self.gangs: dict[str, Gang] = {}
        self.groups: dict[str, GangGroup] = {}
        self.members: dict[str, Member] = {}
        self._naming: dict[str, dict[str, GangGroup]] = {}  # groups by the keys of gangs they name
        self._by_source: dict[tuple[str, str], dict[str, Gang]] = {}  # by dialect and key of the object

    # pods

    def see(self, pod: Pod) -> Groups:
        """A pod as the API server shows it."""
        member = self.members.get(pod.metadata.uid)
        if member is None and not is_member(pod):
            return ()
        declared = _same(member, pod) or declared_by(pod)
        if declared is None or pod.status.phase in FINISHED:
            return self.forget(pod)
        left: Groups = ()
        if member is not None and member.declared.key != declared.key:
            left, member = self.forget(pod), None
        if member is None:
            member = self._enter(pod, declared)
        elif member.declared.part != declared.part:
            member.gang.leave(member)
            member.declared = declared
            member.gang.enter(member)
        member.pod, member.declared = pod, declared
        if not member.gang.by_object:
            self._adopt(member.gang, declared.terms)
        self.classify(member, holds=member.state is State.WAITING)
        return (*left, *self.concerned(member.gang))

    def forget(self, pod: Pod) -> Groups:
        """The pod is gone, or belongs to no gang any more."""
        member = self.members.pop(pod.metadata.uid, None)
        if member is None:
            return ()
        gang, group = member.gang, member.gang.group
        concerned = self.concerned(gang)
        gang.leave(member)
        group.held.pop(member.uid, None)
        if group.representative == member.uid:
            group.representative = ""
        if not gang.members and not gang.by_object:
            self._drop(gang)
        elif not gang.by_object and gang.terms is not None and gang.terms.mistakes:
            self._adopt_any(gang)
        return dict.fromkeys((*concerned, *self.concerned(gang)))

    def classify(self, member: Member, *, holds: bool) -> None:
        """Sorts a member by what its pod says. `holds`: it has taken a place that is not bound yet."""
        pod, gang = member.pod, member.gang
        if pod.terminating:
            state = State.ASIDE
        elif pod.spec.node_name or (member.state is State.BOUND and not holds):
            state = State.BOUND
        elif holds:
            state = State.WAITING
        else:
            state = State.ASIDE if self.mistake(member) or self._is_held_back(pod) else State.PENDING
        gang.move(member, state)
        if state in (State.ASIDE, State.BOUND) and gang.group.representative == member.uid:
            gang.group.representative = ""

    def mistake(self, member: Member) -> str:
        """What is wrong with the declaration of a pod; "" when nothing is."""
        declared, terms = member.declared, member.gang.terms
        if declared.mistakes:
            return "; ".join(declared.mistakes)
        if terms is not None and terms.only_parts and all(p.name != declared.part for p in terms.parts):
            known = ", ".join(part.name for part in terms.parts)
            return (
                f'the pod belongs to sub-group "{declared.part}" of {member.gang.id}, which has only {known}'
            )
        return ""

    def _is_held_back(self, pod: Pod) -> bool:
        return bool(pod.spec.scheduling_gates) or pod.spec.scheduler_name != self._profile

    def _enter(self, pod: Pod, declared: Declared) -> Member:
        gang = self.gangs.get(declared.key) or self._make(declared)
        member = self.members[pod.metadata.uid] = Member(pod, declared, gang)
        gang.enter(member)
        return member

    # objects

    def object_changed(self, found: Object) -> Groups:
        """An object was added, changed or deleted."""
        kind = f"{found.kind}.{found.api_version.rpartition('/')[0]}"
        changed: dict[str, GangGroup] = {}
        for dialect in DIALECTS:
            if kind == dialect.kinds[0]:
                known = self._by_source.get((dialect.name, found.key), {})
                if not known and dialect.one_each and self._listers[kind].get(found.key) is not None:
                    key = dialect.prefix + found.key
                    self._make(Declared(dialect=dialect.name, key=key, id=found.key, source=found.key))
                    known = self._by_source[dialect.name, found.key]
            elif kind in dialect.kinds:
                known = {key: gang for key, gang in self.gangs.items() if gang.dialect is dialect}
            else:
                continue
            for gang in list(known.values()):
                changed.update({group.key: group for group in self.concerned(gang)})
                self._refresh(gang)
                changed.update({group.key: group for group in self.concerned(gang)})
                if not gang.by_object and not gang.members:
                    self._drop(gang)
        return changed.values()

    def _make(self, declared: Declared) -> Gang:
        dialect = BY_NAME[declared.dialect]
        source = declared.source or declared.id
        gang = Gang(declared.key, declared.id, dialect, source, declared.entry, self._now())
        self.gangs[gang.key] = gang
        self._came_or_went(gang)
        self._by_source.setdefault((dialect.name, source), {})[gang.key] = gang
        self._link(gang)
        self._refresh(gang)
        return gang

    def _refresh(self, gang: Gang) -> None:
        """Reads the gang's object anew; without one, pods may have the terms."""
        found = self._listers[gang.dialect.kinds[0]].get(gang.source)
        terms = None if found is None else gang.dialect.terms(found, gang.entry, self._listers)
        gang.by_object = terms is not None
        if terms is not None:
            self._set(gang, terms)
        else:
            self._adopt_any(gang)

    # terms

    def _adopt(self, gang: Gang, terms: Terms | None) -> None:
        """The first pod that says what is asked of the gang is believed, unless it was mistaken."""
        if terms is not None and (gang.terms is None or (gang.terms.mistakes and not terms.mistakes)):
            self._set(gang, terms)

    def _adopt_any(self, gang: Gang) -> None:
        own = [member.declared.terms for member in gang.members.values() if member.declared.terms is not None]
        sound = [terms for terms in own if not terms.mistakes]
        self._set(gang, next(iter([*sound, *own]), None))

    def _set(self, gang: Gang, terms: Terms | None) -> None:
        if terms == gang.terms and terms is not None:
            return
        gang.terms = terms
        gang.policy = (terms.policy if terms is not None else None) or self._defaults.policy
        gang.wait_s = (terms.wait_s if terms else 0.0) or gang.dialect.wait_s or self._defaults.wait_s
        created = moment(terms.created) if terms is not None else None
        gang.created = gang.created if created is None else created
        self._link(gang)
        for member in list(gang.members.values()):
            self.classify(member, holds=member.state is State.WAITING)

    # groups

    def concerned(self, gang: Gang) -> Groups:
        """The groups a gang matters to: its own, and those that others are in who name it."""
        return list(self._naming.get(gang.key, {}).values())

    def _link(self, gang: Gang) -> None:
        """Puts a gang into the group its terms name, and takes it out of the one it was in."""
        listed = gang.terms.groups if gang.terms is not None else ()
        keys = tuple(gang.dialect.prefix + each for each in listed) or (gang.key,)
        key = ",".join(sorted(keys))
        before = getattr(gang, "group", None)
        if before is not None and before.key == key:
            before.lists(keys)
            return
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = GangGroup(key, keys, self.gangs)
            for each in keys:
                self._naming.setdefault(each, {})[key] = group
        gang.group = group
        if before is not None:
            self._move_held(gang, before)

    def _move_held(self, gang: Gang, before: GangGroup) -> None:
        for uid in [uid for uid, member in before.held.items() if member.gang is gang]:
            gang.group.held[uid] = before.held.pop(uid)
        if before.representative in gang.members:
            before.representative = ""
        self._drop_group(before)

    def _came_or_went(self, gang: Gang) -> None:
        for group in self.concerned(gang):
            group.gang_came_or_went()

    def _drop(self, gang: Gang) -> None:
        del self.gangs[gang.key]
        self._came_or_went(gang)
        of_source = self._by_source[gang.dialect.name, gang.source]
        del of_source[gang.key]
        if not of_source:
            del self._by_source[gang.dialect.name, gang.source]
        self._drop_group(gang.group)

    def _drop_group(self, group: GangGroup) -> None:
        if any(gang.group is group for gang in group.gangs()) or self.groups.pop(group.key, None) is None:
            return
        for each in group.gang_keys:
            naming = self._naming[each]
            del naming[group.key]
            if not naming:
                del self._naming[each]


def _same(member: Member | None, pod: Pod) -> Declared | None:
    """What the pod declared before, if it says the same now."""
    if member is None:
        return None
    old, new = member.pod.metadata, pod.metadata
    same = old.labels == new.labels and old.annotations == new.annotations and old.uid == new.uid
    return member.declared if same else None
