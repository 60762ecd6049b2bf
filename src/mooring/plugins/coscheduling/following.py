"""Gangs over time: from complete to started, or given up; and what people are told of them on the way.

Told, and acted upon, only when pods are decided: a scheduler that merely stands by says nothing.
"""

from __future__ import annotations

import logging

from mooring.config.durations import format_duration
from mooring.framework.api.handle import Handle
from mooring.framework.metrics.families import GANG_START_SECONDS, GANGS_TIMED_OUT, WAITING_GANG_GROUPS
from mooring.plugins.coscheduling import recovery
from mooring.plugins.coscheduling.deadlines import Deadlines
from mooring.workloads.gang import Member, State
from mooring.workloads.gang_group import GangGroup

log = logging.getLogger("mooring.gangs")

TIMED_OUT = "{} has had all its pods for {} and could not start"
LATE = "{}; it has had all its pods for {}"
SCHEDULED = "PodScheduled"
START, RECOVERY, REST = "start", "recovery", "rest"
REST_S = 10.0  # places given back by its own members are no reason for a gang to try again at once


class Following:
    """Follows each group, by what the handle says the time is."""

    def __init__(self, handle: Handle, groups: dict[str, GangGroup]) -> None:
        self._handle = handle
        self._groups = groups
        self.ready: dict[str, float] = {}  # since when groups have had all they need, by key
        self._deadlines = Deadlines()
        self._untold: dict[str, tuple[Member, str]] = {}
        self._unwarned: dict[str, tuple[Member, str]] = {}
        self._deciding = False

    def settle(self, group: GangGroup) -> None:
        """Something about a group may be different."""
        now = self._handle.now
        recovery.look(group, now)
        if group.recover_until is None:
            self._deadlines.clear((RECOVERY, group.key))
        else:
            self._deadlines.set((RECOVERY, group.key), group.recover_until)
        if group.rests_until > now:
            self._deadlines.set((REST, group.key), group.rests_until)
        if not _is_ready(group):
            self._leave(group)
        elif group.key not in self.ready:
            self.ready[group.key] = now
            self._deadlines.set((START, group.key), now + group.wait_s)
            self._count()

    def forget(self, group: GangGroup) -> None:
        self._deadlines.clear((RECOVERY, group.key))
        self._deadlines.clear((REST, group.key))
        self._leave(group)

    def starts(self, group: GangGroup) -> None:
        """Its members are let go."""
        since = self.ready.get(group.key)
        if since is not None and (meter := self._handle.meter) is not None:
            meter.samples(GANG_START_SECONDS).observe(self._handle.now - since)
        self._leave(group)

    def tell(self, member: Member, message: str) -> None:
        """Has a message told on a pod, once."""
        if member.told != message:
            member.told = message
            self._untold[member.uid] = member, message

    def warn(self, member: Member, message: str) -> None:
        """Has it told, once, that something a pod says does not count. It goes on all the same."""
        if member.warned != message:
            member.warned = message
            self._unwarned[member.uid] = member, message

    def forget_member(self, uid: str) -> None:
        self._untold.pop(uid, None)
        self._unwarned.pop(uid, None)

    # while pods are decided

    @property
    def wake_at(self) -> float | None:
        return self._deadlines.next if self._deciding else None

    def rest(self, group: GangGroup) -> None:
        """Members that are tried one by one, and gave up, are let alone for a while."""
        group.rests_until = self._handle.now + REST_S
        self._deadlines.set((REST, group.key), group.rests_until)

    def follow_up(self) -> list[GangGroup]:
        """Does what is due. Returns the groups that have rested."""
        self._deciding = True
        rested = []
        for what, key in self._deadlines.due(self._handle.now):
            group = self._groups.get(key)
            if group is None:
                continue
            if what == START:
                self._timed_out(group)
            elif what == RECOVERY:
                self._give_back(group)
            else:
                rested.append(group)
        unwarned, self._unwarned = self._unwarned, {}
        for member, message in unwarned.values():
            log.warning("pod %s: %s", member.pod.key, message)
            self._handle.warn(member.pod, message)
        untold, self._untold = self._untold, {}
        for member, message in untold.values():
            self._handle.report(member.pod, message)
        return rested

    def _timed_out(self, group: GangGroup) -> None:
        """It goes on trying; people are told, on one of its pods."""
        if (meter := self._handle.meter) is not None:
            meter.count(GANGS_TIMED_OUT).value += 1
        first = next(group.members(State.PENDING), None)
        if first is not None:
            since = format_duration(group.wait_s)
            last = next((each.message for each in first.pod.status.conditions if each.type == SCHEDULED), "")
            self.tell(first, LATE.format(last, since) if last else TIMED_OUT.format(group.title, since))

    def _give_back(self, group: GangGroup) -> None:
        message = recovery.message(group, format_duration(group.wait_s))
        for member in list(group.members(State.BOUND)):
            self._handle.evict(member.pod, recovery.GIVEN_BACK, message)
        group.recover_until, group.gives_back = None, True
        self.settle(group)

    def _leave(self, group: GangGroup) -> None:
        self._deadlines.clear((START, group.key))
        if self.ready.pop(group.key, None) is not None:
            self._count()

    def _count(self) -> None:
        if (meter := self._handle.meter) is not None:
            meter.count(WAITING_GANG_GROUPS).value = len(self.ready)


def _is_ready(group: GangGroup) -> bool:
    return group.any_pending() and group.can_be_tried() and group.needed() > 0
