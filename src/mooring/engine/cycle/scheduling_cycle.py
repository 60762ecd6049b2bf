"""The scheduling cycle of one pod: from the queue to a place, or to the reasons why there is none.

Runs to its end without waiting for anything; a pod that extenders have a say about is left to them on
the way. Whatever a plugin does wrong ends this one cycle with an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable

from mooring.engine.attempt import Attempt
from mooring.engine.cycle.failures import Failures
from mooring.engine.cycle.node_search import NodeSearch
from mooring.engine.cycle.places import Places
from mooring.engine.decisions import Decision
from mooring.engine.outcomes import PLACED, Failed, NoNodes, Outcome, Progress, Unfit, failure
from mooring.engine.parts import Parts
from mooring.engine.placement.fit_error import FitError
from mooring.engine.queue.queued_pod import QueuedPod

Step = Callable[[Attempt], Outcome]


class SchedulingCycle:
    """Decides about one pod at a time. Its parts serve gangs and extenders as well."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.failures = Failures(parts)
        self.places = Places(parts)
        self.search = NodeSearch(parts, self.failures)

    def begin(self, queued: QueuedPod) -> None:
        """An attempt at a pod begins."""

    def run(self, queued: QueuedPod, step: Step | None = None) -> list[Decision]:
        """One attempt, with everything it decides; with a step, one that goes on there, on the cluster as it
        is."""
        attempt = self.parts.attempt(queued)
        outcome: Outcome
        try:
            outcome = self.search.run(attempt, step or self._find_place)
        except Exception as error:
            outcome = failure(error)
        if outcome is not PLACED and not isinstance(outcome, Progress):
            self._give_up(attempt, outcome)
        return attempt.decisions

    def _find_place(self, attempt: Attempt) -> Outcome:
        """Looks for a place and takes it, unless extenders have to be asked first."""
        if (end := self.search.prepare(attempt)) is not None:
            return end
        parts = self.parts
        if parts.outside is not None and parts.outside.judge(attempt.pod):
            return parts.outside.begin(attempt)
        found = parts.placer.place(attempt)
        if isinstance(found, FitError):
            return self.failures.way_out(attempt, found)
        return self.places.take(attempt, found)

    def _give_up(self, attempt: Attempt, end: Unfit | NoNodes | Failed) -> None:
        if isinstance(end, Failed) and end.error is not None:
            if not self._clean_up(attempt, end):
                return
        elif not isinstance(end, Unfit):  # of which there is a note already
            self.parts.stories.note(attempt, "", end.message, end.plugin if isinstance(end, Failed) else "")
        attempt.decisions.append(self.failures.fail(attempt.queued, end))

    def _clean_up(self, attempt: Attempt, end: Failed) -> bool:
        """After what nobody foresaw: it costs the pod one cycle and nobody else anything. False: the pod had
        its place already."""
        parts, pod = self.parts, attempt.queued.pod
        uid = pod.metadata.uid
        end.log(pod.key)
        if uid in parts.binding or uid in parts.waiting:
            return False
        if uid in parts.cluster.pods.by_uid:
            with parts.cluster.statement() as statement:
                statement.give_back(uid)
        return True
