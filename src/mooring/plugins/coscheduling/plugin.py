"""Coscheduling: pods of a gang start together or not at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mooring.config.durations import format_duration
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.endpoints import Endpoint, EndpointRequest
from mooring.framework.api.events import UNSCHEDULABLE_POD, Action, Hint, Interest
from mooring.framework.api.gate_words import SaysWhatFor
from mooring.framework.api.grouping import Group, GroupTrial, GroupWayOut
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import concerns_only, nothing_to_do
from mooring.framework.api.queued import Queued
from mooring.framework.api.status import SKIP, Status, passing, unresolvable, unschedulable, wait
from mooring.model.objects import Object, Pod
from mooring.plugins.coscheduling import order, view
from mooring.plugins.coscheduling.args import CoschedulingArgs
from mooring.plugins.coscheduling.controller.keeper import Keeper
from mooring.plugins.coscheduling.following import Following
from mooring.plugins.coscheduling.gate import Answer, Gate
from mooring.plugins.coscheduling.starting import marks, unmarked, without_marks
from mooring.plugins.coscheduling.topology.points import NetworkPoints
from mooring.plugins.coscheduling.topology.trees import READS as NETWORK_READS
from mooring.room.for_gang.way_out import GangPreemption
from mooring.workloads.dialects import KINDS, READS, is_member
from mooring.workloads.gang import Gang, Member, State
from mooring.workloads.gang_group import GangGroup
from mooring.workloads.gang_places import GangPlaces
from mooring.workloads.gang_table import FINISHED, Groups
from mooring.workloads.placed_gangs import PlacedGangs

NOT_FOUND = "its gang is not there any more"
REJECTED = "{}: {} found no place, so the others gave theirs back"
NOT_ENOUGH = "{}: needs {} pods with places to start"
CHANGES = Action.ADD | Action.DELETE | Action.UPDATE


class Coscheduling(NetworkPoints, SaysWhatFor):
    name = "Coscheduling"
    Args = CoschedulingArgs
    reads = READS + NETWORK_READS + GangPreemption.reads

    def __init__(self, args: CoschedulingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.gang_rules = args.for_gangs()
        places = handle.book(GangPlaces)
        self.gangs = places.gangs
        self._members, self._in_the_news = self.gangs.members, self.gangs.in_the_news
        self._tried: GangGroup | None = None  # the one whose members are being tried together
        self._said: Status | None = None  # what a member was last held back with
        self._keeper = Keeper(handle, {kind: handle.lister(kind) for kind in KINDS})
        self._following = Following(handle, self.gangs.groups)
        self._gate = Gate(self.gangs, self._following, handle)
        self._preemption = GangPreemption(handle, PlacedGangs(places))

    # following the cluster

    @concerns_only("_in_the_news")
    def pod_seen(self, pod: Pod) -> None:
        news = self.gangs.news
        if news.gang is not None and pod.status.phase in FINISHED:
            self._keeper.pod_gone(news.gang, pod)
        self._settle(news.groups)

    def pod_gone(self, pod: Pod) -> None:
        self._keeper.pod_gone(self.gangs.news.gang, pod)
        self._following.forget_member(pod.metadata.uid)
        self._settle(self.gangs.news.groups)

    def object_seen(self, before: Object | None, after: Object | None) -> None:
        if before is not None and after is None:
            self._keeper.object_gone(before)
        self._settle(self.gangs.news.groups)

    def follow_up(self) -> None:
        """Looks at gangs whose time is up, and tells what is to be told."""
        for group in self._following.follow_up():
            self._wake(group)
        self._keeper.follow_up()

    def wake_at(self) -> float | None:
        moments = (self._following.wake_at, self._keeper.wake_at)
        return min((each for each in moments if each is not None), default=None)

    def _settle(self, groups: Groups) -> None:
        for group in groups:
            is_there = group.key in self.gangs.groups
            if is_there:
                self._keeper.settle(group)
            if is_there and group.profile == self.handle.profile:
                self._following.settle(group)
                self._wake(group)
            else:
                self._following.forget(group)

    def _wake(self, group: GangGroup) -> None:
        """Has members that wait for nothing any more tried: one for all, or each for itself."""
        if not group.held:
            return
        alone = group.started and any(group.lets_alone(gang) for gang in group.gangs())
        if not alone and (not group.can_be_tried() or (group.representative and group.needed())):
            return
        held = [member for member in group.held.values() if member.state is State.PENDING]
        if alone:
            self.handle.activate([member.pod for member in held if group.lets_alone(member.gang)])
        elif not group.needed():
            self.handle.activate([member.pod for member in held])
        elif held:
            outside = [member.pod for member in held if self.handle.judged_outside(member.pod)]
            first = max(held, key=lambda member: member.pod.priority)
            self.handle.activate(outside or [first.pod])

    # queueing

    @concerns_only("_members")
    def pre_enqueue(self, pod: Pod) -> Status | None:
        member = self._members.get(pod.metadata.uid)
        if member is None:
            return None
        answer = self._gate.pass_(member)
        return self._held_back(answer) if answer.message else None

    def held_for(self, pod: Pod) -> str:
        member = self._members.get(pod.metadata.uid)
        return "" if member is None else self._gate.check(member)

    def _held_back(self, answer: Answer) -> Status:
        """Members that wait for the same have the same answer: one that is known is not checked again."""
        said = self._said
        if said is None or said.reasons[0] != answer.message:
            said = self._said = (passing if answer.passing else unresolvable)(answer.message)
        return said

    @concerns_only("_members")
    def order_of(self, pod: Pod) -> tuple[float, str] | None:
        """Since when a gang waits, and what it is called: what its pods are sorted by."""
        member = self._members.get(pod.metadata.uid)
        return None if member is None else (member.gang.group.created, member.gang.group.id)

    def less(self, first: Queued, second: Queued) -> bool:
        return self.sort_key(first) < self.sort_key(second)

    def sort_key(self, queued: Queued) -> order.SortKey:
        member = self._members.get(queued.pod.metadata.uid)
        return order.sort_key(queued, None if member is None else member.gang)

    def events(self) -> tuple[Interest, ...]:
        """Pods are followed as they come: left are changes of the pod itself and of pod groups."""
        return (
            Interest(UNSCHEDULABLE_POD, Action.UPDATE, _own),
            Interest("PodGroup", CHANGES, self._concerns),
            Interest("Workload", CHANGES, self._concerns),
            *self.network_events(),
        )

    def _concerns(self, pod: Pod, old: Object | None, new: Object | None) -> Hint:
        """Whether an object is about the gangs a pod starts with."""
        member, found = self._members.get(pod.metadata.uid), new or old
        if member is None or found is None:
            return Hint.SKIP
        kind = f"{found.kind}.{found.api_version.rpartition('/')[0]}"
        for gang in member.gang.group.gangs():
            if kind in gang.dialect.kinds and (gang.source == found.key or kind != gang.dialect.kinds[0]):
                return Hint.QUEUE
        return Hint.SKIP

    # trying together

    def group(self, pod: Pod) -> Group | Status | None:
        self._tried = None
        member = self._members.get(pod.metadata.uid)
        if member is None or self.handle.judged_outside(pod):
            return None
        group = member.gang.group
        self._following.settle(group)
        if group.representative == member.uid:
            group.representative = ""
        if message := self._gate.check(member):
            group.held[member.uid] = member  # it is to be tried when that is over
            return unresolvable(message)
        alone = group.lets_alone(member.gang) or not group.needed()
        if alone:
            self._wake(group)
            if not self.is_planned(group):
                return None
        members = order.in_order([member.gang] if alone else group.gangs())
        members = [each for each in members if not self.handle.judged_outside(each.pod)]
        for each in members:
            each.gang.group.taken_up(each.uid)
        self._tried = group
        return Group(
            group.key,
            group.title,
            tuple(each.pod for each in members),
            1 if alone else group.needed(),
            frozenset(each.uid for each in members if each.gang.dialect.modes and each.gang.strict),
        )

    def post_filter_group(self, cycle: Cycle, group: Group, trial: GroupTrial) -> GroupWayOut | None:
        if not self.args.enable_preemption:
            return None
        found = self.gangs.groups.get(group.key)
        is_enough = None if found is None else found.starts_with()

        def starts(placed: Collection[str]) -> bool:
            return len(placed) >= group.needed and (is_enough is None or is_enough(placed))

        return self._preemption.way_out(group, trial, starts, self.planned(group))

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        """A gang may have lost what it had when the pod entered the queue."""
        member = self._members.get(pod.metadata.uid)
        if member is None or member.gang.group is self._tried:
            return SKIP  # looked at when it was taken up
        message = self._gate.check(member)
        return unresolvable(message) if message else SKIP

    @nothing_to_do
    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        """Places are counted at permit."""

    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        member = self._members.get(pod.metadata.uid)
        if member is None:
            return unschedulable(NOT_FOUND) if is_member(pod) else None
        gang, group = member.gang, member.gang.group
        group.held.pop(member.uid, None)
        if gang.terms is None:
            return wait(0.0)
        missing = group.needed()
        if not missing and group.may_start():
            self._let_go(group)
            return None
        if self.handle.judged_outside(pod):
            self.handle.activate([each.pod for each in group.members(State.PENDING)])
        return wait(group.wait_s, NOT_ENOUGH.format(group.title, group.least))

    def _let_go(self, group: GangGroup) -> None:
        group.starts()
        self._following.starts(group)
        for held in self._at_permit(group):
            held.allow(self.name)

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        if (member := self._members.get(pod.metadata.uid)) is not None:
            self._fell_apart(member)

    def after_post_filter(self, cycle: Cycle, pod: Pod, statuses: Any, status: Status | None) -> None:
        member = self._members.get(pod.metadata.uid)
        if member is not None:
            self._fell_apart(member)

    def _fell_apart(self, member: Member) -> None:
        """A member of a strict gang has no place: those that wait for it give theirs back."""
        group = member.gang.group
        if group.falls_apart or not member.gang.strict or group.lets_alone(member.gang):
            return
        if not (waiting := self._at_permit(group)):
            return
        self._following.rest(group)
        group.falls_apart = True  # each that is rejected comes here again, and is not the cause
        try:
            for held in waiting:
                held.reject(self.name, REJECTED.format(group.title, member.pod.key))
        finally:
            group.falls_apart = False

    def _at_permit(self, group: GangGroup) -> list[Any]:
        waiting = self.handle.waiting_pods
        if not waiting:
            return []
        uids = [member.uid for member in group.members(State.WAITING)]
        return [waiting[uid] for uid in uids if uid in waiting]

    # binding

    def pre_bind_patch(self, cycle: Cycle, pod: Pod, node_name: str) -> dict[str, Any] | None:
        """Tells the node's agents who started together; what an earlier attempt has told is taken away."""
        member = self._members.get(pod.metadata.uid)
        patch = None if member is None else marks(member.gang.group, member.uid)
        if patch is not None or unmarked(pod.metadata.annotations):
            return patch
        return without_marks(pod)

    @concerns_only("_members")
    def pod_bound(self, pod: Pod, node_name: str) -> None:
        """The first matters to those that wait; the others are looked at when the server shows them."""
        if groups := self.gangs.news.groups:
            self._settle(groups)

    # looking on

    def endpoints(self) -> Mapping[str, Endpoint]:
        return {"gangs": self._all_gangs, "gang/:namespace/:name": self._one_gang}

    def _all_gangs(self, asked: EndpointRequest) -> dict[str, Any]:
        return {key: self._shown(gang) for key, gang in sorted(self.gangs.gangs.items())}

    def _one_gang(self, asked: EndpointRequest) -> dict[str, Any] | None:
        gang_id = f"{asked.path['namespace']}/{asked.path['name']}"
        found = [gang for gang in self.gangs.gangs.values() if gang.id == gang_id]
        return self._shown(found[0]) if found else None

    def _shown(self, gang: Gang) -> dict[str, Any]:
        since = self._following.ready.get(gang.group.key)
        return view.summary(gang, format_duration(gang.wait_s), since)


def _own(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    """Only what the pod itself declares matters; other pods are followed as they come."""
    return Hint.QUEUE if new.metadata.uid == pod.metadata.uid else Hint.SKIP
