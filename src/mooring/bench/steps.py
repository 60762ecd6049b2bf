"""Where a pod's microseconds go, part by part.

A timer that runs with the processor time of the process looks every few milliseconds which part of Mooring is
at work. Unlike a profiler it slows nothing down, so the parts add up to what a pod really takes; a part
that takes a tenth of it is told to within a tenth or two of itself by a few thousand looks.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Final, Self

import msgspec

import mooring

EVERY_S = 0.001  # of processor time; the kernel may look less often
PACKAGE = f"{Path(mooring.__file__).parent}/"

ELSEWHERE = "the rest of the framework"
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "events are taken in": ("engine/intake",),
    "the queue": ("engine/queue",),
    "the class is found": ("engine/placement/classes", "cluster/labelsets", "cluster/interning"),
    "gangs are looked for": ("plugins/coscheduling", "engine/gangs"),
    "what is kept is brought up to date": ("engine/placement/kept", "engine/placement/partly_kept"),
    "plugins judge the rows that changed": ("plugins",),
    "every node is looked at": (
        "engine/placement/full_evaluation",
        "engine/placement/node_by_node",
        "engine/placement/verdicts",
    ),
    "one of the best is chosen": ("engine/placement",),
    "the place is taken": ("cluster",),
    "the cycle around all this, and its decision": ("engine/cycle", "engine/engine"),
    "the story is noted": ("engine/story",),
    "the benchmark itself": ("bench",),
    ELSEWHERE: ("framework", "engine", "model"),
}


class Step(msgspec.Struct, frozen=True):
    """One part, and its share of the time."""

    part: str
    share: float
    us_per_pod: float


class Steps:
    """Looks while it is open."""

    def __init__(self) -> None:
        self._looks: Counter[str] = Counter()

    def __enter__(self) -> Self:
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # one may still be on its way

    def of(self, us_per_pod: float) -> tuple[Step, ...]:
        """The parts that took any of a pod's time, those that took most first."""
        looks = sum(self._looks.values())
        return tuple(
            Step(part, round(seen / looks, 4), round(us_per_pod * seen / looks, 2))
            for part, seen in self._looks.most_common()
        )

    def _look(self, signum: int, frame: FrameType | None) -> None:
        while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        if frame is not None:
            self._looks[part_of(frame.f_code.co_filename.removeprefix(PACKAGE))] += 1


def part_of(file: str) -> str:
    """The part a file of the package belongs to: the one that names it at greatest length."""
    found = [(len(name), part) for part, names in PARTS.items() for name in names if file.startswith(name)]
    return max(found)[1] if found else ELSEWHERE
