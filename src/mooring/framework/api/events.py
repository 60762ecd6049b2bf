"""What can make a waiting pod schedulable: cluster events, and hints that judge one event for one pod.

Names and bits are kube-scheduler's; so a plugin's `events()` reads like its `EventsToRegister`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntFlag
from typing import Any

import msgspec

from mooring.model.objects import Pod


class Action(IntFlag):
    ADD = 1
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    UPDATE = (1 << 13) - (1 << 2)
    ALL = (1 << 13) - 1


POD, ASSIGNED_POD, UNSCHEDULABLE_POD, NODE, ANY = "Pod", "AssignedPod", "UnschedulablePod", "Node", "*"


class Hint(Enum):
    QUEUE = "Queue"
    SKIP = "QueueSkip"


HintFunction = Callable[[Pod, Any, Any], Hint]  # (waiting pod, old object, new object)


class Interest(msgspec.Struct, frozen=True):
    """One kind of event a plugin wants its rejected pods to be tried again for."""

    resource: str
    action: Action
    hint: HintFunction | None = None  # None: every such event may help


class ClusterEvent(msgspec.Struct, frozen=True):
    """Something that happened. `wildcard` events are about no resource in particular."""

    resource: str
    action: Action
    label: str = ""
    old: Any = None
    new: Any = None
    given_back: bool = False  # a place that an attempt took and gave back: nobody is tried before his time

    @property
    def wildcard(self) -> bool:
        return self.resource == ANY and self.action == Action.ALL

    def wanted_by(self, interest: Interest) -> bool:
        if interest.resource == ANY and interest.action == Action.ALL:
            return True
        same = interest.resource in (self.resource, ANY) or (
            interest.resource == POD and self.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
        )
        return same and bool(interest.action & self.action) and self.action <= interest.action


EVERYTHING = (Interest(ANY, Action.ALL),)
