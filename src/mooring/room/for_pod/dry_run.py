"""What preemption on one node would come to, asked of the filters themselves. Exact for every plugin."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.cluster.pods import Placed
from mooring.errors import PluginFailed
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Handle
from mooring.framework.api.node_trial import Trial
from mooring.framework.api.status import Code, Status, unresolvable
from mooring.model.objects import Pod
from mooring.room.choice import Candidate
from mooring.room.disruptions import Disruptions
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

    def on(self, row: int, node_name: str, placed: Sequence[Placed]) -> Candidate | Status:
        """The victims on a node, or why there is no use in any. `placed` has the most important first."""
        possible = self._possible(placed)
        if not possible:
            return NO_VICTIMS
        try:
            with self._handle.trial(self._cycle, self._pod, node_name) as trial:
                return self._victims(trial, row, node_name, possible)
        except PluginFailed as failure:
            return Status(Code.ERROR, (str(failure),))

    def _possible(self, placed: Sequence[Placed]) -> list[Placed]:
        """Who may go. Of a gang that has to stay, the least important go first."""
        losses = Losses(self._gangs)
        for each in reversed(placed):
            if self._rule.allows(each) and losses.may_go(each):
                losses.add(each)
        return [*reversed(losses.gone.values())]

    def _victims(
        self, trial: Trial, row: int, node_name: str, possible: Sequence[Placed]
    ) -> Candidate | Status:
        """Removes all, then lets back whom the pod leaves room for: first those it would be wrong to
        evict, the more important first."""
        for each in possible:
            trial.remove(each.pod.uid)
        if (status := trial.status()) is not None:
            return status
        reprieve = Reprieve(OnTrial(trial), self._gangs, one_by_one=True)
        gone = reprieve.victims(units(possible, self._gangs), self._disruptions)
        if not gone:
            return Status(Code.ERROR, (ALL_STAY.format(node_name),))
        elsewhere = [each for each in gone if each.row != row]
        for each in elsewhere:
            trial.remove(each.pod.uid)
        if elsewhere and (status := trial.status()) is not None:
            return status
        violations = len(reprieve.protected & {each.pod.uid for each in gone})
        return Candidate(row, tuple(_in_order(gone, possible)), violations)


class OnTrial:
    """The pod on the node: it fits as long as the filters say so."""

    def __init__(self, trial: Trial) -> None:
        self.remove = trial.remove
        self.put_back = trial.put_back
        self._status = trial.status

    def has_room(self, placed: Placed) -> bool:
        return True

    def fits(self) -> bool:
        return self._status() is None

    def settle(self) -> None:
        """It loses its place to nobody."""


def _in_order(gone: Sequence[Placed], possible: Sequence[Placed]) -> list[Placed]:
    """The most important first; equals of the node in its order, then those of other nodes by name."""
    turn = {each.pod.uid: number for number, each in enumerate(possible)}
    last = len(turn)
    return sorted(gone, key=lambda each: (*importance(each), turn.get(each.pod.uid, last), each.pod.key))
