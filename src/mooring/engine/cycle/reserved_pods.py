"""Pods that have a place, until the API server has them bound: let go from permit, bound, or failed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from mooring.engine.cycle.failures import Failures
from mooring.engine.cycle.places import Places
from mooring.engine.events import Bound, EvictFailed
from mooring.engine.outcomes import Failed, Unfit, outcome_of
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import PermitWait, Reserved
from mooring.engine.placement.fit_error import one_node
from mooring.framework.api import answers
from mooring.framework.api.status import Code, Status


class ReservedPods:
    """Ends attempts that have found a place."""

    def __init__(self, parts: Parts, places: Places, failures: Failures) -> None:
        self._parts = parts
        self._places = places
        self._failures = failures
        self._members = parts.gangs.members
        self._settling = False
        self._to_settle: deque[tuple[PermitWait, Status | None]] = deque()
        places.settle = self.settle

    def settle(self, wait: PermitWait, status: Status | None) -> None:
        """A pod that waited at permit is let go, or rejected. One after the other: plugins that hear of it
        may let go of others, who may be many."""
        parts = self._parts
        parts.waiting.pop(wait.pod.metadata.uid, None)
        self._to_settle.append((wait, status))
        if self._settling:
            return
        before, parts.deciding, self._settling = parts.deciding, True, True
        try:
            while self._to_settle:
                self._settle(*self._to_settle.popleft())
        finally:
            parts.deciding, self._settling = before, False

    def _settle(self, wait: PermitWait, status: Status | None) -> None:
        parts = self._parts
        if parts.pod_metrics is not None:
            parts.pod_metrics.waited(wait, status, parts.now)
        if status is None:
            self._bind_or_fail(wait.reserved)
            return
        self._places.give_back(wait.reserved)
        if status.code is Code.ERROR:  # its place was taken from it: whoever needs that goes on at once
            parts.place_freed(wait.pod, wait.node_name)
            self._fail(wait.reserved, Failed(f"waiting on permit for pod: {status.message}"))
            return
        why = one_node(parts.cluster.nodes, wait.node_name, status)
        self._fail(wait.reserved, Unfit(why, nominated=""))
        # Only now, so that the pod is not woken by the place it has given back itself.
        parts.place_freed(wait.pod, wait.node_name, but=wait.pod.metadata.uid, given_back=True)

    def bound(self, event: Bound, now: float) -> None:
        """A pod was bound. Nothing is left to undo, unless it was not we who bound it."""
        parts, uid = self._parts, event.pod.metadata.uid
        reserved = parts.binding.pop(uid, None)
        wait = parts.waiting.pop(uid, None) if parts.waiting else None
        if uid in self._members and (reserved is not None or wait is not None):
            parts.gangs.bound(uid)
        if wait is not None:
            wait.settled = True  # somebody else was faster: there is nothing left to permit
            self._places.unreserve(wait.reserved)
        elif reserved is None:
            return
        elif reserved.node_name != event.node:
            self._places.unreserve(reserved)
        else:
            profile = reserved.profile
            if parts.pod_metrics is not None:
                parts.pod_metrics.scheduled(reserved, now)
            for name, method, pods in profile.bound:
                if pods is None or uid in pods:
                    _tell_bound(name, method, reserved)
            if parts.hooks.profiles.get(profile.name) is not profile:
                self._tell_newcomers(reserved)

    def _tell_newcomers(self, reserved: Reserved) -> None:
        """Tells plugins that came into force since the pod was placed."""
        old, new = reserved.profile, self._parts.hooks.profiles.get(reserved.profile.name)
        for name, method, pods in new.bound if new is not None else ():
            known = new is not None and new.plugins[name] is old.plugins.get(name)
            if not known and (pods is None or reserved.pod.metadata.uid in pods):
                _tell_bound(name, method, reserved)

    def bind_failed(self, uid: str, message: str) -> None:
        """A pod could not be bound: its place is free again, and it backs off as after an error."""
        reserved = self._parts.binding.pop(uid, None)
        if reserved is not None:
            self._give_up(reserved, Failed(message))

    def evict_failed(self, event: EvictFailed) -> None:
        """A pod could not be evicted: it stays, and who it was to make room for looks again."""
        parts, uid = self._parts, event.pod.metadata.uid
        if uid in parts.cluster.pods.by_uid:
            with parts.cluster.statement() as statement:
                statement.keep(uid, assumed=uid in parts.binding)
        parts.activate([pod for pod in parts.pending.values() if pod.key == event.by])

    def _bind_or_fail(self, reserved: Reserved) -> None:
        bind = outcome_of(self._places.bind, reserved, None)
        if isinstance(bind, Failed):
            bind.log(reserved.pod.key)
            self._give_up(reserved, Failed(bind.message))  # as any bind that fails, whoever is to blame
        else:
            self._parts.decided.append(bind)

    def _give_up(self, reserved: Reserved, end: Failed) -> None:
        self._places.give_back(reserved)
        self._parts.place_freed(reserved.pod, reserved.node_name, given_back=True)
        self._fail(reserved, end)

    def _fail(self, reserved: Reserved, end: Unfit | Failed) -> None:
        queued, uid = reserved.queued, reserved.pod.metadata.uid
        fresh = self._parts.pending.get(uid)
        if fresh is None:
            self._parts.queue.delete(uid)  # deleted meanwhile: nobody waits for it any more
            return
        queued.pod = fresh
        self._parts.decided.append(self._failures.fail(queued, end))


def _tell_bound(plugin: str, method: Callable[..., Any], reserved: Reserved) -> None:
    """What plugins make of a bind follows from the event, so that it is the same whoever binds."""
    try:
        method(reserved.pod, reserved.node_name)
    except BaseException as error:
        answers.raised(plugin, "pod_bound", error)  # logged; the pod is bound
