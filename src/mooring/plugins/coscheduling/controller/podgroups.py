"""Writes what follows from changes of gangs into PodGroups, soon after and never twice.

Changes are noted as they come and looked at when the scheduler has time for them, so that a gang of which
many pods change at once is written about once. What was written and does not show is written again after a
while. Only while this scheduler decides is anything looked at: `follow_up` is not called before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.framework.api.handle import Handle
from mooring.framework.api.writes import Write
from mooring.model.objects import Object, Pod
from mooring.plugins.coscheduling.controller import conditions, phases
from mooring.plugins.coscheduling.controller.gang import KUBERNETES, SIGS, WITH_PHASES, GangView, Key
from mooring.plugins.coscheduling.controller.making import can_be_named, is_made_for, pod_group_of
from mooring.plugins.coscheduling.controller.pace import Pace
from mooring.plugins.coscheduling.controller.tally import Tally
from mooring.workloads.written_values import moment, timestamp

RESEND_S = 60.0
STATUS = "status"


class Sent(msgspec.Struct, frozen=True):
    """What was asked to be written, when, and of which gang."""

    write: Write
    at: float
    gang: GangView


class PodGroups:
    """One for each profile that has gangs; writes about those that have, or had, pods of that profile."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._changed: dict[Key, GangView] = {}
        self._sent: dict[Key, Sent] = {}
        self._checked_at = 0.0
        self._pace = Pace[Key]()
        self._postponed: float | None = None  # until when the first of what is left waits
        self._own: set[Key] = set()  # gangs with pods of the profile, sometime
        self._tally = Tally(handle.look_up)

    def changed(self, gang: GangView) -> None:
        """Something about it is different: its pods, terms, PodGroup, or what came of an attempt."""
        self._tally.meet(gang)
        self._changed[gang.key] = gang

    def pod_gone(self, gang: GangView | None, pod: Pod) -> None:
        """A pod is no longer followed: it has finished, or is deleted. None: its gang is gone already."""
        if pod.spec.scheduler_name != self._handle.profile:
            return
        if (of := self._tally.gone(gang, pod)) is not None:
            self._own.add(of.key)
            self._changed.setdefault(of.key, of)

    def deleted(self, key: Key) -> None:
        """A PodGroup is gone, and with it what is known of the pods it was about."""
        self._own.discard(key)
        self._sent.pop(key, None)
        self._pace.forget(key)
        self._tally.forget(key)

    @property
    def wake_at(self) -> float | None:
        """When there is something to follow up, whatever happens. Nothing before anything was."""
        again = self._checked_at + RESEND_S / 2 if self._sent else None
        return min((each for each in (self._postponed, again) if each is not None), default=None)

    def follow_up(self) -> None:
        """Has written what is not as it should be."""
        now = self._handle.now
        if self._sent and now - self._checked_at >= RESEND_S / 2:
            self._checked_at = now
            for key, sent in self._sent.items():
                if now - sent.at >= RESEND_S:
                    self._changed.setdefault(key, sent.gang)
        self._postponed = None
        if self._changed:
            changed, self._changed = self._changed, {}
            for key, gang in changed.items():
                if (ready := self._pace.ready_at(key, now)) > now:
                    self._changed[key] = gang
                    self._postponed = min(ready, self._postponed or ready)
                elif self._tally.is_clear(gang):
                    self._look_at(key, gang, now)
                # else the answer comes as a pod that is gone, once more

    def _look_at(self, key: Key, gang: GangView, now: float) -> None:
        write = self._wanted(key, gang, now)
        sent = self._sent.pop(key, None)
        if write is None:
            if gang.pod_group is None and not gang.pods:  # nothing is left to write about
                self._own.discard(key)
                self._pace.forget(key)
            return
        if sent is not None and sent.write == write and now - sent.at < RESEND_S:
            self._sent[key] = sent
            return
        if not self._sent:
            self._checked_at = now
        self._sent[key] = Sent(write, now, gang)
        self._pace.take(key, now)
        self._handle.write(write)

    def _wanted(self, key: Key, gang: GangView, now: float) -> Write | None:
        """What is to be written about a gang, if anything is."""
        pods, found = gang.pods, gang.pod_group
        if any(pod.spec.scheduler_name == self._handle.profile for pod in pods):
            self._own.add(key)
        elif not pods and found is not None and is_made_for(self._handle.profile, found):
            return Write("delete", gang.podgroups, gang.id, {"metadata": {"uid": found.metadata.uid}})
        elif pods or key not in self._own:
            return None  # it is another scheduler's, or nobody's yet
        if found is None:
            return self._made(gang, pods)
        if found.metadata.deletion_timestamp is not None or gang.terms is None:
            return None
        status = dict(self._status(gang, found, pods, timestamp(int(now))))
        if not status:
            return None
        body = {"metadata": {"uid": found.metadata.uid}, STATUS: status}
        return Write("patch", gang.podgroups, gang.id, body, sub=STATUS)

    def _made(self, gang: GangView, pods: list[Pod]) -> Write | None:
        staying = [pod for pod in pods if not pod.terminating]
        if not (gang.declared_by_pods and gang.podgroups == SIGS and gang.terms and staying):
            return None
        if not can_be_named(gang.id):
            return None
        body = pod_group_of(self._handle.profile, gang.id, gang.terms, staying)
        return Write("create", gang.podgroups, gang.id, body)

    def _status(self, gang: GangView, found: Object, pods: list[Pod], now: str) -> Iterator[tuple[str, Any]]:
        assert gang.terms is not None
        least = gang.terms.least
        if gang.podgroups == KUBERNETES:
            bound = sum(1 for pod in pods if pod.spec.node_name)
            listed = conditions.conditions_after(
                found.data,
                found.metadata.generation,
                started=bound >= max(least, 1),
                why_not=gang.unschedulable if pods else "",
                now=now,
            )
            if listed is not None:
                yield "conditions", listed
        elif gang.podgroups in WITH_PHASES:
            before = phases.read_status(found.data)
            counted = self._tally.counted(gang, before, pods)
            created, started = moment(found.metadata.creation_timestamp), moment(before.schedule_start_time)
            if not phases.is_left_alone(before, least, started, created):
                yield from phases.difference(before, phases.settled(before, least, counted, now)).items()
