"""The phase of a PodGroup and the numbers beside it: from what it says, and its pods, to what it is to say.

Koordinator's and scheduler-plugins' words: Pending until there are enough pods, then PreScheduling,
Scheduling until enough are bound, Scheduled, Running, and Finished or Failed, which are final.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

PENDING, PRE_SCHEDULING, SCHEDULING = "Pending", "PreScheduling", "Scheduling"
SCHEDULED, RUNNING, FINISHED, FAILED = "Scheduled", "Running", "Finished", "Failed"
FINAL = frozenset({FINISHED, FAILED})
OLD_S = 48 * 3600.0  # a group that began to be scheduled so long after it was made is left as it is
MOST_STEPS = 8  # from nothing to Finished takes five


class Status(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """status of a PodGroup, as it is written."""

    phase: str = ""
    occupied_by: str = ""
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str | None = None


class Pods(msgspec.Struct, frozen=True):
    """The pods of a gang, in numbers; `owners` are the keys of what they belong to."""

    bound: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    waiting: int = 0  # those that are not bound
    owners: Sequence[str] = ()

    @property
    def all(self) -> int:
        return self.bound + self.waiting + self.succeeded + self.failed

    @property
    def scheduled(self) -> int:
        """Those that have, or had, a node."""
        return self.bound + self.succeeded + self.failed


def read_status(data: dict[str, Any]) -> Status:
    """What a PodGroup says; nothing when it is not readable."""
    try:
        return msgspec.convert(data.get("status") or {}, Status)
    except msgspec.ValidationError:
        return Status()


def is_left_alone(status: Status, least: int, started: float | None, created: float | None) -> bool:
    """Whether the status is final, or of a group that began to be scheduled long after it was made."""
    if status.phase in FINAL:
        return True
    late = started is not None and created is not None and started - created > OLD_S
    return late and status.scheduled == least and status.running == 0


def settled(status: Status, least: int, pods: Pods, now: str) -> Status:
    """The status after as many steps as there are to take."""
    for _ in range(MOST_STEPS):
        if (after := step(status, least, pods, now)) == status:
            break
        status = after
    return status


def step(status: Status, least: int, pods: Pods, now: str) -> Status:
    """One step. `least` is how many pods the group needs; `now` becomes the moment scheduling began."""
    if status.phase in FINAL:
        return status
    if not status.phase:
        return _with(status, phase=PENDING)
    if status.phase == PENDING:
        if not 0 < least <= pods.all:
            return status
        return _with(status, phase=PRE_SCHEDULING, occupied_by=",".join(sorted(set(pods.owners))))
    if not pods.all:
        return _with(status, phase=PENDING, scheduled=0, running=0)
    return _counted(status, least, pods, now)


def _counted(status: Status, least: int, pods: Pods, now: str) -> Status:
    phase, started = SCHEDULED, status.schedule_start_time
    if pods.scheduled < least:
        phase, started = SCHEDULING, started or now
    if phase == SCHEDULED and pods.succeeded + pods.running >= least:
        phase = RUNNING
    if pods.failed and pods.failed + pods.running + pods.succeeded >= least:
        phase = FAILED
    if 0 < least <= pods.succeeded:
        phase = FINISHED
    return _with(
        status,
        phase=phase,
        scheduled=pods.scheduled,
        running=pods.running,
        succeeded=pods.succeeded,
        failed=pods.failed,
        schedule_start_time=started,
    )


def difference(before: Status, after: Status) -> dict[str, Any]:
    """What a merge patch has to say: null for what is to be nothing."""
    changes: dict[str, Any] = {}
    for field in msgspec.structs.fields(Status):
        value = getattr(after, field.name)
        if value != getattr(before, field.name):
            changes[field.encode_name] = value if value or value == 0 else None
    return changes


def _with(status: Status, **changes: Any) -> Status:
    return msgspec.structs.replace(status, **changes)
