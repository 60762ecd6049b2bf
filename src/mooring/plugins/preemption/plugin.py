"""DefaultPreemption: who may preempt, what is said when it does not help, and waiting for victims to go."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from mooring.cluster.pods import Placed
from mooring.errors import PluginFailed
from mooring.framework.api.answers import PostFilterResult, Statuses
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.offers import Answered, Offer, Room
from mooring.framework.api.plugin import Plugin, concerns_only
from mooring.framework.api.preparation import LooksAhead
from mooring.framework.api.status import Code, Status, passing, unresolvable, unschedulable
from mooring.model.objects import Object, Pod
from mooring.plugins.preemption.args import DefaultPreemptionArgs
from mooring.room.budgets import KIND, DisruptionBudgets
from mooring.room.choice import Candidate, Cost, cost_of, in_order
from mooring.room.disruptions import Disruptions
from mooring.room.for_pod.coverage import Coverage
from mooring.room.for_pod.dry_run import DryRun
from mooring.room.for_pod.node_search import NOT_HELPFUL, NodeSearch
from mooring.room.for_pod.prospects import KnownProspects
from mooring.room.for_pod.rows_apart import GangRows
from mooring.room.for_pod.slots import PodSlots
from mooring.room.for_pod.sweep import Ahead, Need
from mooring.room.gangs_in_the_way import GangsInTheWay, Losses
from mooring.room.victims import NEVER, PREFIX, VICTIM_TERMINATING, VictimRule, is_awaited, is_leaving
from mooring.workloads.gang_places import GangPlaces
from mooring.workloads.placed_gangs import PlacedGangs

NO_CANDIDATE = "no candidate node for preemption"
NAME = "DefaultPreemption"
NOT_FINISHED = passing("waiting for the preemption for this pod to be finished").by(NAME)
MOST_ASKED = 100  # candidates, where every node must be tried with the filters themselves
FOLLOW_EVERY = 256  # pods that come; then budgets may look at other labels
PREEMPTORS_KNOWN = 1000  # above it those whose victims have gone are forgotten


class DefaultPreemption(Plugin, LooksAhead):
    name = NAME
    Args = DefaultPreemptionArgs
    reads = (KIND,)

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._budgets = DisruptionBudgets(handle.lister(KIND))
        self._coverage: Coverage | None = None
        self._gangs = PlacedGangs(handle.book(GangPlaces))
        self._arrivals = 0
        self._gates = handle.gates.enabled("SchedulerAsyncPreemption")
        self._victims: dict[str, tuple[str, ...]] = {}  # uids, by the uid of the pod they make room for

    @cached_property
    def _slots(self) -> PodSlots:
        return self.handle.cluster.shared(PodSlots)

    @cached_property
    def _gang_rows(self) -> GangRows:
        return self.handle.cluster.shared(GangRows)

    @cached_property
    def _prospects(self) -> KnownProspects:
        return KnownProspects(self._slots)

    def arrived(self, placed: Placed) -> None:
        if not self._arrivals % FOLLOW_EVERY:
            self._slots.follow(self._covered().keys)
        self._arrivals += 1
        self._slots.kinds.note(placed)

    def catch_up(self) -> bool:
        self._slots.follow(self._covered().keys)
        return self._slots.fill_some()

    def object_seen(self, before: Object | None, found: Object | None) -> None:
        self._budgets.seen(found)

    @concerns_only("_victims")
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Holds a pod back as long as its victims have not begun to terminate."""
        uid = pod.metadata.uid
        victims = self._victims.get(uid)
        if victims is None:
            return None
        if any(map(self._slots.awaits_deletion, reversed(victims))):  # the last is the last to go
            return NOT_FINISHED
        del self._victims[uid]
        return None

    def events(self) -> tuple[Interest, ...]:
        return (Interest(POD, Action.DELETE, _never),)

    def post_filter(self, cycle: Cycle, pod: Pod, statuses: Statuses) -> PostFilterResult | Offer | Status:
        why_not = self._not_eligible(pod, statuses)
        if why_not:
            return unschedulable(PREFIX.format(why_not))
        search = self._search(cycle, pod, statuses)
        if search.candidates:
            return Offer(tuple(map(self._room, in_order(search.candidates))), self._settle)
        if search.best is not None:
            found = search.best
            return self._preempt(pod, self._name(found.row), found.victims)
        if search.errors:
            return unresolvable(PREFIX.format(_joined(search.errors)))
        search.reasons[NOT_HELPFUL] += len(statuses) - search.examined
        counted = sorted(f"{count} {reason}" for reason, count in (+search.reasons).items())
        text = f"0/{len(statuses)} nodes are available: {', '.join(counted)}."
        return PostFilterResult("", status=unschedulable(PREFIX.format(text)))

    def _not_eligible(self, pod: Pod, statuses: Statuses) -> str:
        if pod.spec.preemption_policy == "Never":
            return NEVER
        node = self.handle.cluster.node(name) if (name := self.handle.nomination(pod)) else None
        if node is None or statuses[name].code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        return VICTIM_TERMINATING if is_awaited(self._slots.placed(node.row), pod.priority) else ""

    def _search(self, cycle: Cycle, pod: Pod, statuses: Statuses) -> NodeSearch:
        coverage = self._covered()
        self._slots.follow(coverage.keys)
        rule = self._rule(pod)
        gangs, disruptions = GangsInTheWay(self._gangs, rule), Disruptions(coverage.index)
        dry_run = DryRun(self.handle, cycle, pod, rule, gangs, disruptions)
        apart, keep_all = self._gang_rows.apart(rule, self._gangs), self.handle.preemption_is_judged(pod)
        search = NodeSearch(self._slots, dry_run, statuses, apart, keep_all=keep_all)
        rows = statuses.resolvable_rows()
        if not len(rows):
            return search
        offset = self.handle.random.randrange(len(rows))
        rows = np.concatenate([rows[offset:], rows[:offset]])
        demand = self.handle.demand(cycle, pod)
        wanted = self.args.wanted(len(rows))
        if demand is None or not demand.alone or apart is not None:
            wanted = min(wanted, max(MOST_ASKED, self.args.min_candidate_nodes_absolute))
        if demand is None:
            search.ask(rows, wanted)
        else:
            prospects = self._prospects.of(Need(pod.priority, demand.amounts), coverage)
            search.sweep(rows, wanted, demand, prospects, self._ahead(pod))
        return search

    def _rule(self, pod: Pod) -> VictimRule:
        """A pod has less important pods evicted; of its own gang it has none."""
        return VictimRule(pod.priority, self._gangs.kin(pod), may_evict=self.handle.may_evict(pod))

    def _covered(self) -> Coverage:
        """The budgets as arrays, kept until a budget changes."""
        budgets = self._budgets.now()
        if self._coverage is None or self._coverage.budgets is not budgets:
            self._coverage = Coverage(budgets, self._slots)
        return self._coverage

    def _ahead(self, pod: Pod) -> Ahead:
        """The pods that are to come to nodes first, by row."""
        rows = self._slots.nodes.rows
        ahead = self.handle.nominated_ahead(pod)
        return {rows[name]: others for name, others in ahead.items() if name in rows}

    # extenders that have a say

    def _room(self, found: Candidate) -> Room:
        """Extenders are asked about the pods of the node. Who goes with them follows from those left."""
        victims = tuple(placed.pod for placed in found.victims if placed.row == found.row)
        return Room(self._name(found.row), victims, found.violations)

    def _settle(
        self, cycle: Cycle, pod: Pod, statuses: Statuses, answered: Answered
    ) -> PostFilterResult | Status:
        """Takes the best room that extenders leave, of what is still to be had."""
        if why_not := self._not_eligible(pod, statuses):
            return unschedulable(PREFIX.format(why_not))
        if answered.failure:
            return unresolvable(PREFIX.format(answered.failure))
        offered = {room.node: room for room in answered.offered}
        rule = self._rule(pod)
        ways = [(room, self._who_goes(room, rule)) for room in answered.left]
        for room, victims in sorted(ways, key=_harm):
            going = {each.pod.uid for each in (*victims, *self._there(offered.get(room.node, room)))}
            if self._helps(cycle, pod, room.node, going, statuses) and self._may_go(room, victims, rule):
                return self._preempt(pod, room.node, victims)
        return unschedulable(PREFIX.format(NO_CANDIDATE))

    def _who_goes(self, room: Room, rule: VictimRule) -> list[Placed]:
        """Those of the pods that are on the node, as they are now, with the gangs that fall because of it."""
        losses = Losses(GangsInTheWay(self._gangs, rule))
        for placed in self._there(room):
            losses.add(placed)
        return list(losses.with_fallen_gangs().values())

    def _may_go(self, room: Room, victims: Iterable[Placed], rule: VictimRule) -> bool:
        """Whether they may go. An extender may name pods that are as important as the pod, as in
        kube-scheduler; those that fall with their gangs are less so. Nobody evicts a pod that is spared."""
        named = {victim.uid for victim in room.victims}
        return all(not rule.spares(e) if e.pod.uid in named else rule.allows(e) for e in victims)

    def _there(self, room: Room) -> list[Placed]:
        row = self._slots.nodes.rows.get(room.node)
        placed = () if row is None else self._slots.placed(row)
        wanted = {victim.uid for victim in room.victims}
        return [each for each in placed if each.pod.uid in wanted]

    def _helps(self, cycle: Cycle, pod: Pod, node: str, going: set[str], statuses: Statuses) -> bool:
        """Whether the pod fits once these have gone. What an extender spares counts as gone: it may know
        of a way to do without."""
        if node not in self._slots.nodes.rows or statuses[node].code is not Code.UNSCHEDULABLE:
            return False
        try:
            with self.handle.trial(cycle, pod, node) as trial:
                for uid in going:
                    trial.remove(uid)
                return trial.status() is None
        except PluginFailed:
            return False

    # carrying it out

    def _name(self, row: int) -> str:
        return self._slots.nodes.names[row]

    def _preempt(self, pod: Pod, node: str, victims: Iterable[Placed]) -> PostFilterResult:
        """Victims that are on their way out already need not be evicted."""
        staying = [each.pod for each in victims if not is_leaving(each)]
        if self._gates:
            self._remember(pod, staying)
        return PostFilterResult(node, tuple(staying))

    def _remember(self, pod: Pod, victims: list[Pod]) -> None:
        if len(self._victims) > PREEMPTORS_KNOWN:
            for uid, left in list(self._victims.items()):
                if not any(map(self._slots.awaits_deletion, left)):
                    del self._victims[uid]
        waiting = {*self.handle.waiting_pods}  # these lose their place at once
        uids = [victim.metadata.uid for victim in victims]
        self._victims[pod.metadata.uid] = tuple([uid for uid in uids if uid not in waiting])


def _harm(way: tuple[Room, list[Placed]]) -> Cost:
    room, victims = way
    return cost_of([each.pod for each in victims], room.violations)


def _never(pod: Pod, old: Pod, new: None) -> Hint:
    """It is for those who rejected the pod to say whether room was freed."""
    return Hint.SKIP


def _joined(errors: list[str]) -> str:
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
