"""What the engine decides, as plain data. Whoever performs it decides nothing, and reports by an event."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.framework.api.writes import Write
from mooring.model.objects import Object, Pod
from mooring.model.texts import LONGEST_MESSAGE, clipped


class Bind(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Bind the pod: pre-bind, one write of `patch` if there is any, bind. Answered by Bound or BindFailed.

    Plugins that bind are given what they wrote down when the pod was placed: `Engine.binding_state` has it,
    by the number of the attempt.
    """

    pod: Pod
    node: str
    profile: str
    attempt: int
    patch: dict[str, Any] = {}
    extender: int | None = None  # the number of the one that binds instead of the plugins


class Consult(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Ask an extender, given by its number, about the pod. Answered by Consulted with the same `number`.

    The pod waits for the answer without a place; others are decided meanwhile.
    """

    pod: Pod
    extender: int
    verb: str
    body: bytes
    number: int
    nodes: int = 1  # that it is asked about


class Wait(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The pod gets no place now: condition PodScheduled=False with this reason and message, and an Event.

    `nominated` None leaves status.nominatedNodeName alone, "" clears it. Of pods that wait for the same, the
    first says how many they are, and the others 0: a line of a log will do for them.
    """

    pod: Pod
    reason: str
    message: str
    plugins: tuple[str, ...] = ()
    nominated: str | None = None
    together: int = 1

    @property
    def is_answer(self) -> bool:
        """Whether an attempt has failed, as opposed to there being none yet or one under way."""
        return self.reason in ANSWERS

    def __post_init__(self) -> None:
        _cut_message(self)


class Evict(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Delete the pod; reason and message go into its DisruptionTarget condition.

    `by` is the key of the pod it makes room for, "" when it goes for a reason of its own: then they are in
    the Event as well. A pod that is still being bound is spared if the bind itself was not sent: it is called
    off instead, and answered by BindFailed. `in_memory`: the pod only waited at permit and lost its place, so
    that nothing is left to do but to record it. Answered by the pod's own events, or by EvictFailed.
    """

    pod: Pod
    by: str
    reason: str
    message: str
    node: str = ""  # where it is, or was to be
    preemptor: Pod | None = None  # the pod of the key `by`, for the Event
    in_memory: bool = False

    def __post_init__(self) -> None:
        _cut_message(self)


class Nominate(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Write status.nominatedNodeName of the pod."""

    pod: Pod
    node: str


class Look(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Ask for the last state of a pod that is no longer followed. Answered by PodDeleted with that state, or
    with the pod as it is given here when it is not there any more."""

    pod: Pod


class Refuse(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Tell by an Event on an object that it cannot be taken in, or that something it says does not count."""

    about: Object  # who it is, without its data
    message: str
    profile: str  # in whose name

    def __post_init__(self) -> None:
        _cut_message(self)


Decision = Bind | Consult | Wait | Evict | Nominate | Write | Look | Refuse

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
ANSWERS = frozenset({UNSCHEDULABLE, SCHEDULER_ERROR})  # kube-scheduler's, who writes no others

# Why a pod waits without an attempt that failed: whoever adds nodes for Unschedulable pods lets it be.
SCHEDULING_GATED = "SchedulingGated"  # the API server's: it has the condition already
HELD_BACK, WAITING_AT_PERMIT, ASKING_EXTENDER = "HeldBack", "WaitingAtPermit", "AskingExtender"
IN_LINE, WAITING_AT_PRE_BIND = "InLine", "WaitingAtPreBind"


def _cut_message(decision: Wait | Evict | Refuse) -> None:
    """Whoever decides, and whatever he quotes: the API server takes the message."""
    if len(decision.message) > LONGEST_MESSAGE or not decision.message.isascii():
        msgspec.structs.force_setattr(decision, "message", clipped(decision.message, LONGEST_MESSAGE))
