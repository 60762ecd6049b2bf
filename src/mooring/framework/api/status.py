"""What a plugin answers: a `Status`, or nothing when all is well.

The codes and their meaning at each extension point are kube-scheduler's.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec


class Code(IntEnum):
    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6


REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


class Status(msgspec.Struct, frozen=True, cache_hash=True):
    """A code with its reasons. `plugin` is filled in by the framework."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    timeout_s: float = 0.0  # with WAIT: how long to wait at most
    passing: bool = False  # of a gate: it opens by itself soon

    @property
    def rejected(self) -> bool:
        """The pod does not fit, as opposed to something having gone wrong."""
        return self.code in REJECTIONS

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """The same status, signed by the plugin that gave it."""
        return self if self.plugin == plugin else msgspec.structs.replace(self, plugin=plugin)


SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    """The pod does not fit now; evicting others might help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """The pod does not fit, and evicting others cannot help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def passing(*reasons: str) -> Status:
    """Of a gate that opens by itself soon: what was said of the pod before still holds."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, passing=True)


def pending(*reasons: str) -> Status:
    """The pod waits for something this plugin knows of: it is tried again at once when that comes."""
    return Status(Code.PENDING, reasons)


def wait(timeout_s: float, *reasons: str) -> Status:
    """At permit: keep the place and wait to be allowed, for so long at most."""
    return Status(Code.WAIT, reasons, timeout_s=timeout_s)


def skip() -> Status:
    """The plugin has nothing to say about this pod."""
    return SKIP


def error(*reasons: str) -> Status:
    """Something went wrong that is not the pod's fault."""
    return Status(Code.ERROR, reasons)
