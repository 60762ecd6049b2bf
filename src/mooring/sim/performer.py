"""Carries out a scheduler's decisions in a world, one method for each kind, and reports back.

Whatever a decision is about may be gone by the time it is carried out, as in a real cluster: then
there is nothing to do, except that a bind must be reported as failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mooring.engine.cycle.event_words import waiting_words, words_of
from mooring.engine.decisions import (
    SCHEDULER_ERROR,
    SCHEDULING_GATED,
    Bind,
    Consult,
    Decision,
    Evict,
    Look,
    Nominate,
    Refuse,
    Wait,
)
from mooring.engine.events import BindFailed, Bound, Event, PodDeleted
from mooring.errors import ApiError, MooringError
from mooring.framework.api.writes import Write
from mooring.framework.running.binding import ENDED, Binder, BindingFailed, BindingState, run_binding
from mooring.model.objects import Pod, PodCondition
from mooring.model.updates import merged
from mooring.sim.history import History
from mooring.sim.world.binding_api import WorldApi, run_to_end
from mooring.sim.world.object_writes import carry_out
from mooring.sim.world.world import World

if TYPE_CHECKING:
    from mooring.sim.extender_calls import Extending


class Performer:
    """Does what is decided. `tell` takes what the scheduler has to know of it."""

    def __init__(
        self,
        world: World,
        history: History,
        tell: Callable[[Event], None],
        binding_state: Callable[[Bind], BindingState | None],
        extending: Extending | None = None,
    ) -> None:
        self.waits: dict[str, Wait] = {}  # uid to the last answer
        self.failures: dict[str, tuple[str, dict[str, None]]] = {}  # by plugin: its first, and of which pods
        self.patches: dict[str, dict[str, Any]] = {}  # pod key to all patches, merged
        self.api = WorldApi(world)
        self._world = world
        self._history = history
        self._tell = tell
        self._binding_state = binding_state
        self._extending = extending

    def perform(self, decision: Decision) -> None:
        match decision:
            case Bind():
                self.perform_bind(decision)
            case Consult():
                self.perform_consult(decision)
            case Wait():
                self.perform_wait(decision)
            case Evict():
                self.perform_evict(decision)
            case Nominate():
                self.perform_nominate(decision)
            case Write():
                self.perform_write(decision)
            case Look():
                self.perform_look(decision)
            case Refuse():
                self.perform_refuse(decision)

    def perform_bind(self, decision: Bind) -> None:
        """Runs the binding cycle: the plugins' pre-bind, one patch, the bind itself, post-bind."""
        pod, node, patch = decision.pod, decision.node, decision.patch
        try:
            binder = self._binder(decision)
            if (state := self._binding_state(decision)) is None:
                raise BindingFailed(ENDED)
            self.api.slept_s = 0.0
            run_to_end(run_binding(state.profile, state.cycle, pod, node, patch, self.api, binder))
        except MooringError as error:
            self._tell(BindFailed(pod, node, str(error)))
            return
        self._note_patch(pod.key, decision.patch)
        message = f"Successfully assigned {pod.key} to {node}"
        self._world.record("Normal", "Scheduled", "Binding", pod, message)
        self._tell(Bound(pod, node))

    def perform_consult(self, decision: Consult) -> None:
        assert self._extending is not None, "an engine with extenders needs somebody to ask them"
        self._tell(self._extending.ask(decision))

    def perform_wait(self, decision: Wait) -> None:
        pod = decision.pod
        self.waits[pod.uid] = decision
        if decision.reason == SCHEDULER_ERROR:
            for plugin in decision.plugins:
                self.failures.setdefault(plugin, (decision.message, {}))[1][pod.key] = None
        if not self._is_there(pod):
            return
        type_, reason = waiting_words(decision)
        self._world.record(type_, reason, "Scheduling", pod, decision.message)
        if decision.reason == SCHEDULING_GATED:
            return  # the world has the condition already
        why = PodCondition(
            type="PodScheduled", status="False", reason=decision.reason, message=decision.message
        )
        self._world.patch_status(pod.key, conditions=(why,), nominated=decision.nominated)

    def perform_refuse(self, decision: Refuse) -> None:
        self._world.record("Warning", "NotTakenIn", "TakingIn", decision.about, decision.message)

    def perform_evict(self, decision: Evict) -> None:
        """A pod that is on its way out already is left to go. Binding takes no time here, so there is never
        a bind to call off."""
        pod = decision.pod
        if not self._is_there(pod) or self._world.pods[pod.key].terminating:
            return
        by = self._world.pods.get(decision.by)
        words = words_of(decision, by.uid if by else decision.by, in_memory=decision.in_memory)
        if decision.in_memory:
            self._world.record("Normal", words.reason, words.action, pod, words.note)
            return
        why = PodCondition(
            type="DisruptionTarget", status="True", reason=decision.reason, message=decision.message
        )
        self._world.patch_status(pod.key, conditions=(why,))
        self._world.record("Normal", words.reason, words.action, pod, words.note)
        self._history.evict(pod)
        self._world.delete_pod(pod.key)

    def perform_nominate(self, decision: Nominate) -> None:
        if self._is_there(decision.pod):
            self._world.patch_status(decision.pod.key, nominated=decision.node)

    def perform_write(self, decision: Write) -> None:
        """What is there already, is gone, or is of a kind that is not installed is left as it is."""
        try:
            carry_out(self._world, decision)
        except ApiError:
            return
        if decision.kind == "Pod" and decision.verb == "patch":
            self._note_patch(decision.key, decision.body)

    def perform_look(self, decision: Look) -> None:
        pod = decision.pod
        self._tell(PodDeleted(self._world.pods[pod.key] if self._is_there(pod) else pod))

    def _binder(self, decision: Bind) -> Binder | None:
        if decision.extender is None or self._extending is None:
            return None
        return self._extending.binder(decision.extender, self.api)

    def _is_there(self, pod: Pod) -> bool:
        now = self._world.pods.get(pod.key)
        return now is not None and now.uid == pod.uid

    def _note_patch(self, key: str, patch: dict[str, Any]) -> None:
        if patch:
            self.patches[key] = merged(self.patches.get(key, {}), patch)
