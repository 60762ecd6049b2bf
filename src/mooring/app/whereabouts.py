"""What a thread is doing, read off its stack: which plugin it is in, at which point, and for which pod.

Costs nothing until somebody asks. A frame belongs to a policy when its function is written in one of the
policies' files, or is a method of a plugin that is not built in. Whoever calls policies is a host: Mooring
itself, asyncio, Python's imports.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import mooring
from mooring.engine.attempt import Attempt
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.inspection import built_in
from mooring.model.objects import Pod

HOSTS = (f"{Path(mooring.__file__).parent}/", f"{Path(asyncio.__file__).parent}/", "<frozen importlib")
LOCKING = frozenset({"logging", "threading", "queue"})  # what must not be left in the middle
POD_NAMES = ("pod", "queued", "attempt")  # what Mooring calls a pod, or who has one


class Call(NamedTuple):
    """A call of a policy that is under way."""

    frame: FrameType
    place: str  # where it is, in the policy's own code

    @property
    def text(self) -> str:
        """Who is called and for whom, in words."""
        who = self.frame.f_locals.get("self")
        name = who.name if isinstance(who, Plugin) else Path(self.frame.f_code.co_filename).name
        pod = _pod(self.frame)
        about = f", pod {pod.key}" if pod is not None else ""
        return f"plugin {name}, {self.frame.f_code.co_name}{about}, at {self.place}"


class Policies:
    """Tells the frames of policies from others."""

    def __init__(self, files: Collection[str]) -> None:
        self._files = tuple(files)  # or folders, which end with a slash

    def own(self, frame: FrameType) -> bool:
        file = frame.f_code.co_filename
        if file.startswith(HOSTS):
            return False
        if file.startswith(self._files):
            return True
        who = frame.f_locals.get("self")
        return isinstance(who, Plugin) and not built_in(type(who))

    def call(self, frame: FrameType | None) -> Call | None:
        """The policy's call a stack is in, the outermost if there are several."""
        called, place = None, ""
        for each in _outwards(frame):
            if self.own(each):
                called, place = each, place or _place(each)
        return None if called is None else Call(called, place)

    def may_be_left(self, frame: FrameType) -> bool:
        """Whether an exception may be raised here: only where a policy might raise one itself, since whoever
        calls policies expects that, and nobody expects it in the middle of his own work."""
        is_own = False  # a policy's code may be called by Python's own, as a value's `__repr__` is
        for each in _outwards(frame):
            if each.f_code.co_filename.startswith(HOSTS):
                break
            if each.f_globals.get("__name__", "") in LOCKING:
                return False
            is_own = is_own or self.own(each)
        return is_own


def doing(policies: Policies, frame: FrameType | None) -> str:
    """What a stack is at, in words."""
    if (call := policies.call(frame)) is not None:
        return call.text
    if frame is None:
        return ""
    pod = _pod(frame)
    about = f", pod {pod.key}" if pod is not None else ""
    return f"{frame.f_code.co_qualname}{about}, at {_place(frame)}"


def main_frame(thread: int) -> FrameType | None:
    """The innermost frame of a thread."""
    return sys._current_frames().get(thread)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _pod(frame: FrameType) -> Pod | None:
    """The pod a call is about: one of its arguments, or its caller's."""
    for value in frame.f_locals.values():
        if isinstance(value, Pod):
            return value
    for each in _outwards(frame.f_back):
        for value in map(each.f_locals.get, POD_NAMES):
            queued = value.queued if isinstance(value, Attempt) else value
            pod = queued.pod if isinstance(queued, QueuedPod) else queued
            if isinstance(pod, Pod):
                return pod
    return None
