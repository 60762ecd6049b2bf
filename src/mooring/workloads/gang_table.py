"""All gangs there are, true to what pods and pod groups say: one table for the whole scheduler.

Follows pods and objects one at a time. `news` says what the last of them changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads.declared import Declared, Terms
from mooring.workloads.dialects import BY_NAME, DIALECTS, KINDS, declared_by, is_member
from mooring.workloads.gang import Gang, GangRules, Member, Places, Standing
from mooring.workloads.gang_group import GangGroup
from mooring.workloads.written_values import moment

FINISHED = ("Succeeded", "Failed")
MOST_NAMED = 20  # parts of a gang, where it is told which there are
Groups = Iterable[GangGroup]


class News(msgspec.Struct, frozen=True):
    """What has changed: the groups it may matter to, and the gang of the pod it is about."""

    groups: Groups = ()
    gang: Gang | None = None


NO_NEWS = News()


class Gangs:
    """Gangs by key, their groups, and members by uid. `lister` has the objects that describe gangs."""

    def __init__(
        self, places: Places, lister: Callable[[str], Lister] | None, now: Callable[[], float]
    ) -> None:
        self._places = places
        self._listers = {} if lister is None else {kind: lister(kind) for kind in KINDS}
        self._now = now
        self._rules: Mapping[str, GangRules] = {}
        self.news = NO_NEWS
        self.in_the_news: set[str] = set()  # uid of the pod that was last seen, if that is news
        self.gangs: dict[str, Gang] = {}
        self.groups: dict[str, GangGroup] = {}
        self.members: dict[str, Member] = {}
        self._naming: dict[str, dict[str, GangGroup]] = {}  # groups by the keys of gangs they name
        self._by_source: dict[tuple[str, str], dict[str, Gang]] = {}  # by dialect and key of the object

    def abide_by(self, rules: Mapping[str, GangRules]) -> None:
        """These profiles look after gangs, each with its rules. Pods of others are no concern of theirs."""
        if rules != self._rules:
            self._rules = rules
            for gang in self.gangs.values():
                gang.abide_by(rules)
            for member in self.members.values():
                self._classify(member)

    # pods

    def pod_seen(self, pod: Pod) -> None:
        """A pod as the API server shows it."""
        self.news = NO_NEWS
        if self.in_the_news:
            self.in_the_news.clear()
        member = self.members.get(pod.metadata.uid)
        if member is not None or is_member(pod):
            self.news = self._seen(member, pod)
            self.in_the_news.add(pod.metadata.uid)

    def pod_gone(self, pod: Pod) -> None:
        member = self.members.get(pod.metadata.uid)
        self.news = NO_NEWS if member is None else News(self._forget(member), member.gang)

    def bound(self, uid: str) -> None:
        """A member that held a place was bound, whether the API server shows it yet or not: its group has
        started. That is news for those that wait; of the others the API server tells."""
        member = self.members[uid]
        group = member.gang.group
        had_started = group.started and group.satisfied
        member.is_bound = True
        self._stand(member, Standing.ASIDE if member.pod.terminating else Standing.BOUND)
        group.satisfied = group.started = True
        group.recover_until = None
        group.taken_up(uid)
        self.news = NO_NEWS if had_started and not group.held else News(self.concerned(member.gang))

    def _seen(self, member: Member | None, pod: Pod) -> News:
        before = None if member is None else member.gang
        declared = _same(member, pod) or declared_by(pod)
        if member is not None and (declared is None or pod.status.phase in FINISHED):
            return News(self._forget(member), before)
        if declared is None or pod.status.phase in FINISHED:
            return NO_NEWS
        left: Groups = ()
        if member is not None and not _stays(member, pod, declared):
            left, member = self._forget(member), None
        if member is None:
            member = self._enter(pod, declared)
        elif member.declared.part != declared.part:
            self._change_part(member, declared)
        held = bool(pod.spec.node_name) and member.holds
        is_other = member.declared is not declared
        member.pod, member.declared = pod, declared
        if not member.gang.by_object:
            self._adopt(member.gang, declared.terms)
            if is_other:
                self._believe_who_is_there(member.gang)
        if held and not pod.terminating:
            self.bound(member.uid)
        else:
            self._classify(member)
        return News((*left, *self.concerned(member.gang)), before)

    def _enter(self, pod: Pod, declared: Declared) -> Member:
        gang = self.gangs.get(declared.key) or self._make(declared)
        member = self.members[pod.metadata.uid] = Member(pod, declared, gang)
        member.is_bound = self._places.is_settled(member.uid)  # it may become a member long after
        gang.enter(member)
        if gang.names[pod.spec.scheduler_name] == 1:
            gang.abide_by(self._rules)
        return member

    def _change_part(self, member: Member, declared: Declared) -> None:
        held = member.holds
        if held:
            self._places.note(member, -1)
        member.gang.leave(member)
        member.declared = declared
        member.gang.enter(member)
        if held:
            self._places.note(member, 1)

    def _forget(self, member: Member) -> Groups:
        """The pod is gone, or belongs to no gang any more."""
        gang, name = member.gang, member.pod.spec.scheduler_name
        concerned = self.concerned(gang)
        self._stand(member, Standing.ASIDE)
        del self.members[member.uid]
        gang.leave(member)
        gang.group.taken_up(member.uid)
        if name not in gang.names:
            gang.abide_by(self._rules)
        if not gang.members and not gang.by_object:
            self._drop(gang)
        elif not gang.by_object and gang.terms is not None:
            self._believe_who_is_there(gang)
        return dict.fromkeys((*concerned, *self.concerned(gang)))

    def _classify(self, member: Member) -> None:
        """Sorts a member by what its pod says."""
        pod = member.pod
        if pod.terminating:
            self._stand(member, Standing.ASIDE)
        elif pod.spec.node_name or member.is_bound:
            member.is_bound = True  # whatever is shown later
            self._stand(member, Standing.BOUND)
        else:
            aside = self._is_held_back(pod) or self.mistake(member)
            self._stand(member, Standing.ASIDE if aside else Standing.OPEN)

    def _stand(self, member: Member, standing: Standing) -> None:
        if member.standing is standing:
            return
        gang, holds = member.gang, self._places.has(member.uid)
        if holds and member.standing is Standing.OPEN:
            self._places.note(member, -1)
        gang.move(member, standing)
        if standing is not Standing.OPEN:
            if gang.group.representative == member.uid:
                gang.group.representative = ""
        elif holds:
            self._places.note(member, 1)

    def mistake(self, member: Member) -> str:
        """What is wrong with the declaration of a pod; "" when nothing is."""
        declared, terms = member.declared, member.gang.terms
        if declared.mistakes:
            return "; ".join(declared.mistakes)
        if terms is not None and terms.only_parts and not member.gang.has_part(declared.part):
            named = [part.name for part in terms.parts[:MOST_NAMED]]
            known = ", ".join(named) + (", ..." if len(terms.parts) > MOST_NAMED else "")
            return (
                f'the pod belongs to sub-group "{declared.part}" of {member.gang.id}, which has only {known}'
            )
        return ""

    def _is_held_back(self, pod: Pod) -> bool:
        return bool(pod.spec.scheduling_gates) or pod.spec.scheduler_name not in self._rules

    # objects

    def object_seen(self, before: Object | None, after: Object | None) -> None:
        """An object was added, changed or deleted."""
        found = after or before
        self.news = NO_NEWS if found is None else News(self._object_changed(found))

    def _object_changed(self, found: Object) -> Groups:
        kind = f"{found.kind}.{found.api_version.rpartition('/')[0]}"
        changed: dict[str, GangGroup] = {}
        for dialect in DIALECTS:
            if kind == dialect.kinds[0]:
                known = self._by_source.get((dialect.name, found.key), {})
                if not known and dialect.one_each and self._object(kind, found.key) is not None:
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
        gang = Gang(declared, dialect, self._places, self._now())
        self.gangs[gang.key] = gang
        self._by_source.setdefault((dialect.name, gang.source), {})[gang.key] = gang
        self._link(gang)
        self._refresh(gang)
        return gang

    def _refresh(self, gang: Gang) -> None:
        """Reads the gang's object anew; without one, pods may have the terms."""
        found = self._object(gang.dialect.kinds[0], gang.source)
        terms = None if found is None else gang.dialect.terms(found, gang.entry, self._listers)
        gang.by_object = terms is not None
        if terms is not None:
            self._set(gang, terms)
        else:
            self._adopt_any(gang)

    def _object(self, kind: str, key: str) -> Object | None:
        return self._listers[kind].get(key) if kind in self._listers else None

    # terms

    def _adopt(self, gang: Gang, terms: Terms | None) -> None:
        """The first pod that says what is asked of the gang is believed, unless it was mistaken."""
        if terms is not None and (gang.terms is None or (gang.terms.mistakes and not terms.mistakes)):
            self._set(gang, terms)

    def _believe_who_is_there(self, gang: Gang) -> None:
        """Terms that no pod says any more, or that are mistaken, give way to those that one says."""
        kept = gang.terms
        if kept is None or kept.mistakes or all(m.declared.terms != kept for m in gang.members.values()):
            self._adopt_any(gang)

    def _adopt_any(self, gang: Gang) -> None:
        own = [member.declared.terms for member in gang.members.values() if member.declared.terms is not None]
        sound = [terms for terms in own if not terms.mistakes]
        self._set(gang, next(iter([*sound, *own]), None))

    def _set(self, gang: Gang, terms: Terms | None) -> None:
        if terms == gang.terms and terms is not None:
            return
        gang.terms = terms
        gang.abide_by(self._rules)
        created = moment(terms.created) if terms is not None else None
        gang.created = gang.created if created is None else created
        self._link(gang)
        for member in list(gang.members.values()):
            self._classify(member)

    # groups

    def concerned(self, gang: Gang) -> Groups:
        """The groups a gang matters to: its own, and those that others are in who name it."""
        return list(self._naming.get(gang.key, {}).values())

    def _link(self, gang: Gang) -> None:
        """Puts a gang into the group its terms name, and takes it out of the one it was in."""
        listed = gang.terms.groups if gang.terms is not None else ()
        keys = tuple(gang.dialect.prefix + each for each in listed)
        keys = keys if gang.key in keys else (*keys, gang.key)
        key = ",".join(sorted(keys))
        before = getattr(gang, "group", None)
        if before is not None and before.key == key:
            before.lists(keys)
            return
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = GangGroup(key, keys, self.gangs, self._places)
            for each in keys:
                self._naming.setdefault(each, {})[key] = group
        gang.group = group
        self._came_or_went(gang)
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
        if group.gangs() or self.groups.pop(group.key, None) is None:
            return
        self._places.forget_starters(group.key)
        for each in group.gang_keys:
            naming = self._naming[each]
            del naming[group.key]
            if not naming:
                del self._naming[each]


def _stays(member: Member, pod: Pod, declared: Declared) -> bool:
    """Whether a member is still one of the same gang and of the same scheduler."""
    is_same_name = member.pod.spec.scheduler_name == pod.spec.scheduler_name
    return is_same_name and member.declared.key == declared.key


def _same(member: Member | None, pod: Pod) -> Declared | None:
    """What the pod declared before, if it says the same now."""
    if member is None:
        return None
    old, new, was, spec = member.pod.metadata, pod.metadata, member.pod.spec, pod.spec
    same = old.labels == new.labels and old.annotations == new.annotations and old.uid == new.uid
    same = same and was.scheduling_group == spec.scheduling_group and was.workload_ref == spec.workload_ref
    return member.declared if same and old.creation_timestamp == new.creation_timestamp else None
