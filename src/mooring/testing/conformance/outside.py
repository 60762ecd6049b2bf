"""Hears what a policy calls that would make a run different each time: clocks, chance, files, networks."""

from __future__ import annotations

import datetime
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

CLOCKS = {
    f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep")
}
OTHERS = {"posix.urandom", "nt.urandom", "_io.open", "io.open", "posix.open", "_socket.getaddrinfo"}
UNREPEATABLE = CLOCKS | OTHERS
OF_DATES = frozenset({"now", "utcnow", "today"})
AT_LIBERTY = (
    "logging",
    "warnings",
    "traceback",
    "linecache",
    "importlib",
)  # what is written is not decided by


class Listener:
    """While it listens, the first such call is in `heard`."""

    def __init__(self, is_of_policy: Callable[[str], bool]) -> None:
        self.heard = ""
        self._is_of_policy = is_of_policy
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        if self._before is None:  # whoever measures goes on measuring
            sys.setprofile(self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            sys.setprofile(None)

    def _hear(self, frame: FrameType, event: str, called: Any) -> None:
        if self.heard:
            return
        if event == "c_call":
            name = _named(called)
        elif event == "call" and frame.f_globals.get("__name__") == "random":
            name = "random" if frame.f_locals.get("self") is random._inst else ""
        else:
            return
        if name and self._counts(frame):
            self.heard = name

    def _counts(self, frame: FrameType | None) -> bool:
        """Whether the policy wants it, rather than what it logs with."""
        while frame is not None and frame.f_globals.get("__name__") != "mooring.testing.conformance.watch":
            module = str(frame.f_globals.get("__name__"))
            if module.startswith(AT_LIBERTY) or not self._is_of_policy(module):
                return False
            frame = frame.f_back
        return True


def _named(called: Any) -> str:
    """The name of a call that is different each time; "" of any other."""
    owner = getattr(called, "__self__", None)
    if owner is random._inst or isinstance(owner, random.SystemRandom):
        return f"random.{called.__name__}"
    if isinstance(owner, type) and issubclass(owner, datetime.date) and called.__name__ in OF_DATES:
        return f"{owner.__name__}.{called.__name__}"
    name = f"{getattr(called, '__module__', '')}.{getattr(called, '__name__', '')}"
    return name if name in UNREPEATABLE else ""
