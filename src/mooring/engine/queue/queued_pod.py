"""A pod in the scheduling queue, with what the queue remembers of it."""

from __future__ import annotations

from enum import Enum

import msgspec

from mooring.model.objects import Pod


class Where(Enum):
    """The part of the queue a pod is in."""

    NOWHERE = ""
    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error_backoff"
    UNSCHEDULABLE = "unschedulable"
    IN_FLIGHT = "in_flight"


# Python finds a member of an Enum by its class more slowly than it calls a function: hence these names.
ACTIVE, IN_FLIGHT = Where.ACTIVE, Where.IN_FLIGHT


class QueuedPod(msgspec.Struct, eq=False, gc=False):
    """One waiting pod. Fields are kube-scheduler's."""

    pod: Pod
    timestamp: float  # when it last entered the queue or failed
    where: Where = Where.NOWHERE
    ticket: int = 0  # of its valid heap entry: older entries are stale
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    backoff_expiration: float = 0.0
    initial_attempt: float | None = None  # when it was first ready to be tried
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    gating_plugin: str = ""
    gating_message: str = ""
    gate_is_passing: bool = False  # it opens by itself soon
    flushed_at: float | None = None
    group: tuple[float, str] | None = None  # since when it waits with others, and what they are called
    hurried: bool = False  # tried before its back-off was over, since it last waited it out
    since: int = 0  # its position in the list of events, while it is in flight
    started: float = 0.0  # when it was last taken out to be tried, by the meter's clock

    @property
    def rejectors(self) -> frozenset[str]:
        pending = self.pending_plugins
        return self.unschedulable_plugins | pending if pending else self.unschedulable_plugins

    @property
    def backoff_count(self) -> int:
        return self.consecutive_errors or self.unschedulable_count
