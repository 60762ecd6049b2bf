"""The scheduling cycle of a group: all of its pods are tried, and either enough get a place or none does.

Every place is taken in one statement, so that each member is tried with the others where they would be.
Only when a member is let go on by the plugin that has the group are the places kept and pods bound; else
the statement is rolled back, and nothing is left of the attempt but one message that says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from mooring.cluster.statement import Statement
from mooring.engine.attempt import NOBODY_ELSE, Attempt, Others
from mooring.engine.cycle.pod_patches import merge_patches
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle
from mooring.engine.cycle.victims import evict_for_group
from mooring.engine.decisions import Decision, Wait
from mooring.engine.gangs.gang_trial import EngineGroupTrial
from mooring.engine.gangs.members import Seat
from mooring.engine.gangs.room_for_members import GroupRoom
from mooring.engine.gangs.words import cannot_start, not_let_go
from mooring.engine.outcomes import NO_NODE, Failed, NoNodes, Unfit, outcome_of
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import Reserved
from mooring.engine.placement.fit_error import FitError, rejected_before
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.story import NARROWED
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
from mooring.framework.api.session import Job, Task
from mooring.framework.api.status import Status, unschedulable
from mooring.framework.running.profile import Hook, Profile
from mooring.model.objects import Pod
from mooring.workloads.gang_group import DIFFERENT

NOBODY: Mapping[str, str] = MappingProxyType({})


class Tried:
    """One attempt at a group: who holds a place, and who found none."""

    def __init__(self, plugin: str, group: Group, attempts: list[Attempt]) -> None:
        self.plugin = plugin
        self.group = group
        self.attempts = attempts
        self.held: dict[str, Reserved] = {}  # by uid
        self.unfit: dict[str, Unfit] = {}
        self.starts = False
        self.fell_apart = False  # a member without which it must not start found no place
        self.would_fit = 0  # members tried after that
        self.waits_for: list[str] = []  # what members that hold a place are told to wait for
        self.position = 0  # of the history at which the changes for a group that starts begin
        self.marks: dict[str, int] = {}  # how many of them had been made when a member was tried
        self.places: list[tuple[Pod, str]] = []  # that members took, in turn
        self.nominations: dict[str, str] = {}  # that do not count meanwhile, to be given back when it fails

    @property
    def pods(self) -> list[Pod]:
        return [attempt.queued.pod for attempt in self.attempts]


class Starts(msgspec.Struct, frozen=True):
    """The group may go on: what is written with each pod, by uid; None where that is not known yet."""

    patches: dict[str, dict[str, Any] | None]


class GroupCycle:
    """Decides about one group at a time."""

    def __init__(self, cycle: SchedulingCycle) -> None:
        self._cycle = cycle
        self._parts = cycle.parts

    def run(self, queued: QueuedPod) -> list[Decision] | None:
        """One attempt at the group of a pod. None: the pod is tried alone."""
        for hook in self._parts.hooks.groups[queued.pod.spec.scheduler_name]:
            group = outcome_of(_group_of, hook, queued.pod)
            if group is not None:
                return self._run(queued, hook, group)
        return None

    def _run(self, queued: QueuedPod, hook: Hook, group: Group | Status | Failed) -> list[Decision]:
        """With whom a pod is tried is the first plugin's word that has one."""
        if isinstance(group, Failed):
            group.log(queued.pod.key)
            return [self._fail(queued, group)]
        if isinstance(group, Status):
            why = rejected_before(self._parts.cluster.nodes, group)
            return [self._fail(queued, Unfit(why, group.message, nominated=""))]
        members = self._taken_out(hook, group, queued)
        names = sorted({member.pod.spec.scheduler_name for member in members})
        if len(names) > 1:
            end = Failed(DIFFERENT.format(title=group.title, names=", ".join(names)))
            return [self._fail(member, end) for member in members]
        attempts = [self._parts.attempt_together(member) for member in members]
        return self._decide(Tried(hook.name, group, attempts))

    def _fail(self, queued: QueuedPod, end: Unfit | Failed) -> Wait:
        return self._cycle.failures.fail(queued, end)

    def _taken_out(self, hook: Hook, group: Group, first: QueuedPod) -> list[QueuedPod]:
        """The members, out of the queue and in the group's order; those that are not in it are left out."""
        queue = self._parts.queue
        members = []
        for pod in group.members:
            uid = pod.metadata.uid
            queued = first if uid == first.pod.metadata.uid else queue.take(uid, gated_by=hook.name)
            if queued is not None and queued.pod.terminating:
                queue.delete(uid)
            elif queued is not None:
                members.append(queued)
        return members if first in members else [first, *members]

    # trying

    def _decide(self, tried: Tried) -> list[Decision]:
        statement = self._parts.cluster.statement()
        end = outcome_of(self._try_all, tried, statement)
        if isinstance(end, Starts):
            tried.position = self._parts.cluster.history.position
            statement.commit()
            return self._start(tried, end)
        self._undo(tried)
        statement.roll_back()
        if isinstance(end, Failed):
            end.log(tried.group.title)
            return self._failed(tried, end)
        if isinstance(end, NoNodes):
            return self._failed(tried, Failed(end.message))
        return self._give_up(tried, end)

    def _try_all(self, tried: Tried, statement: Statement) -> Starts | NoNodes | Status | None:
        """Tries every member, unless the plugin refuses the group. Returns what is written with those that
        have a place if they may go on, or why not if that is not up to the members."""
        if not self._parts.cluster.nodes.rows:
            return NO_NODE
        self._join(tried)
        plan = self._plan(tried)
        if isinstance(plan, Status):
            return plan
        seat = Seat(self._cycle, tried.plugin, None if plan is None else plan.nodes)
        for attempt in tried.attempts:
            self._try(tried, attempt, seat, statement)
        if not tried.starts:
            return None
        return Starts({uid: self._patch(tried, held) for uid, held in tried.held.items()})

    def _join(self, tried: Tried) -> None:
        """The members are one job of their profile's round, if it opens sessions."""
        profile = tried.attempts[0].profile
        if profile.opens_sessions:
            tasks = tuple(Task(attempt.queued.pod) for attempt in tried.attempts)
            self._parts.rounds.join(profile, Job(tried.group.key, tasks), self._parts.now)

    def _plan(self, tried: Tried) -> Plan | Status | None:
        """Where the plugin wants the members, if it does."""
        profile = tried.attempts[0].profile
        hook = _of(profile, "plan_group", tried.plugin)
        if hook is None:
            return None
        # A plan is for all members at once: none has to leave room for another.
        tried.nominations |= self._parts.nominator.lift(tried.pods)
        room = GroupRoom(self._cycle, tried.attempts)
        cycle = Cycle(profile.name, self._parts.now)
        answer = answers.call(hook.name, "plan_group", hook.method, cycle, tried.group, room)
        if answer is None:
            self._parts.nominator.restore(tried.pods, tried.nominations)
            tried.nominations = {}
            return None
        return checked_plan(hook.name, answer)

    def _try(self, tried: Tried, attempt: Attempt, seat: Seat, statement: Statement) -> None:
        nominator, uid = self._parts.nominator, attempt.queued.pod.metadata.uid
        self._cycle.begin(attempt.queued)
        nominated = nominator.node_of(uid)
        tried.marks[uid] = statement.checkpoint()
        attempt.others = Others(tried.places, len(tried.places))

        def step(attempt: Attempt) -> Reserved | Unfit | None:
            if tried.fell_apart:  # whether it would fit is still worth telling
                node_name = seat.take(attempt, statement)
                return node_name if isinstance(node_name, Unfit) else None
            choice = seat.find(attempt)
            if isinstance(choice, Unfit):
                return choice
            return self._cycle.places.hold(attempt, choice, statement)

        end = self._cycle.search.run(attempt, step)
        if attempt.narrowed is not None:
            attempt.cycle.write(NARROWED, attempt.narrowed)  # by the plan, too
        if (placed := self._parts.cluster.pods.by_uid.get(uid)) is not None:
            tried.places.append((placed.pod, placed.node))
        if isinstance(end, Unfit):
            # What is counted of nodes goes on changing, so that the message is made now.
            tried.unfit[uid] = Unfit(end.why, end.message)
            tried.fell_apart |= not tried.starts and uid in tried.group.strict
            if nominated:
                nominator.nominate(attempt.queued.pod, nominated)
            return
        if nominated:
            tried.nominations[uid] = nominated
        if isinstance(end, Reserved):
            tried.held[uid] = end
            tried.starts |= tried.plugin not in end.waits
        else:
            tried.would_fit += 1

    def _patch(self, tried: Tried, reserved: Reserved) -> dict[str, Any] | None:
        if reserved.waits.keys() - {tried.plugin}:
            return None  # known when it has waited
        return merge_patches(reserved.patches, reserved.cycle, reserved.pod, reserved.node_name)

    # starting

    def _start(self, tried: Tried, starts: Starts) -> list[Decision]:
        """Whoever has a place goes on; the others have failed, each for itself."""
        decisions: list[Decision] = []
        for attempt in tried.attempts:
            uid = attempt.queued.pod.metadata.uid
            held = tried.held.get(uid)
            attempt.position, attempt.others = tried.position + tried.marks[uid], NOBODY_ELSE
            if held is None:
                unfit = tried.unfit[uid]
                self._parts.stories.note(attempt, "", unfit.message)
                decisions.append(self._fail(attempt.queued, Unfit(unfit.why, unfit.said, "")))
                continue
            self._parts.stories.note(attempt, held.node_name)
            held.waits = {plugin: wait for plugin, wait in held.waits.items() if plugin != tried.plugin}
            end = outcome_of(partial(self._cycle.places.let_go, patch=starts.patches[uid]), attempt, held)
            decisions.extend(attempt.decisions)
            if isinstance(end, Failed):
                end.log(attempt.queued.pod.key)
                decisions.append(self._fail(attempt.queued, end))
        return decisions

    # giving up

    def _undo(self, tried: Tried) -> None:
        """Nobody holds anything any more, the last first; places go with the statement."""
        for attempt in reversed(tried.attempts):
            pod = attempt.queued.pod
            if (held := tried.held.get(pod.metadata.uid)) is None:
                continue
            self._cycle.places.unreserve(held)
            self._parts.scores.pop(pod.key, None)
        self._parts.nominator.restore(tried.pods, tried.nominations)

    def _give_up(self, tried: Tried, refusal: Status | None) -> list[Decision]:
        failures = [unfit.why for unfit in tried.unfit.values()]
        found = outcome_of(self._make_room, tried, self._parts)
        if isinstance(found, Failed):
            found.log(tried.group.title)
            return self._failed(tried, found)
        way_out, decisions = found
        more = "" if way_out is None else way_out.told
        if refusal is not None:
            message = f"{tried.group.title}: {refusal.message}" + (f"; {more}" if more else "")
        elif failures:
            of_all = len(tried.attempts) if tried.fell_apart else 0
            placed = len(tried.held) + tried.would_fit
            message = cannot_start(tried.group, placed, failures, more, of_all=of_all)
        else:
            message = not_let_go(tried.group, [*tried.waits_for, more])
        nominated = {} if way_out is None else way_out.nominated
        return decisions + self._failed(
            tried, Unfit(self._blame(tried, failures, refusal), message, ""), nominated
        )

    def _make_room(self, tried: Tried, parts: Parts) -> tuple[GroupWayOut | None, list[Decision]]:
        """The way out that the plugin knows, and what it takes."""
        way_out = self._way_out(tried)
        if way_out is None or way_out.status is not None:
            return way_out, []
        return way_out, evict_for_group(parts, tried.plugin, tried.group, way_out)

    def _way_out(self, tried: Tried) -> GroupWayOut | None:
        profile = tried.attempts[0].profile
        hook = _of(profile, "post_filter_group", tried.plugin)
        if hook is None:
            return None
        cycle = Cycle(profile.name, self._parts.now)
        with EngineGroupTrial(self._cycle, tried.plugin, tried.group, tried.attempts) as trial:
            answer = answers.call(hook.name, "post_filter_group", hook.method, cycle, tried.group, trial)
        return checked_way_out(hook.name, answer, self._parts.cluster.nodes.rows)

    def _blame(self, tried: Tried, failures: list[FitError], refusal: Status | None) -> FitError:
        """Whoever kept any member from its place keeps all of them."""
        status = (refusal or unschedulable()).by(tried.plugin)
        why = rejected_before(self._parts.cluster.nodes, status)
        return msgspec.structs.replace(
            why,
            plugins=why.plugins.union(*(failure.plugins for failure in failures)),
            pending_plugins=why.pending_plugins.union(*(failure.pending_plugins for failure in failures)),
        )

    def _failed(
        self, tried: Tried, end: Unfit | Failed, nominated: Mapping[str, str] = NOBODY
    ) -> list[Decision]:
        """All wait, and back off as long as the one of them that was tried most often."""
        most = max(attempt.queued.unschedulable_count for attempt in tried.attempts)
        decisions: list[Decision] = []
        for number, attempt in enumerate(tried.attempts):
            queued = attempt.queued
            queued.unschedulable_count = most
            self._parts.stories.note(attempt, "", end.message)
            if isinstance(end, Unfit):
                end = Unfit(end.why, end.said, nominated.get(queued.pod.metadata.uid, ""))
            wait = self._fail(queued, end)
            decisions.append(msgspec.structs.replace(wait, together=0 if number else len(tried.attempts)))
        return decisions


def _group_of(hook: Hook, pod: Pod) -> Group | Status | None:
    return checked_group(hook.name, answers.call(hook.name, "group", hook.method, pod))


def _of(profile: Profile, point: str, plugin: str) -> Hook | None:
    """The plugin's own method at a point."""
    return next((hook for hook in profile.at(point) if hook.name == plugin), None)
