"""Places: taken, reserved, permitted and handed on to be bound; or given back."""

from __future__ import annotations

import logging
from typing import Any

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.pod_patches import merge_patches
from mooring.engine.decisions import Bind, Nominate
from mooring.engine.outcomes import PLACED, WAITS_AT_PERMIT, Progress, Unfit
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import LONGEST_WAIT_S, Hold, PermitWait, Reserved, Settle
from mooring.engine.placement.fit_error import FitError, one_node
from mooring.engine.placement.placing import Choice
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code, Status
from mooring.model.objects import Pod

log = logging.getLogger("mooring.engine")

MISFIT = "lets pod {} take a place on node {}, where it does not fit: {}"
RESERVE_CODES = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})
PERMIT_CODES = RESERVE_CODES | {Code.WAIT}
PRE_FLIGHT_CODES = frozenset({Code.SKIP})


class Places:
    """Has pods take places and give them back. `settle` is told of pods that no longer wait at permit."""

    settle: Settle

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def take(self, attempt: Attempt, choice: Choice) -> Progress | Unfit:
        """Takes the place, and has the pod bound or wait at permit."""
        statement = Statement(self._parts.cluster)
        reserved = self.hold(attempt, choice, statement)
        if type(reserved) is Unfit:
            return reserved
        statement.commit()
        return self.let_go(attempt, reserved)

    def hold(self, attempt: Attempt, choice: Choice, statement: Statement) -> Reserved | Unfit:
        """Takes the place, reserves and asks for the permit. What is refused is undone."""
        parts, profile, pod_class = self._parts, attempt.profile, attempt.pod_class
        nodes, row = parts.cluster.nodes, choice.row
        node_name = nodes.names[row]
        if profile.shapes_pods and (refusal := self._shape(attempt, node_name)) is not None:
            return self._refused(node_name, refusal)
        pod, has_room = attempt.pod, pod_class.has_room
        if has_room is not None and not has_room(pod.spec, nodes, row):
            why = misfit(parts, attempt, row)
            if why is not None:
                return Unfit(why, nominated="")
        parts.stories.note(attempt, node_name)
        if choice.totals is not None:
            parts.scores[attempt.queued.pod.key] = choice.totals
        mark = 0 if pod_class.holds_freely else statement.checkpoint()
        statement.take(pod, node_name, row)
        if parts.nominator.node_by_uid:
            parts.nominator.remove(pod.metadata.uid)
        reserved = Reserved(attempt.queued, attempt.cycle, profile, pod, node_name, pod_class.patches)
        return reserved if pod_class.holds_freely else self._ask_or_undo(attempt, reserved, statement, mark)

    def _ask_or_undo(
        self, attempt: Attempt, reserved: Reserved, statement: Statement, mark: int
    ) -> Reserved | Unfit:
        try:
            refusal = self._ask(attempt, reserved, statement)
        except BaseException:
            self.unreserve(reserved)
            statement.roll_back(mark)
            raise
        if refusal is None:
            return reserved
        self.unreserve(reserved)
        statement.roll_back(mark)
        return self._refused(reserved.node_name, refusal)

    def _refused(self, node_name: str, status: Status) -> Unfit:
        return Unfit(one_node(self._parts.cluster.nodes, node_name, status), nominated="")

    def _ask(self, attempt: Attempt, reserved: Reserved, statement: Statement) -> Status | None:
        """Has plugins reserve and permit the place. Returns why one of them refuses it."""
        pod_class, node_name = attempt.pod_class, reserved.node_name
        if pod_class.reserves:
            statement.open()
            if (refusal := self._reserve(attempt, node_name)) is not None:
                return refusal
        if pod_class.permits:
            waits = self._permit(attempt, node_name)
            if isinstance(waits, Status):
                return waits
            reserved.waits = waits
        if pod_class.pre_flights:
            reserved.takes_long = self._pre_flight(attempt, node_name)
        return None

    def let_go(self, attempt: Attempt, reserved: Reserved, patch: dict[str, Any] | None = None) -> Progress:
        """Has a pod that holds its place bound, or wait at permit. `patch` is what is written with it, if
        that is known already."""
        if reserved.waits:
            return self._wait_at_permit(attempt, reserved)
        if reserved.takes_long:
            self._expect(attempt, reserved.node_name)
        try:
            attempt.decisions.append(self.bind(reserved, patch))
        except PluginFailed:
            self.give_back(reserved)
            raise
        if attempt.cycle.pods_to_activate:
            self._activate(attempt.cycle)
        return PLACED

    def _activate(self, cycle: Cycle) -> None:
        """Has the pods tried that plugins want tried now."""
        if answers.are_pods(cycle.pods_to_activate):
            self._parts.queue.activate(cycle.pods_to_activate, self._parts.now)
        cycle.pods_to_activate = ()

    def _shape(self, attempt: Attempt, node_name: str) -> Status | None:
        """The chosen node's fine-grained allocation, and the pod resized for it."""
        cycle = attempt.cycle
        for name, method, _ in attempt.profile.at("allocate"):
            node = self._parts.view.node(node_name)
            answer = answers.call(name, "allocate", method, cycle, attempt.pod, node)
            if (status := answers.status(name, "allocate", answer, RESERVE_CODES)) is not None:
                return status
        for name, method, _ in attempt.profile.at("resize_pod"):
            answer = answers.call(name, "resize_pod", method, cycle, attempt.pod, node_name)
            if type(answer) is Pod:
                attempt.pod = answers.same_pod(name, "resize_pod", attempt.pod, answer)
            elif (status := answers.status(name, "resize_pod", answer, RESERVE_CODES)) is not None:
                return status
        return None

    def _reserve(self, attempt: Attempt, node_name: str) -> Status | None:
        for name, method, _ in attempt.pod_class.reserves:
            answer = answers.call(name, "reserve", method, attempt.cycle, attempt.pod, node_name)
            if (status := answers.status(name, "reserve", answer, RESERVE_CODES)) is not None:
                return status
        return None

    def _permit(self, attempt: Attempt, node_name: str) -> dict[str, Hold] | Status:
        """The plugins that want the pod to wait, for how long at most, and what for."""
        waits: dict[str, Hold] = {}
        for name, method, _ in attempt.pod_class.permits:
            answer = answers.call(name, "permit", method, attempt.cycle, attempt.pod, node_name)
            status = answers.status(name, "permit", answer, PERMIT_CODES)
            if status is None:
                continue
            if status.code is not Code.WAIT:
                return status
            waits[name] = Hold(float(max(0.0, min(status.timeout_s, LONGEST_WAIT_S))), status.message)
        return waits

    def _pre_flight(self, attempt: Attempt, node_name: str) -> bool:
        """Whether some plugin has something to do before the bind. Those without are passed over then."""
        skipped = []
        for name, method, _ in attempt.pod_class.pre_flights:
            answer = answers.call(name, "pre_bind_pre_flight", method, attempt.cycle, attempt.pod, node_name)
            if answers.status(name, "pre_bind_pre_flight", answer, PRE_FLIGHT_CODES) is not None:
                skipped.append(name)
        attempt.cycle.skip_pre_bind = frozenset(skipped)
        return len(skipped) < len(attempt.pod_class.pre_flights)

    def _expect(self, attempt: Attempt, node_name: str) -> None:
        """Binding will take a while: others may know where the pod is to run."""
        pod = attempt.queued.pod
        if self._parts.tells_expectations and pod.status.nominated_node_name != node_name:
            attempt.decisions.append(Nominate(pod, node_name))

    def _wait_at_permit(self, attempt: Attempt, reserved: Reserved) -> Progress:
        if attempt.cycle.pods_to_activate:
            self._activate(attempt.cycle)
        now, uid = self._parts.now, reserved.pod.metadata.uid
        wait = self._parts.waiting[uid] = PermitWait(reserved, now, self.settle)
        self._parts.words.owe(uid, now)
        wait.expire(now)
        if uid in self._parts.waiting:
            self._expect(attempt, reserved.node_name)
        return WAITS_AT_PERMIT

    def bind(self, reserved: Reserved, patch: dict[str, Any] | None = None) -> Bind:
        """The pod's place is final as far as we are concerned: have it bound."""
        parts, pod = self._parts, reserved.pod
        uid = pod.metadata.uid
        if patch is None:
            wanting = reserved.patches
            patch = merge_patches(wanting, reserved.cycle, pod, reserved.node_name) if wanting else {}
        parts.queue.bound(uid)
        parts.binding[uid] = reserved
        profile, attempt = reserved.profile.name, reserved.cycle.attempt
        bind = Bind(reserved.queued.pod, reserved.node_name, profile, attempt, patch)
        return bind if parts.outside is None else parts.outside.binding(bind)

    # giving back

    def unreserve(self, reserved: Reserved) -> None:
        """Plugins forget what they set aside for the pod, the last first."""
        for name, method, _ in reversed(reserved.profile.at("unreserve")):
            try:
                method(reserved.cycle, reserved.pod, reserved.node_name)
            except BaseException as error:
                answers.raised(name, "unreserve", error)  # logged; the others still unreserve

    def give_back(self, reserved: Reserved) -> None:
        """Unreserves, and gives the place back."""
        with self._parts.cluster.statement() as statement:
            statement.open()
            self.unreserve(reserved)
            if reserved.pod.metadata.uid in self._parts.cluster.pods.by_uid:
                statement.give_back(reserved.pod.metadata.uid)


def misfit(parts: Parts, attempt: Attempt, row: int) -> FitError | None:
    """Why the pod does not fit where it is about to go, as the filter that counts says; None when it does.

    Plugins may have changed the pod since filters let the node pass, and some were shown another one than is
    charged to the node: nobody takes what is not there. PluginFailed when that is the doing of a plugin.
    """
    nodes, view, pod, counts = parts.cluster.nodes, parts.view, attempt.pod, attempt.pod_class.counts
    assert counts is not None
    status = counts.one(attempt.cycle, pod, view.view(row), nodes, view)
    if status is None:
        return None
    name = nodes.names[row]
    for point in ("resize_pod", "before_filter"):
        if hooks := attempt.profile.at(point):
            what = MISFIT.format(pod.key, name, status.message)
            raise answers.failed(hooks[-1].name, point, what)
    log.error("what is kept of %s is wrong: it does not fit on %s: %s", pod.key, name, status.message)
    parts.placer.forget()
    return one_node(nodes, name, status)
