"""The scheduling cycle of one pod: from the queue to a place, or to the reasons why there is none.

Runs to its end without waiting for anything. Whatever a plugin does wrong ends this one cycle with
an error that names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mooring.engine.classes import PodClass
from mooring.engine.decisions import SCHEDULER_ERROR, UNSCHEDULABLE, Bind, Decision, Evict, Wait
from mooring.engine.fit_error import NO_NODES, FitError, one_node, rejected_before
from mooring.engine.full import session_of
from mooring.engine.patches import merge_patches
from mooring.engine.placing import Choice
from mooring.engine.pre_filtering import pre_filter, transform
from mooring.engine.queued import QueuedPod
from mooring.engine.story import Note
from mooring.engine.waiting import LONGEST_WAIT_S, PermitWait, Reserved
from mooring.errors import PluginFailed
from mooring.framework import answers
from mooring.framework.answers import PostFilterResult
from mooring.framework.cycle import Cycle
from mooring.framework.profile import Profile
from mooring.framework.session import Session
from mooring.framework.status import Code, Status
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

RESERVE_CODES = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})
PERMIT_CODES = RESERVE_CODES | {Code.WAIT}


class Unfit(Exception):
    """The pod fits nowhere. Ends the cycle; not an error."""

    def __init__(self, why: FitError, post_filter: str = "", nominated: str | None = None) -> None:
        super().__init__()
        self.why = why
        self.message = why.message(post_filter)
        self.nominated = nominated


class NoNodes(Exception):
    """There is no node at all."""


class SchedulingCycle:
    """Decides about one pod at a time, on behalf of the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(self, queued: QueuedPod, now: float) -> list[Decision]:
        """One attempt, with everything it decides."""
        engine = self._engine
        profile = engine.profiles[queued.pod.spec.scheduler_name]
        cycle = Cycle(profile.name, now)
        decisions: list[Decision] = []
        try:
            self._attempt(queued, profile, cycle, decisions)
        except Unfit as unfit:
            decisions.append(self.fail(queued, now, unfit.message, unfit.why, unfit.nominated))
        except NoNodes:
            decisions.append(self.fail(queued, now, NO_NODES, None, "", reason=UNSCHEDULABLE))
        except PluginFailed as failure:
            decisions.append(self.fail(queued, now, str(failure), None, ""))
        return decisions

    def _attempt(self, queued: QueuedPod, profile: Profile, cycle: Cycle, decisions: list[Decision]) -> None:
        engine = self._engine
        if not engine.cluster.nodes.rows:
            raise NoNodes
        pod = queued.pod
        if profile.at("before_pre_filter"):
            changed = transform(profile, cycle, pod)
            if isinstance(changed, Status):
                self._not_placed(queued, profile, cycle, self._rejected(changed), decisions)
            else:
                pod = changed
        session = self._open_session(profile, pod, cycle.now)
        try:
            pod_class = engine.classes[profile.name].of(pod)
            choice = self._choose(queued, pod_class, cycle, pod, session, decisions)
            self._take(queued, profile, cycle, pod, pod_class, choice, decisions)
        finally:
            self._close_session(profile, session)

    # choosing

    def _choose(
        self, queued: QueuedPod, pod_class: PodClass, cycle: Cycle, pod: Pod, session: Session | None,
        decisions: list[Decision],
    ) -> Choice:  # fmt: skip
        engine, profile = self._engine, pod_class.profile
        before = pre_filter(pod_class, cycle, pod)
        if before.rejection is not None:
            why = self._rejected(before.rejection)
            if before.plugins:
                why = msgspec.structs.replace(why, plugins=why.plugins | frozenset(before.plugins))
            self._not_placed(queued, profile, cycle, why, decisions, pod_class)
        if session and session.hooks.has("pre_predicate"):
            self._pre_predicate(queued, profile, cycle, session, decisions)
        found = engine.placer.place(pod_class, cycle, pod, before.narrowed, session)
        if isinstance(found, FitError):
            self._not_placed(queued, profile, cycle, found, decisions, pod_class)
        assert isinstance(found, Choice)
        return found

    def _rejected(self, status: Status) -> FitError:
        return rejected_before(self._engine.cluster.nodes, status)

    def _pre_predicate(
        self, queued: QueuedPod, profile: Profile, cycle: Cycle, session: Session, decisions: list[Decision]
    ) -> None:
        job = session.jobs[0]
        answer = answers.call("session", "pre_filter", session.hooks.ask, "pre_predicate", job.tasks[0], job)
        if isinstance(answer, Status):
            why = self._rejected(answer if answer.plugin else answer.by("session"))
            self._not_placed(queued, profile, cycle, why, decisions)

    def _not_placed(
        self, queued: QueuedPod, profile: Profile, cycle: Cycle, why: FitError, decisions: list[Decision],
        pod_class: PodClass | None = None,
    ) -> None:  # fmt: skip
        """Asks the post-filters for a way out, and ends the cycle."""
        engine = self._engine
        nominated: str | None = None
        reasons: list[str] = []
        status: Status | None = None
        hooks = profile.at("post_filter")
        if not hooks:
            nominated = ""
        for name, method, _ in hooks:
            answer = answers.call(name, "post_filter", method, cycle, queued.pod, why.statuses)
            if isinstance(answer, PostFilterResult):
                nominated = answer.nominated if answer.nominated is not None else nominated
                decisions.extend(self._evictions(queued.pod, answer))
                reasons, status = [], None
                break
            status = answers.status(name, "post_filter", answer)
            if status is not None:
                reasons.extend(status.reasons)
                if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                    break
        for name, method, _ in profile.at("after_post_filter"):
            answers.call(name, "after_post_filter", method, cycle, queued.pod, why.statuses, status)
        unfit = Unfit(why, ", ".join(reasons), nominated)
        if pod_class is not None:
            position = engine.cluster.history.position
            engine.stories.note(Note(queued.pod, pod_class, cycle, position, "", unfit.message))
        raise unfit

    def _evictions(self, pod: Pod, result: PostFilterResult) -> list[Evict]:
        message = f"{pod.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        with self._engine.cluster.statement() as statement:
            for victim in result.victims:
                statement.evict(victim.metadata.uid)
        return [Evict(victim, pod.key, "PreemptionByScheduler", message) for victim in result.victims]

    # taking the place

    def _take(
        self, queued: QueuedPod, profile: Profile, cycle: Cycle, pod: Pod, pod_class: PodClass, choice: Choice,
        decisions: list[Decision],
    ) -> None:  # fmt: skip
        engine = self._engine
        node_name = engine.cluster.nodes.object_at(choice.row).metadata.name
        pod = self._shaped(profile, cycle, pod, node_name)
        engine.stories.note(Note(queued.pod, pod_class, cycle, engine.cluster.history.position, node_name))
        if choice.totals is not None:
            engine.scores[queued.pod.key] = choice.totals
        with engine.cluster.statement() as statement:
            statement.take(pod, node_name)
        engine.nominator.remove(pod.metadata.uid)
        reserved = Reserved(queued, cycle, profile, pod, node_name)
        waits: dict[str, Status] = {}
        try:
            self._reserve(profile, cycle, pod, node_name)
            waits = self._permit(profile, cycle, pod, node_name)
        except (Unfit, PluginFailed):
            self.give_back(reserved)
            raise
        if cycle.pods_to_activate:
            engine.queue.activate(cycle.pods_to_activate, cycle.now)
            cycle.pods_to_activate = []
        if waits:
            until = {
                plugin: (cycle.now + min(status.timeout_s, LONGEST_WAIT_S), status.timeout_s)
                for plugin, status in waits.items()
            }
            engine.waiting[pod.metadata.uid] = PermitWait(reserved, until, engine.settle)
            engine.waiting[pod.metadata.uid].expire(cycle.now)
        else:
            decisions.append(self.bind(reserved))

    def _shaped(self, profile: Profile, cycle: Cycle, pod: Pod, node_name: str) -> Pod:
        """The chosen node's fine-grained allocation, and the pod resized for it."""
        for name, method, _ in profile.at("allocate"):
            node = self._engine.view.node(node_name)
            answer = answers.call(name, "allocate", method, cycle, pod, node)
            self._must_pass(answers.status(name, "allocate", answer, RESERVE_CODES), node_name)
        for name, method, _ in profile.at("resize_pod"):
            answer = answers.call(name, "resize_pod", method, cycle, pod, node_name)
            if isinstance(answer, Pod):
                pod = answer
            else:
                self._must_pass(answers.status(name, "resize_pod", answer, RESERVE_CODES), node_name)
        return pod

    def _reserve(self, profile: Profile, cycle: Cycle, pod: Pod, node_name: str) -> None:
        for name, method, _ in profile.at("reserve"):
            answer = answers.call(name, "reserve", method, cycle, pod, node_name)
            self._must_pass(answers.status(name, "reserve", answer, RESERVE_CODES), node_name)

    def _permit(self, profile: Profile, cycle: Cycle, pod: Pod, node_name: str) -> dict[str, Status]:
        """The plugins that want the pod to wait."""
        waits: dict[str, Status] = {}
        for name, method, _ in profile.at("permit"):
            answer = answers.call(name, "permit", method, cycle, pod, node_name)
            status = answers.status(name, "permit", answer, PERMIT_CODES)
            if status is not None and status.code is Code.WAIT:
                waits[name] = status
            else:
                self._must_pass(status, node_name)
        return waits

    def _must_pass(self, status: Status | None, node_name: str) -> None:
        if status is not None:
            raise Unfit(one_node(self._engine.cluster.nodes, node_name, status), nominated="")

    def bind(self, reserved: Reserved) -> Bind:
        """The pod's place is final as far as we are concerned: have it bound."""
        engine, pod = self._engine, reserved.pod
        patch = merge_patches(reserved.profile, reserved.cycle, pod, reserved.node_name)
        engine.queue.bound(pod.metadata.uid)
        engine.binding[pod.metadata.uid] = reserved
        return Bind(reserved.queued.pod, reserved.node_name, reserved.profile, reserved.cycle, patch)

    # giving up

    def give_back(self, reserved: Reserved) -> None:
        """Unreserves, last first, and gives the place back."""
        for name, method, _ in reversed(reserved.profile.at("unreserve")):
            try:
                method(reserved.cycle, reserved.pod, reserved.node_name)
            except Exception as error:
                answers.raised(name, "unreserve", error)  # logged; the others still unreserve
        if reserved.pod.metadata.uid in self._engine.cluster.pods.by_uid:
            with self._engine.cluster.statement() as statement:
                statement.give_back(reserved.pod.metadata.uid)

    def fail(
        self, queued: QueuedPod, now: float, message: str, why: FitError | None, nominated: str | None,
        *, reason: str = "",
    ) -> Wait:  # fmt: skip
        """The pod goes back to the queue with what is known of why."""
        engine = self._engine
        queued.unschedulable_plugins = why.plugins if why else frozenset()
        queued.pending_plugins = why.pending_plugins if why else frozenset()
        engine.queue.failed(queued, now)
        if nominated is not None:
            engine.nominator.nominate(queued.pod, nominated)
        reason = reason or (UNSCHEDULABLE if why else SCHEDULER_ERROR)
        plugins = tuple(sorted(queued.rejectors))
        return Wait(queued.pod, reason, message, plugins, nominated)

    # sessions

    def _open_session(self, profile: Profile, pod: Pod, now: float) -> Session | None:
        hooks = profile.at("on_session_open")
        if not hooks:
            return None
        session = session_of(self._engine.view, pod, now)
        for name, method, _ in hooks:
            answers.call(name, "on_session_open", method, session)
        self._engine.observe(session)
        return session

    def _close_session(self, profile: Profile, session: Session | None) -> None:
        if session is None:
            return
        self._engine.observe(None)
        for name, method, _ in profile.at("on_session_close"):
            answers.call(name, "on_session_close", method, session)
