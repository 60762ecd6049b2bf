"""The scheduling cycle of one pod: from the queue to a place, or to the reasons why there is none.

Runs to its end without waiting for anything; a pod that extenders have a say about is left to them on
the way. Whatever a plugin does wrong ends this one cycle with an error that names it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.last_check import misfit
from mooring.engine.cycle.permit_waiting import LONGEST_WAIT_S, PermitWait, Reserved
from mooring.engine.cycle.pod_patches import merge_patches
from mooring.engine.cycle.pre_filtering import PreFilter, pre_filter, transform
from mooring.engine.cycle.sessions import close_session, open_session, refusal
from mooring.engine.cycle.victims import evict_for_pod
from mooring.engine.decisions import SCHEDULER_ERROR, UNSCHEDULABLE, Bind, Decision, Nominate, Wait
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.fit_error import NO_NODES, FitError, one_node, rejected_before
from mooring.engine.placement.placing import Choice, Narrowed
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.story import NARROWED
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.offers import Answered, Offer, is_sound
from mooring.framework.api.status import Code, Status
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

log = logging.getLogger("mooring.engine")

WENT_WRONG = "deciding about the pod went wrong"
RESERVE_CODES = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})
Step = Callable[[Attempt], None]
PERMIT_CODES = RESERVE_CODES | {Code.WAIT}
PRE_FLIGHT_CODES = frozenset({Code.SKIP})


class Unfit(Exception):
    """The pod fits nowhere. Ends the cycle; not an error.

    Who raises it has no name for it, and who keeps it takes its traceback off: else it holds the frames that
    hold it, and everything an attempt knows stays until cycles are looked for.
    """

    def __init__(self, why: FitError, message: str | None = None, nominated: str | None = None) -> None:
        super().__init__()
        self.why = why
        self.message = why.message() if message is None else message
        self.nominated = nominated


class NoNodes(Exception):
    """There is no node at all."""


class Parked(Exception):
    """The pod waits for extenders, and goes on when they have answered."""


class SchedulingCycle:
    """Decides about one pod at a time, on behalf of the engine."""

    def __init__(self, engine: Engine, pre_filter: PreFilter = pre_filter) -> None:
        self._engine = engine
        self._pre_filter = pre_filter

    def begin(self, queued: QueuedPod) -> None:
        """An attempt at a pod begins."""

    def run(self, queued: QueuedPod, now: float, step: Step | None = None) -> list[Decision]:
        """One attempt, with everything it decides; with a step, one that goes on there, on the cluster as it
        is. Whatever ends the cycle is told."""
        engine = self._engine
        profile = engine.profiles[queued.pod.spec.scheduler_name]
        engine.attempts = number = engine.attempts + 1
        attempt = Attempt(queued, profile, Cycle(profile.name, now, number), queued.pod)
        try:
            self.take_step(attempt, step or self._search)
        except Parked:
            pass
        except Unfit as unfit:
            attempt.decisions.append(self.fail(queued, now, unfit.message, unfit.why, unfit.nominated))
        except NoNodes:
            self._engine.stories.note(attempt, "", NO_NODES)
            attempt.decisions.append(self.fail(queued, now, NO_NODES, None, "", reason=UNSCHEDULABLE))
        except PluginFailed as failure:
            self._engine.stories.note(attempt, "", str(failure), failure.plugin)
            attempt.decisions.append(self.fail(queued, now, str(failure), None, "", blamed=failure.plugin))
        except Exception as error:
            self._went_wrong(attempt, error)
        return attempt.decisions

    def _went_wrong(self, attempt: Attempt, error: Exception) -> None:
        """Nobody foresaw this. It costs the pod one cycle and nobody else anything."""
        engine, queued = self._engine, attempt.queued
        uid = queued.pod.metadata.uid
        log.error("deciding about %s went wrong", queued.pod.key, exc_info=error)
        if uid in engine.binding or uid in engine.waiting:
            return  # it had its place already
        if uid in engine.cluster.pods.by_uid:
            with engine.cluster.statement() as statement:
                statement.give_back(uid)
        message = answers.clipped(f"{WENT_WRONG}: {answers.words_of(error)}")
        attempt.decisions.append(self.fail(queued, engine.now, message, None, ""))

    def take_step(self, attempt: Attempt, step: Step) -> None:
        engine, profile = self._engine, attempt.profile
        if not engine.cluster.nodes.rows:
            raise NoNodes
        if profile.ledgers:
            profile.begin(attempt.cycle, attempt.queued.pod)
        if profile.transforms_pods:
            self._transform(attempt)
        if not profile.opens_sessions:
            step(attempt)
            return
        try:
            open_session(engine, attempt)
            step(attempt)
        finally:
            close_session(engine, attempt)

    # choosing

    def _transform(self, attempt: Attempt) -> None:
        changed = transform(attempt.profile, attempt.cycle, attempt.pod)
        if isinstance(changed, Status):
            self.not_placed(attempt, self.rejected(changed))
        else:
            attempt.pod = changed

    def _search(self, attempt: Attempt) -> None:
        """Looks for a place and takes it, unless extenders have to be asked first."""
        engine = self._engine
        narrowed = self.prepare(attempt)
        if engine.extenders is not None and engine.extenders.judge(attempt.pod):
            engine.extenders.begin(attempt, narrowed)
            return
        assert attempt.pod_class is not None
        found = engine.placer.place(attempt.pod_class, attempt.cycle, attempt.pod, narrowed, attempt.session)
        if isinstance(found, FitError):
            self.not_placed(attempt, found)
        self.take(attempt, found)

    def prepare(self, attempt: Attempt) -> Narrowed | None:
        """Everything before nodes are asked: the pod's class, pre-filters. Returns the only nodes to ask."""
        if attempt.profile.ledgers:
            attempt.profile.begin(attempt.cycle, attempt.queued.pod)
        classes = self._engine.classes[attempt.profile.name]
        attempt.pod_class = pod_class = classes.of(attempt.pod)
        narrowed = None if pod_class.goes_straight_on else self._narrow(attempt, pod_class)
        if attempt.session is not None and (status := refusal(attempt.session)) is not None:
            self.not_placed(attempt, self.rejected(status))
        return narrowed

    def _narrow(self, attempt: Attempt, pod_class: PodClass) -> Narrowed | None:
        """The only nodes to ask, as the pre-filters say."""
        before = self._pre_filter(pod_class, attempt.cycle, attempt.pod)
        if before.rejection is not None:
            why = self.rejected(before.rejection)
            if before.plugins:
                why = msgspec.structs.replace(why, plugins=why.plugins | frozenset(before.plugins))
            self.not_placed(attempt, why)
        if before.narrowed is not None:
            attempt.cycle.write(NARROWED, before.narrowed)
        return before.narrowed

    def rejected(self, status: Status) -> FitError:
        return rejected_before(self._engine.cluster.nodes, status)

    def not_placed(self, attempt: Attempt, why: FitError) -> NoReturn:
        """Asks the post-filters for a way out, and ends the cycle."""
        cycle, pod, profile = attempt.cycle, attempt.pod, attempt.profile
        if attempt.together:
            raise Unfit(why)  # a way out is looked for once all of them are tried
        hooks = list(profile.at("post_filter"))
        nominated: str | None = None if hooks else ""
        reasons: list[str] = []
        if (settled := attempt.settled) is not None:  # those before it have spoken already
            reasons += settled.reasons
            hooks = hooks[[hook.name for hook in hooks].index(settled.plugin) :]
        status: Status | None = None
        nodes = self._engine.cluster.nodes.rows
        for name, method, _ in hooks:
            answer = self._way_out(attempt, name, method, why, reasons)
            if type(answer) is PostFilterResult:
                answer = answers.call(name, "post_filter", answers.way_out, name, answer, nodes)
                nominated = answer.nominated if answer.nominated is not None else nominated
                if answer.status is None:
                    attempt.decisions.extend(evict_for_pod(self._engine, name, attempt.queued.pod, answer))
                    reasons, status = [], None
                    break
                answer = answer.status
            status = answers.status(name, "post_filter", answer)
            if status is not None:
                reasons.extend(status.reasons)
                if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                    break
        for name, method, _ in profile.at("after_post_filter"):
            answers.call(name, "after_post_filter", method, cycle, pod, why.statuses, status)
        message = why.message(", ".join(reasons))
        self._engine.stories.note(attempt, "", message)
        raise Unfit(why, message, nominated)

    def _way_out(
        self, attempt: Attempt, name: str, method: Callable[..., Any], why: FitError, reasons: list[str]
    ) -> Any:
        """What a post-filter answers. Parked when extenders have to be asked about it first."""
        about = attempt.cycle, attempt.pod, why.statuses
        settled = attempt.settled
        if settled is not None and settled.plugin == name:
            return answers.call(name, "post_filter", settled.settle, *about, settled.answered)
        answer = answers.call(name, "post_filter", method, *about)
        if type(answer) is not Offer:
            return answer
        if not is_sound(answer):
            what = f"returned {answers.shown(answer)}, which offers no room"
            raise answers.failed(name, "post_filter", what)
        extenders = self._engine.extenders
        if extenders is not None and extenders.offer(attempt, name, answer, reasons):
            raise Parked
        everything = Answered(answer.rooms, answer.rooms)
        return answers.call(name, "post_filter", answer.settle, *about, everything)

    # taking the place

    def take(self, attempt: Attempt, choice: Choice) -> None:
        statement = Statement(self._engine.cluster)
        reserved = self.hold(attempt, choice, statement)
        statement.commit()
        self.let_go(attempt, reserved)

    def _refuse_misfit(self, attempt: Attempt, row: int) -> None:
        assert attempt.pod_class is not None
        assert attempt.pod_class.counts is not None
        why = misfit(self._engine, attempt, row, attempt.pod_class.counts)
        if why is not None:
            raise Unfit(why, nominated="")

    def hold(self, attempt: Attempt, choice: Choice, statement: Statement) -> Reserved:
        """Takes the place, reserves and asks for the permit. What is refused is undone."""
        engine, profile, pod_class = self._engine, attempt.profile, attempt.pod_class
        assert pod_class is not None
        nodes, row = engine.cluster.nodes, choice.row
        node_name = nodes.object_at(row).metadata.name
        if profile.shapes_pods:
            self._shape(attempt, node_name)
        pod, has_room = attempt.pod, pod_class.has_room
        if has_room is not None and not has_room(pod.spec, nodes, row):
            self._refuse_misfit(attempt, row)
        engine.stories.note(attempt, node_name)
        if choice.totals is not None:
            engine.scores[attempt.queued.pod.key] = choice.totals
        mark = 0 if pod_class.holds_freely else statement.checkpoint()
        statement.take(pod, node_name, row)
        if engine.nominator.node_by_uid:
            engine.nominator.remove(pod.metadata.uid)
        reserved = Reserved(attempt.queued, attempt.cycle, profile, pod, node_name, pod_class.patches)
        if pod_class.holds_freely:
            return reserved
        try:
            if pod_class.reserves:
                statement.open()
                self._reserve(attempt, pod_class, node_name)
            if pod_class.permits:
                reserved.waits = self._permit(attempt, pod_class, node_name)
            if pod_class.pre_flights:
                reserved.takes_long = self._pre_flight(attempt, pod_class, node_name)
        except BaseException:
            self.unreserve(reserved)
            statement.roll_back(mark)
            raise
        return reserved

    def let_go(self, attempt: Attempt, reserved: Reserved, patch: dict[str, Any] | None = None) -> None:
        """Has a pod that holds its place bound, or wait at permit. `patch` is what is written with it, if
        that is known already."""
        engine, cycle = self._engine, attempt.cycle
        if not reserved.waits:
            if reserved.takes_long:
                self._expect(attempt, reserved.node_name)
            try:
                attempt.decisions.append(self.bind(reserved, patch))
            except PluginFailed:
                self.give_back(reserved)
                raise
        if cycle.pods_to_activate:
            if answers.are_pods(cycle.pods_to_activate):
                engine.queue.activate(cycle.pods_to_activate, engine.now)
            cycle.pods_to_activate = ()
        if reserved.waits:
            self._wait_at_permit(reserved)
            if reserved.pod.metadata.uid in engine.waiting:
                self._expect(attempt, reserved.node_name)

    def _shape(self, attempt: Attempt, node_name: str) -> None:
        """The chosen node's fine-grained allocation, and the pod resized for it."""
        cycle = attempt.cycle
        for name, method, _ in attempt.profile.at("allocate"):
            answer = answers.call(
                name, "allocate", method, cycle, attempt.pod, self._engine.view.node(node_name)
            )
            self._must_pass(answers.status(name, "allocate", answer, RESERVE_CODES), node_name)
        for name, method, _ in attempt.profile.at("resize_pod"):
            answer = answers.call(name, "resize_pod", method, cycle, attempt.pod, node_name)
            if type(answer) is Pod:
                attempt.pod = answers.same_pod(name, "resize_pod", attempt.pod, answer)
            else:
                self._must_pass(answers.status(name, "resize_pod", answer, RESERVE_CODES), node_name)

    def _reserve(self, attempt: Attempt, pod_class: PodClass, node_name: str) -> None:
        for name, method, _ in pod_class.reserves:
            answer = answers.call(name, "reserve", method, attempt.cycle, attempt.pod, node_name)
            self._must_pass(answers.status(name, "reserve", answer, RESERVE_CODES), node_name)

    def _permit(self, attempt: Attempt, pod_class: PodClass, node_name: str) -> dict[str, float]:
        """The plugins that want the pod to wait, and for how long at most."""
        waits: dict[str, float] = {}
        for name, method, _ in pod_class.permits:
            answer = answers.call(name, "permit", method, attempt.cycle, attempt.pod, node_name)
            status = answers.status(name, "permit", answer, PERMIT_CODES)
            if status is not None and status.code is Code.WAIT:
                waits[name] = float(max(0.0, min(status.timeout_s, LONGEST_WAIT_S)))
            else:
                self._must_pass(status, node_name)
        return waits

    def _pre_flight(self, attempt: Attempt, pod_class: PodClass, node_name: str) -> bool:
        """Whether some plugin has something to do before the bind. Those without are passed over then."""
        skipped = []
        for name, method, _ in pod_class.pre_flights:
            answer = answers.call(name, "pre_bind_pre_flight", method, attempt.cycle, attempt.pod, node_name)
            if answers.status(name, "pre_bind_pre_flight", answer, PRE_FLIGHT_CODES) is not None:
                skipped.append(name)
        attempt.cycle.skip_pre_bind = frozenset(skipped)
        return len(skipped) < len(pod_class.pre_flights)

    def _expect(self, attempt: Attempt, node_name: str) -> None:
        """Binding will take a while: others may know where the pod is to run."""
        pod = attempt.queued.pod
        if self._engine.tells_expectations and pod.status.nominated_node_name != node_name:
            attempt.decisions.append(Nominate(pod, node_name))

    def _must_pass(self, status: Status | None, node_name: str) -> None:
        if status is not None:
            raise Unfit(one_node(self._engine.cluster.nodes, node_name, status), nominated="")

    def _wait_at_permit(self, reserved: Reserved) -> None:
        now, uid = self._engine.now, reserved.pod.metadata.uid
        until = {plugin: (now + timeout_s, timeout_s) for plugin, timeout_s in reserved.waits.items()}
        wait = self._engine.waiting[uid] = PermitWait(reserved, until, self._engine.settle)
        wait.expire(now)

    def bind(self, reserved: Reserved, patch: dict[str, Any] | None = None) -> Bind:
        """The pod's place is final as far as we are concerned: have it bound."""
        engine, pod = self._engine, reserved.pod
        uid = pod.metadata.uid
        if patch is None:
            wanting = reserved.patches
            patch = merge_patches(wanting, reserved.cycle, pod, reserved.node_name) if wanting else {}
        engine.queue.bound(uid)
        engine.binding[uid] = reserved
        profile, attempt = reserved.profile.name, reserved.cycle.attempt
        bind = Bind(reserved.queued.pod, reserved.node_name, profile, attempt, patch)
        return bind if engine.extenders is None else engine.extenders.binding(bind)

    # giving up

    def unreserve(self, reserved: Reserved) -> None:
        """Plugins forget what they set aside for the pod, the last first."""
        for name, method, _ in reversed(reserved.profile.at("unreserve")):
            try:
                method(reserved.cycle, reserved.pod, reserved.node_name)
            except BaseException as error:
                answers.raised(name, "unreserve", error)  # logged; the others still unreserve

    def give_back(self, reserved: Reserved) -> None:
        """Unreserves, and gives the place back."""
        with self._engine.cluster.statement() as statement:
            statement.open()
            self.unreserve(reserved)
            if reserved.pod.metadata.uid in self._engine.cluster.pods.by_uid:
                statement.give_back(reserved.pod.metadata.uid)

    def fail(
        self,
        queued: QueuedPod,
        now: float,
        message: str,
        why: FitError | None,
        nominated: str | None,
        *,
        reason: str = "",
        blamed: str = "",
    ) -> Wait:
        """The pod goes back to the queue with what is known of why. `blamed` is a plugin that failed:
        it rejects nothing, so no event can help; the pod is tried again after its back-off."""
        engine = self._engine
        queued.unschedulable_plugins = why.plugins if why else frozenset()
        queued.pending_plugins = why.pending_plugins if why else frozenset()
        engine.queue.failed(queued, now)
        engine.stories.undone(queued.pod, message)
        if nominated is not None:
            engine.nominator.nominate(queued.pod, nominated)
        reason = reason or (UNSCHEDULABLE if why else SCHEDULER_ERROR)
        plugins = (blamed,) if blamed else tuple(sorted(queued.rejectors))
        return Wait(queued.pod, reason, message, plugins, nominated)
