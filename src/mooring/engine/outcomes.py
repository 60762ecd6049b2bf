"""What a step of an attempt comes to: the pod is on its way, fits nowhere, or something failed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import TypeVar, final

import msgspec

from mooring.engine.placement.fit_error import NO_NODES, FitError
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.model.texts import clipped

log = logging.getLogger("mooring.engine")

WENT_WRONG = "deciding about the pod went wrong"
A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


class Progress(Enum):
    """Nothing has to be told of the pod now."""

    PLACED = "placed"
    WAITS_AT_PERMIT = "waits at permit"
    PARKED = "parked"  # until extenders have answered


PLACED, WAITS_AT_PERMIT, PARKED = Progress  # quicker to find so


@final
class Unfit(msgspec.Struct, frozen=True, eq=False):
    """The pod fits nowhere, or is refused the place it found. `nominated` None leaves that as it is."""

    why: FitError
    said: str | None = None  # when it is more than why
    nominated: str | None = None

    @property
    def message(self) -> str:
        return self.why.message() if self.said is None else self.said


@final
class NoNodes(msgspec.Struct, frozen=True):
    """There is no node at all."""

    message: str = NO_NODES


@final
class Failed(msgspec.Struct, frozen=True, eq=False):
    """A plugin failed, or something else that is no answer: no event can help, only another attempt."""

    message: str
    plugin: str = ""
    error: Exception | None = None  # that nobody foresaw

    def log(self, about: str) -> None:
        """Logs what nobody foresaw."""
        if self.error is not None:
            log.error("deciding about %s went wrong", about, exc_info=self.error)


NO_NODE = NoNodes()
Outcome = Progress | Unfit | NoNodes | Failed


def outcome_of(step: Callable[[A, B], T], first: A, second: B) -> T | Failed:
    """What a step comes to."""
    try:
        return step(first, second)
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> Failed:
    """Here, and nowhere else, the failure of a plugin becomes an outcome."""
    if isinstance(error, PluginFailed):
        return Failed(str(error), error.plugin)
    return Failed(clipped(f"{WENT_WRONG}: {answers.words_of(error)}"), error=error)
