"""Preemption for whole gangs: victims are chosen so that every needed member fits, or nobody is evicted.

Whoever a PodDisruptionBudget protects is evicted only when nothing else helps, and then as few as found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec
import numpy as np

from mooring.cluster.pods import Placed
from mooring.framework.api.grouping import Group, GroupTrial, GroupWayOut
from mooring.framework.api.handle import Handle
from mooring.framework.api.node_trial import Demand
from mooring.framework.api.status import Status, unschedulable
from mooring.model.objects import Pod
from mooring.room.budgets import KIND, BudgetIndex, DisruptionBudgets
from mooring.room.disruptions import Count, Disruptions
from mooring.room.for_gang.cleared_nodes import Cleared
from mooring.room.for_gang.places_for_members import PlacesForMembers, Planned, Seated
from mooring.room.for_gang.possible_victims import Awaited, Places, Possible
from mooring.room.for_gang.preemptor import Candidate, Preemptor, Starts, candidates, needed_of
from mooring.room.for_gang.seated_members import SeatedMembers
from mooring.room.importance import importance
from mooring.room.reprieve import Reprieve, units
from mooring.room.victims import NEVER, PREFIX, VICTIM_TERMINATING, VictimRule, is_awaited, refuses_preemption
from mooring.workloads.placed_gangs import PlacedGangs

SUCCESS = "{victims} to make room; {waiting} of {all} need none"
TOO_FEW = "with every pod of a lower priority evicted, {placed} of {needed} would have a place"
REFUSED = "{pod} fits nowhere: {reason}"


class Found(msgspec.Struct, frozen=True):
    """A way out: who goes, and where members come to."""

    victims: tuple[Placed, ...]
    seated: dict[str, str]
    violations: int


class GangPreemption:
    """Looks for ways out, on behalf of the plugin that has the gangs."""

    reads = (KIND,)

    def __init__(self, handle: Handle, gangs: PlacedGangs) -> None:
        self._handle = handle
        self._gangs = gangs
        self._budgets = DisruptionBudgets(handle.lister(KIND))

    @cached_property
    def _places(self) -> Places:
        return self._handle.cluster.shared(Places)

    def way_out(
        self, group: Group, trial: GroupTrial, starts: Starts, plan: Planned | None = None
    ) -> GroupWayOut | None:
        """Whom to evict for a group that `starts` with some of its members, or why that is of no use. `plan`
        says where they are to go, if the group minds. None when they have places without anybody going."""
        members = trial.room().members
        if why_not := self._not_eligible(members, trial):
            return GroupWayOut(nominated=dict(trial.nominated), status=_no(why_not))
        asked = candidates(trial)
        free = trial.place() if plan is None else {}
        wanted = needed_of(group, asked, starts, free)
        if not wanted:
            refused = next((each for each in asked if each.refusal is not None), None)
            return None if refused is None else _refused(refused)
        if all(pod.metadata.uid in free for pod in wanted):
            return None
        return self._search(group, trial, wanted, plan)

    def _not_eligible(self, members: Sequence[Pod], trial: GroupTrial) -> str:
        if any(pod.spec.preemption_policy == "Never" for pod in members):
            return NEVER
        for pod in members:
            row = self._places.nodes.rows.get(trial.nominated.get(pod.metadata.uid, ""))
            if row is None or not _may_use(trial, pod, row):
                continue
            if is_awaited(self._places.pods.on(row).values(), pod.priority):
                return VICTIM_TERMINATING
        return ""

    # searching

    def _search(
        self, group: Group, trial: GroupTrial, wanted: Sequence[Pod], plan: Planned | None
    ) -> GroupWayOut | None:
        trial.place({})
        nodes = self._places.nodes
        preemptor = Preemptor(wanted, trial, nodes)
        group = msgspec.structs.replace(group, members=tuple(wanted), needed=len(wanted))
        rows = np.flatnonzero(preemptor.may_use()).tolist()
        everyone = Possible(self._places, self._gangs, self._rule(preemptor), rows)
        if not everyone.rows():
            return None  # nobody could go: what is missing says it all
        awaited = self._awaited(max(wanted, key=lambda pod: pod.priority))
        best: Found | None = None
        why_not = ""
        for possible, count in self._with_fewer_violations(everyone):
            if count is not None and best is None:
                continue  # no fewer fit without more
            cleared = Cleared(trial, possible, count)
            search = PlacesForMembers(trial, group, self._places, preemptor, possible, cleared, awaited)
            seated = search.seated(plan)
            why_not = _why_not(search, preemptor)
            if seated is not None:
                found = self._found(trial, preemptor, possible, cleared, seated, awaited)
                if found is not None and (best is None or found.violations < best.violations):
                    best = found
            if best is not None and not best.violations:
                break
            cleared.restore()
        return GroupWayOut(status=_no(why_not)) if best is None else self._told(best)

    def _rule(self, preemptor: Preemptor) -> VictimRule:
        """Labels protect pods from gangs, as with Koordinator; and so do the gangs it starts with."""
        first = preemptor.pods[0]
        own, may_evict = self._gangs.kin(first), self._handle.may_evict(first)
        return VictimRule(preemptor.priority, own, (refuses_preemption,), may_evict)

    def _with_fewer_violations(self, everyone: Possible) -> Iterator[tuple[Possible, Count | None]]:
        """First without those of whom one is too many, then counting on the way, then with everybody."""
        self._disruptions = disruptions = Disruptions(BudgetIndex(self._budgets.now()))
        if disruptions:
            alone = everyone.without(disruptions.is_one_too_many)
            yield alone, None
            yield alone, Count(disruptions)
        yield everyone, None

    # reprieve

    def _found(
        self,
        trial: GroupTrial,
        preemptor: Preemptor,
        possible: Possible,
        cleared: Cleared,
        seated: Seated,
        awaited: Awaited,
    ) -> Found | None:
        gone = units(sorted(cleared.gone.values(), key=_by_importance), possible.gangs)
        by_all = self._awaited(min(preemptor.pods, key=lambda pod: pod.priority))
        used = set(seated.values())
        counted = preemptor.alone and all(awaited.get(name) == by_all.get(name) for name in used)
        members = SeatedMembers(trial, self._places, preemptor, seated, awaited=awaited, counted=counted)
        reprieve = Reprieve(members, possible.gangs, again=not counted)
        victims = sorted(reprieve.victims(gone, self._disruptions), key=_by_importance)
        if trial.place(seated) != seated:
            return None
        return Found(tuple(victims), seated, self._disruptions.violations(victims))

    def _awaited(self, member: Pod) -> dict[str, list[Pod]]:
        """Those that are to come to nodes before a member, by node."""
        ahead, placed = self._handle.nominated_ahead(member), self._places.pods.by_uid
        found = (
            (name, [pod for pod in pods if pod.metadata.uid not in placed]) for name, pods in ahead.items()
        )
        return {name: pods for name, pods in found if pods}

    def _told(self, found: Found) -> GroupWayOut:
        touched = {placed.node for placed in found.victims}
        waiting = sum(name not in touched for name in found.seated.values())
        return GroupWayOut(
            tuple(placed.pod for placed in found.victims),
            found.seated,
            message=SUCCESS.format(
                victims=_evicted(len(found.victims)),
                waiting=waiting,
                all=len(found.seated),
            ),
        )


def _why_not(search: PlacesForMembers, preemptor: Preemptor) -> str:
    if search.refusal is not None:
        return search.refusal.message
    return TOO_FEW.format(placed=min(search.most, len(preemptor.uids) - 1), needed=len(preemptor.uids))


def _evicted(count: int) -> str:
    if not count:
        return "pods that are ending are enough"
    return "1 pod is evicted" if count == 1 else f"{count} pods are evicted"


def _by_importance(placed: Placed) -> tuple[int, int, str]:
    return (*importance(placed), placed.pod.key)


def _may_use(trial: GroupTrial, pod: Pod, row: int) -> bool:
    """Whether the node has not become one that never takes the pod."""
    demand = trial.demand(pod.metadata.uid)
    return bool(demand.open[row]) if isinstance(demand, Demand) else demand is None


def _refused(member: Candidate) -> GroupWayOut:
    why = "" if member.refusal is None else member.refusal.message
    return GroupWayOut(status=_no(REFUSED.format(pod=member.pod.key, reason=why)))


def _no(why: str) -> Status:
    return unschedulable(PREFIX.format(why))
