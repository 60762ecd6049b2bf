"""The scheduling cycle of a group: all of its pods are tried, and either enough get a place or none does.

Every place is taken in one statement, so that each member is tried with the others where they would be.
Only when a member is let go on by the plugin that has the group are the places kept and pods bound; else
the statement is rolled back, and nothing is left of the attempt but one message that says what is missing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.engine.attempt import Attempt
from mooring.engine.cycle.permit_waiting import Reserved
from mooring.engine.cycle.pod_patches import merge_patches
from mooring.engine.cycle.scheduling_cycle import WENT_WRONG, NoNodes, Unfit
from mooring.engine.decisions import Decision
from mooring.engine.gangs.gang_trial import EngineGroupTrial
from mooring.engine.gangs.gang_victims import evict_for_group
from mooring.engine.gangs.members import Seat, attempt_at
from mooring.engine.gangs.room_for_members import GroupRoom
from mooring.engine.gangs.words import cannot_start, not_let_go
from mooring.engine.placement.fit_error import NO_NODES, FitError, rejected_before
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.grouping import (
    Group,
    GroupWayOut,
    Plan,
    checked_group,
    checked_plan,
    checked_way_out,
)
from mooring.framework.api.status import Status, unschedulable
from mooring.framework.running.profile import Hook, Profile

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

log = logging.getLogger("mooring.engine")

DIFFERENT = "{title}: its pods have different schedulerNames: {names}"


class Tried:
    """One attempt at a group: who holds a place, and who found none."""

    def __init__(self, plugin: str, group: Group, attempts: list[Attempt], now: float) -> None:
        self.plugin = plugin
        self.group = group
        self.attempts = attempts
        self.now = now
        self.held: dict[str, Reserved] = {}  # by uid
        self.unfit: dict[str, Unfit] = {}
        self.starts = False
        self.fell_apart = False  # a member without which it must not start found no place
        self.would_fit = 0  # members tried after that
        self.waits_for: list[str] = []  # what members that hold a place are told to wait for
        self.nominations: dict[str, str] = {}  # that do not count meanwhile, to be given back when it fails


class GroupCycle:
    """Decides about one group at a time, on behalf of the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._hooks = {name: hooks[0] for name, p in engine.profiles.items() if (hooks := p.at("group"))}
        # Without a word on how its pods are sorted, a plugin has to be asked about every pod.
        self.asks_all = any(p.at("group") and not p.at("order_of") for p in engine.profiles.values())

    def run(self, queued: QueuedPod, now: float) -> list[Decision] | None:
        """One attempt at the group of a pod. None: the pod is tried alone."""
        hook = self._hooks.get(queued.pod.spec.scheduler_name)
        if hook is None:
            return None
        cycle = self._engine.cycle
        try:
            group = checked_group(hook.name, answers.call(hook.name, "group", hook.method, queued.pod))
        except PluginFailed as failure:
            return [cycle.fail(queued, now, str(failure), None, "", blamed=hook.name)]
        if group is None:
            return None
        if isinstance(group, Status):
            why = cycle.rejected(group)
            return [cycle.fail(queued, now, why.message(), why, "")]
        members = self._taken_out(hook, group, queued)
        names = sorted({member.pod.spec.scheduler_name for member in members})
        if len(names) > 1:
            message = DIFFERENT.format(title=group.title, names=", ".join(names))
            return [self._engine.cycle.fail(member, now, message, None, "") for member in members]
        attempts = [attempt_at(self._engine, member, now) for member in members]
        return self._decide(Tried(hook.name, group, attempts, now))

    def _taken_out(self, hook: Hook, group: Group, first: QueuedPod) -> list[QueuedPod]:
        """The members, out of the queue and in the group's order; those that are not in it are left out."""
        engine = self._engine
        members = []
        for pod in group.members:
            uid = pod.metadata.uid
            queued = first if uid == first.pod.metadata.uid else engine.queue.take(uid, gated_by=hook.name)
            if queued is not None and queued.pod.terminating:
                engine.queue.delete(uid)
            elif queued is not None:
                members.append(queued)
        return members if first in members else [first, *members]

    # trying

    def _decide(self, tried: Tried) -> list[Decision]:
        engine = self._engine
        statement = engine.cluster.statement()
        try:
            plan = self._plan(tried)
            if not isinstance(plan, Status):
                seat = Seat(engine, tried.plugin, None if plan is None else plan.nodes)
                for attempt in tried.attempts:
                    self._try(tried, attempt, seat, statement)
            if tried.starts:
                patches = {uid: self._patch(held) for uid, held in tried.held.items()}
                statement.commit()
                return self._start(tried, patches)
        except NoNodes:
            self._undo(tried)
            statement.roll_back()
            return self._failed(tried, NO_NODES, None)
        except PluginFailed as failure:
            self._undo(tried)
            statement.roll_back()
            return self._failed(tried, str(failure), None, blamed=failure.plugin)
        except Exception as error:
            log.error("deciding about %s went wrong", tried.group.title, exc_info=error)
            self._undo(tried)
            statement.roll_back()
            return self._failed(tried, answers.clipped(f"{WENT_WRONG}: {answers.words_of(error)}"), None)
        self._undo(tried)
        statement.roll_back()
        return self._give_up(tried, plan if isinstance(plan, Status) else None)

    def _plan(self, tried: Tried) -> Plan | Status | None:
        """Where the plugin wants the members, if it does."""
        profile = tried.attempts[0].profile
        if not self._engine.cluster.nodes.rows:
            raise NoNodes
        hook = _of(profile, "plan_group", tried.plugin)
        if hook is None:
            return None
        self._lift_nominations(tried)
        room = GroupRoom(self._engine, tried.attempts)
        cycle = Cycle(profile.name, tried.now)
        answer = answers.call(hook.name, "plan_group", hook.method, cycle, tried.group, room)
        if answer is None:
            self._restore_nominations(tried)
            tried.nominations = {}
            return None
        return checked_plan(hook.name, answer)

    def _lift_nominations(self, tried: Tried) -> None:
        """A plan is for all members at once: none has to leave room for another."""
        nominator = self._engine.nominator
        for uid in (attempt.queued.pod.metadata.uid for attempt in tried.attempts):
            if node_name := nominator.node_of(uid):
                tried.nominations[uid] = node_name
                nominator.remove(uid)

    def _restore_nominations(self, tried: Tried) -> None:
        for attempt in tried.attempts:
            pod = attempt.queued.pod
            if node_name := tried.nominations.get(pod.metadata.uid):
                self._engine.nominator.nominate(pod, node_name)

    def _try(self, tried: Tried, attempt: Attempt, seat: Seat, statement: Any) -> None:
        engine, uid = self._engine, attempt.queued.pod.metadata.uid
        engine.cycle.begin(attempt.queued)
        nominated = engine.nominator.node_of(uid)

        def step(attempt: Attempt) -> None:
            if tried.fell_apart:  # whether it would fit is still worth telling
                seat.take(attempt, statement)
                tried.would_fit += 1
            else:
                tried.held[uid] = engine.cycle.hold(attempt, seat.find(attempt), statement)

        try:
            engine.cycle.take_step(attempt, step)
        except Unfit as unfit:
            tried.unfit[uid] = unfit.with_traceback(None)
            tried.fell_apart |= not tried.starts and uid in tried.group.strict
            if nominated:
                engine.nominator.nominate(attempt.queued.pod, nominated)
            return
        if nominated:
            tried.nominations[uid] = nominated
        if uid in tried.held and tried.plugin not in tried.held[uid].waits:
            tried.starts = True

    def _patch(self, reserved: Reserved) -> dict[str, Any] | None:
        if any(reserved.waits):
            return None  # known when it has waited
        return merge_patches(reserved.patches, reserved.cycle, reserved.pod, reserved.node_name)

    # starting

    def _start(self, tried: Tried, patches: dict[str, dict[str, Any] | None]) -> list[Decision]:
        """Whoever has a place goes on; the others have failed, each for itself."""
        decisions: list[Decision] = []
        cycle = self._engine.cycle
        for attempt in tried.attempts:
            uid = attempt.queued.pod.metadata.uid
            held = tried.held.get(uid)
            if held is None:
                unfit = tried.unfit[uid]
                self._engine.stories.note(attempt, "", unfit.message)
                decisions.append(cycle.fail(attempt.queued, tried.now, unfit.message, unfit.why, ""))
                continue
            held.waits = {plugin: wait for plugin, wait in held.waits.items() if plugin != tried.plugin}
            cycle.let_go(attempt, held, patches[uid])
            decisions.extend(attempt.decisions)
        return decisions

    # giving up

    def _undo(self, tried: Tried) -> None:
        """Nobody holds anything any more, the last first; places go with the statement."""
        engine = self._engine
        for attempt in reversed(tried.attempts):
            pod = attempt.queued.pod
            if (held := tried.held.get(pod.metadata.uid)) is None:
                continue
            engine.cycle.unreserve(held)
            engine.scores.pop(pod.key, None)
        self._restore_nominations(tried)

    def _give_up(self, tried: Tried, refusal: Status | None) -> list[Decision]:
        failures = [unfit.why for unfit in tried.unfit.values()]
        decisions: list[Decision] = []
        try:
            way_out = self._way_out(tried)
            if way_out is not None and way_out.status is None:
                decisions.extend(evict_for_group(self._engine, tried.plugin, tried.group, way_out))
        except PluginFailed as failure:
            return self._failed(tried, str(failure), None, blamed=failure.plugin)
        more = (
            "" if way_out is None else way_out.message if way_out.status is None else way_out.status.message
        )
        if refusal is not None:
            message = f"{tried.group.title}: {refusal.message}" + (f"; {more}" if more else "")
        elif failures:
            message = cannot_start(tried.group, len(tried.held) + tried.would_fit, failures, more)
        else:
            message = not_let_go(tried.group, [*tried.waits_for, more])
        why = self._blame(tried, failures, refusal)
        return decisions + self._failed(tried, message, why, way_out)

    def _way_out(self, tried: Tried) -> GroupWayOut | None:
        profile = tried.attempts[0].profile
        hook = _of(profile, "post_filter_group", tried.plugin)
        if hook is None:
            return None
        cycle = Cycle(profile.name, tried.now)
        with EngineGroupTrial(self._engine, tried.plugin, tried.group, tried.attempts, tried.now) as trial:
            answer = answers.call(hook.name, "post_filter_group", hook.method, cycle, tried.group, trial)
        return checked_way_out(hook.name, answer, self._engine.cluster.nodes.rows)

    def _blame(self, tried: Tried, failures: list[FitError], refusal: Status | None) -> FitError:
        """Whoever kept any member from its place keeps all of them."""
        status = (refusal or unschedulable()).by(tried.plugin)
        why = rejected_before(self._engine.cluster.nodes, status)
        return msgspec.structs.replace(
            why,
            plugins=why.plugins.union(*(failure.plugins for failure in failures)),
            pending_plugins=why.pending_plugins.union(*(failure.pending_plugins for failure in failures)),
        )

    def _failed(
        self,
        tried: Tried,
        message: str,
        why: FitError | None,
        way_out: GroupWayOut | None = None,
        *,
        blamed: str = "",
    ) -> list[Decision]:
        """All wait, and back off as long as the one of them that was tried most often."""
        cycle = self._engine.cycle
        nominated = {} if way_out is None else way_out.nominated
        most = max(attempt.queued.unschedulable_count for attempt in tried.attempts)
        decisions: list[Decision] = []
        for attempt in tried.attempts:
            queued = attempt.queued
            queued.unschedulable_count = most
            self._engine.stories.note(attempt, "", message)
            node_name = nominated.get(queued.pod.metadata.uid, "")
            decisions.append(cycle.fail(queued, tried.now, message, why, node_name, blamed=blamed))
        return decisions


def _of(profile: Profile, point: str, plugin: str) -> Hook | None:
    """The plugin's own method at a point."""
    return next((hook for hook in profile.at(point) if hook.name == plugin), None)
