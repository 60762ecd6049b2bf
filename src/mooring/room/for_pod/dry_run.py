"""What preemption on one node would come to, asked of the filters themselves. Exact for every plugin."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, sub

from mooring.cluster.charge import Charge
from mooring.cluster.pods import Placed
from mooring.errors import PluginFailed
from mooring.framework.api.capacity import INSUFFICIENT, TOO_MANY_PODS
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Handle
from mooring.framework.api.node_trial import Trial
from mooring.framework.api.status import Code, Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.room.choice import Candidate
from mooring.room.disruptions import Disruptions
from mooring.room.for_pod.single_row import Left
from mooring.room.gangs_in_the_way import GangsInTheWay, Losses
from mooring.room.importance import importance
from mooring.room.reprieve import Reprieve, units
from mooring.room.victims import VictimRule

NO_VICTIMS_REASON = "No preemption victims found for incoming pod"
NO_VICTIMS = unresolvable(NO_VICTIMS_REASON)
ALL_STAY = 'expected at least one victim pod on node "{}"'


class DryRun:
    """Dry runs for one pod."""

    def __init__(
        self,
        handle: Handle,
        cycle: Cycle,
        pod: Pod,
        rule: VictimRule,
        gangs: GangsInTheWay,
        disruptions: Disruptions,
    ) -> None:
        self._handle = handle
        self._cycle = cycle
        self._pod = pod
        self._rule = rule
        self._gangs = gangs
        self._disruptions = disruptions

    def on(
        self, row: int, node_name: str, placed: Sequence[Placed], left: Left | None = None
    ) -> Candidate | Status:
        """The victims on a node, or why there is no use in any. `placed` has the most important first; `left`
        is given where nothing but free resources decides: no filter is asked then."""
        possible = self._possible(placed)
        if not possible:
            return NO_VICTIMS
        if left is not None:
            return self._victims(OnCount(left, possible), row, node_name, possible)
        try:
            with self._handle.trial(self._cycle, self._pod, node_name) as trial:
                return self._victims(OnTrial(trial), row, node_name, possible)
        except PluginFailed as failure:
            return Status(Code.ERROR, (str(failure),))

    def _possible(self, placed: Sequence[Placed]) -> list[Placed]:
        """Who may go. Of a gang that has to stay, the least important go first."""
        if self._gangs.there_are_none:
            return [each for each in placed if self._rule.allows(each)]
        losses = Losses(self._gangs)
        for each in reversed(placed):
            if self._rule.allows(each) and losses.may_go(each):
                losses.add(each)
        return [*reversed(losses.gone.values())]

    def _victims(
        self, pod: OnTrial | OnCount, row: int, node_name: str, possible: Sequence[Placed]
    ) -> Candidate | Status:
        """Removes all, then lets back whom the pod leaves room for: first those it would be wrong to
        evict, the more important first."""
        for each in possible:
            pod.remove(each.pod.uid)
        if (status := pod.status()) is not None:
            return status
        reprieve = Reprieve(pod, self._gangs, one_by_one=True)
        gone = reprieve.victims(units(possible, self._gangs), self._disruptions)
        if not gone:
            return Status(Code.ERROR, (ALL_STAY.format(node_name),))
        elsewhere = [each for each in gone if each.row != row]
        for each in elsewhere:
            pod.remove(each.pod.uid)
        if elsewhere and (status := pod.status()) is not None:
            return status
        violations = len(reprieve.protected & {each.pod.uid for each in gone})
        return Candidate(row, tuple(_in_order(gone, possible)), violations)


class OnTrial:
    """The pod on the node: it fits as long as the filters say so."""

    def __init__(self, trial: Trial) -> None:
        self.remove = trial.remove
        self.put_back = trial.put_back
        self.status = trial.status

    def has_room(self, placed: Placed) -> bool:
        return True

    def fits(self) -> bool:
        return self.status() is None

    def settle(self) -> None:
        """It loses its place to nobody."""


class OnCount:
    """The pod on the node, where it fits as long as nothing is short: that is counted."""

    def __init__(self, left: Left, possible: Sequence[Placed]) -> None:
        self._names, self._left = left
        self._taken = {each.pod.uid: self._amounts(each.charge) for each in possible}

    def _amounts(self, charge: Charge) -> tuple[int, ...]:
        amounts = dict(charge.amounts)
        return 1, *(amounts.get(name, 0) for name in self._names[1:])

    def remove(self, uid: str) -> None:
        if (taken := self._taken.get(uid)) is not None:  # nothing for pods of other nodes
            self._left = list(map(add, self._left, taken))

    def put_back(self, uid: str) -> None:
        self._left = list(map(sub, self._left, self._taken[uid]))

    def has_room(self, placed: Placed) -> bool:
        return self.fits()

    def fits(self) -> bool:
        return min(self._left) >= 0

    def settle(self) -> None:
        """It loses its place to nobody."""

    def status(self) -> Status | None:
        short = (name for name, left in zip(self._names, self._left, strict=True) if left < 0)
        reasons = tuple(INSUFFICIENT.format(name) if name else TOO_MANY_PODS for name in short)
        return unschedulable(*reasons) if reasons else None


def _in_order(gone: Sequence[Placed], possible: Sequence[Placed]) -> list[Placed]:
    """The most important first; equals of the node in its order, then those of other nodes by name."""
    turn = {each.pod.uid: number for number, each in enumerate(possible)}
    last = len(turn)
    return sorted(gone, key=lambda each: (*importance(each), turn.get(each.pod.uid, last), each.pod.key))
