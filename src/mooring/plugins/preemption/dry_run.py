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
from mooring.plugins.preemption.budgets import Budget, violating
from mooring.plugins.preemption.choice import Candidate

NO_VICTIMS_REASON = "No preemption victims found for incoming pod"
NO_VICTIMS = unresolvable(NO_VICTIMS_REASON)
ALL_STAY = 'expected at least one victim pod on node "{}"'


class DryRun:
    """Dry runs for one pod."""

    def __init__(self, handle: Handle, cycle: Cycle, pod: Pod, budgets: Sequence[Budget]) -> None:
        self._handle = handle
        self._cycle = cycle
        self._pod = pod
        self._budgets = budgets

    def on(self, row: int, node_name: str, placed: Sequence[Placed]) -> Candidate | Status:
        """The victims on a node, or why there is no use in any. `placed` has the most important first."""
        lower = [each for each in placed if each.pod.priority < self._pod.priority]
        if not lower:
            return NO_VICTIMS
        try:
            with self._handle.trial(self._cycle, self._pod, node_name) as trial:
                return self._victims(trial, row, node_name, lower)
        except PluginFailed as failure:
            return Status(Code.ERROR, (str(failure),))

    def _victims(self, trial: Trial, row: int, node_name: str, lower: Sequence[Placed]) -> Candidate | Status:
        """Removes all, then lets back whom the pod leaves room for: first those it would be wrong to
        evict, the more important first."""
        for each in lower:
            trial.remove(each.pod.uid)
        if (status := trial.status()) is not None:
            return status
        beyond = violating(lower, self._budgets)
        wrong = [each for each, is_beyond in zip(lower, beyond, strict=True) if is_beyond]
        right = [each for each, is_beyond in zip(lower, beyond, strict=True) if not is_beyond]
        wronged = {each.pod.uid for each in wrong if not self._stays(trial, each)}
        gone = wronged | {each.pod.uid for each in right if not self._stays(trial, each)}
        if not gone:
            return Status(Code.ERROR, (ALL_STAY.format(node_name),))
        victims = tuple(each for each in lower if each.pod.uid in gone)
        return Candidate(row, victims, len(wronged))

    def _stays(self, trial: Trial, placed: Placed) -> bool:
        trial.put_back(placed.pod.uid)
        if trial.status() is None:
            return True
        trial.remove(placed.pod.uid)
        return False
