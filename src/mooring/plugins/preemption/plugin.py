"""DefaultPreemption: who may preempt, what is said when it does not help, and waiting for victims to go."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec
import numpy as np

from mooring.cluster.pods import RELEASING, Placed
from mooring.errors import PluginFailed
from mooring.framework.api.answers import PostFilterResult, Statuses
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.offers import Answered, Offer, Room
from mooring.framework.api.plugin import Plugin, concerns_only
from mooring.framework.api.preparation import LooksAhead
from mooring.framework.api.status import Code, Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.plugins.preemption.args import DefaultPreemptionArgs
from mooring.plugins.preemption.budgets import KIND, Budgets
from mooring.plugins.preemption.choice import Candidate, cost_of, in_order
from mooring.plugins.preemption.coverage import Coverage
from mooring.plugins.preemption.dry_run import DryRun
from mooring.plugins.preemption.prospects import KnownProspects
from mooring.plugins.preemption.search import NOT_HELPFUL, Search
from mooring.plugins.preemption.slots import PodSlots
from mooring.plugins.preemption.sweep import Ahead, Need

PREFIX = "preemption: {}"
NEVER = "not eligible due to preemptionPolicy=Never."
VICTIM_TERMINATING = "not eligible due to a terminating pod on the nominated node."
NO_CANDIDATE = "no candidate node for preemption"
NAME = "DefaultPreemption"
NOT_FINISHED = unresolvable("waiting for the preemption for this pod to be finished").by(NAME)
DISRUPTED, BY_US = "DisruptionTarget", "PreemptionByScheduler"
MOST_ASKED = 100  # candidates, where every node must be tried with the filters themselves
FOLLOW_EVERY = 256  # pods that come; then budgets may look at other labels
PREEMPTORS_KNOWN = 1000  # above it those whose victims have gone are forgotten


class DefaultPreemption(Plugin, LooksAhead):
    name = NAME
    Args = DefaultPreemptionArgs
    reads = (KIND,)

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._budgets = Budgets(handle.lister(KIND))
        self._coverage: Coverage | None = None
        self._arrivals = 0
        self._gates = handle.gates.enabled("SchedulerAsyncPreemption")
        self._victims: dict[str, tuple[str, ...]] = {}  # uids, by the uid of the pod they make room for

    @cached_property
    def _slots(self) -> PodSlots:
        return self.handle.cluster.shared(PodSlots)

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
        lower = (each for each in self._slots.placed(node.row) if each.pod.priority < pod.priority)
        return VICTIM_TERMINATING if any(map(_is_making_room, lower)) else ""

    def _search(self, cycle: Cycle, pod: Pod, statuses: Statuses) -> Search:
        coverage = self._covered()
        self._slots.follow(coverage.keys)
        dry_run = DryRun(self.handle, cycle, pod, coverage.budgets)
        search = Search(self._slots, dry_run, statuses, keep_all=self.handle.preemption_is_judged(pod))
        rows = statuses.resolvable_rows()
        if not len(rows):
            return search
        offset = self.handle.random.randrange(len(rows))
        rows = np.concatenate([rows[offset:], rows[:offset]])
        demand = self.handle.demand(cycle, pod)
        wanted = self.args.wanted(len(rows))
        if demand is None or not demand.alone:
            wanted = min(wanted, max(MOST_ASKED, self.args.min_candidate_nodes_absolute))
        if demand is None:
            search.ask(rows, wanted)
        else:
            prospects = self._prospects.of(Need(pod.priority, demand.amounts), coverage)
            search.sweep(rows, wanted, demand, prospects, self._ahead(pod))
        return search

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
        victims = tuple(placed.pod for placed in found.victims)
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
        now = [msgspec.structs.replace(room, victims=self._there(room)) for room in answered.left]
        for room in sorted(now, key=lambda room: cost_of(room.victims, room.violations)):
            known = offered.get(room.node, room)
            going = (*room.victims, *self._there(known))
            if self._helps(cycle, pod, room.node, {victim.uid for victim in going}, statuses):
                return self._preempt(pod, room.node, self._slots.held(room.victims))
        return unschedulable(PREFIX.format(NO_CANDIDATE))

    def _there(self, room: Room) -> tuple[Pod, ...]:
        """Those of the pods that are on the node, as they are now."""
        row = self._slots.nodes.rows.get(room.node)
        placed = () if row is None else self._slots.placed(row)
        wanted = {victim.uid for victim in room.victims}
        return tuple(each.pod for each in placed if each.pod.uid in wanted)

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
        return self._slots.nodes.object_at(row).name

    def _preempt(self, pod: Pod, node: str, victims: Iterable[Placed]) -> PostFilterResult:
        """Victims that are on their way out already need not be evicted."""
        staying = [each.pod for each in victims if each.hold is not RELEASING and not each.pod.terminating]
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


def _is_making_room(placed: Placed) -> bool:
    """On its way out for a more important pod, whether the API server shows it already or not."""
    if placed.hold is RELEASING:
        return True
    return placed.pod.terminating and any(
        each.type == DISRUPTED and each.status == "True" and each.reason == BY_US
        for each in placed.pod.status.conditions
    )


def _never(pod: Pod, old: Pod, new: None) -> Hint:
    """It is for those who rejected the pod to say whether room was freed."""
    return Hint.SKIP


def _joined(errors: list[str]) -> str:
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
