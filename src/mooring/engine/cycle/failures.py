"""What becomes of a pod that gets no place: plugins are asked for a way out, then it waits in the queue."""

from __future__ import annotations

from typing import Any

from mooring.engine.attempt import Attempt
from mooring.engine.cycle.victims import evict_for_pod
from mooring.engine.decisions import SCHEDULER_ERROR, UNSCHEDULABLE, Wait
from mooring.engine.outcomes import PARKED, Failed, NoNodes, Progress, Unfit
from mooring.engine.parts import Parts
from mooring.engine.placement.fit_error import FitError, rejected_before
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api import answers
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.offers import Answered, Offer, is_sound
from mooring.framework.api.status import Code, Status
from mooring.framework.running.profile import Hook


class Failures:
    """Looks for ways out, and sends pods back to the queue."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def rejected(self, attempt: Attempt, status: Status) -> Unfit | Progress:
        """Looks for a way out for a pod that is refused before any node is asked."""
        return self.way_out(attempt, rejected_before(self._parts.cluster.nodes, status))

    def way_out(self, attempt: Attempt, why: FitError) -> Unfit | Progress:
        """Asks the post-filters for a way out. Parked when extenders have to be asked about it first."""
        if attempt.together:
            return Unfit(why)  # a way out is looked for once all of them are tried
        hooks = attempt.profile.at("post_filter")
        nominated: str | None = None if hooks else ""
        reasons: list[str] = []
        if (settled := attempt.settled) is not None:  # those before it have spoken already
            reasons += settled.reasons
            hooks = hooks[[hook.name for hook in hooks].index(settled.plugin) :]
        status: Status | None = None
        for hook in hooks:
            answer = self._ask(attempt, hook, why, reasons)
            if type(answer) is Progress:
                return PARKED
            if type(answer) is PostFilterResult:
                nominated = answer.nominated if answer.nominated is not None else nominated
                if answer.status is None:
                    attempt.decisions.extend(
                        evict_for_pod(self._parts, hook.name, attempt.queued.pod, answer)
                    )
                    reasons, status = [], None
                    break
                answer = answer.status
            status = answers.status(hook.name, "post_filter", answer)
            if status is not None:
                reasons.extend(status.reasons)
                if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                    break
        return self._no_place(attempt, Unfit(why, why.message(", ".join(reasons)), nominated), status)

    def _no_place(self, attempt: Attempt, unfit: Unfit, status: Status | None) -> Unfit:
        for name, method, _ in attempt.profile.at("after_post_filter"):
            about = attempt.cycle, attempt.pod, unfit.why.statuses, status
            answers.call(name, "after_post_filter", method, *about)
        self._parts.stories.note(attempt, "", unfit.message)
        return unfit

    def _ask(self, attempt: Attempt, hook: Hook, why: FitError, reasons: list[str]) -> Any:
        """What a post-filter answers, once extenders have had their say; PARKED until then."""
        name, about = hook.name, (attempt.cycle, attempt.pod, why.statuses)
        settled = attempt.settled
        if settled is not None and settled.plugin == name:
            answer = answers.call(name, "post_filter", settled.settle, *about, settled.answered)
        else:
            answer = answers.call(name, "post_filter", hook.method, *about)
            if type(answer) is Offer:
                if self._is_offered(attempt, name, answer, reasons):
                    return PARKED
                everything = Answered(answer.rooms, answer.rooms)
                answer = answers.call(name, "post_filter", answer.settle, *about, everything)
        if type(answer) is PostFilterResult:
            nodes = self._parts.cluster.nodes.rows
            answer = answers.call(name, "post_filter", answers.way_out, name, answer, nodes)
        return answer

    def _is_offered(self, attempt: Attempt, plugin: str, offer: Offer, reasons: list[str]) -> bool:
        """Whether extenders are asked about room that could be made."""
        if not is_sound(offer):
            what = f"returned {answers.shown(offer)}, which offers no room"
            raise answers.failed(plugin, "post_filter", what)
        outside = self._parts.outside
        return outside is not None and outside.offer(attempt, plugin, offer, reasons)

    def fail(self, queued: QueuedPod, end: Unfit | NoNodes | Failed) -> Wait:
        """The pod goes back to the queue with what is known of why. A plugin that failed rejects nothing,
        so no event can help: the pod is tried again after its back-off."""
        parts, pod = self._parts, queued.pod
        unfit = end if type(end) is Unfit else None
        queued.unschedulable_plugins = unfit.why.plugins if unfit else frozenset()
        queued.pending_plugins = unfit.why.pending_plugins if unfit else frozenset()
        parts.queue.failed(queued, parts.now)
        nominated = unfit.nominated if unfit else ""
        if nominated is not None:
            parts.nominator.nominate(pod, nominated)
        blamed = end.plugin if type(end) is Failed else ""
        plugins = (blamed,) if blamed else tuple(sorted(queued.rejectors))
        reason = SCHEDULER_ERROR if type(end) is Failed else UNSCHEDULABLE
        wait = Wait(pod, reason, end.message, plugins, nominated)
        parts.stories.undone(pod, wait.message)
        return parts.words.said(wait, parts.now)
