"""`/debug/profile?seconds=5`: where the process spends its time, while it runs and without a restart.

A thread looks at what every other one is doing, a hundred times a second, and counts. The answer is collapsed
stacks, one a line with its count (`flamegraph.pl`, speedscope and others read that). Nothing is installed,
and nothing is slowed down while nobody asks.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import CodeType, FrameType

from aiohttp import web

SECONDS, MOST_SECONDS = 5.0, 60.0
A_SECOND = 100.0
DEEPEST = 200  # frames of a stack
MOST_STACKS = 20_000
OTHERS = ("(other stacks)",)
INDEX = (
    "/debug/profile?seconds=5: what the process does, as collapsed stacks (flamegraph.pl, speedscope)\n"
    "/debug/flags/v, /debug/flags/s, /debug/flags/f: what is logged, changed by PUT\n"
)

Stack = tuple[str, ...]
Frames = Callable[[], Mapping[int, FrameType]]


class Profiler:
    """One profile at a time."""

    def __init__(self, frames: Frames = sys._current_frames) -> None:
        self._frames = frames
        self._taking = False
        self._over = threading.Event()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/debug/profile", self._profile),
            web.get("/debug/pprof", self._index),
            web.get("/debug/pprof/", self._index),
        ]

    def stop(self) -> None:
        """What is being taken ends now."""
        self._over.set()

    def take(self, seconds: float) -> Counter[Stack]:
        """Counts for so long; in a thread of its own."""
        found: Counter[Stack] = Counter()
        names: dict[CodeType, str] = {}
        for _ in range(int(seconds * A_SECOND)):
            if self._over.wait(1 / A_SECOND):
                break
            for stack in self._stacks(names):
                found[stack if stack in found or len(found) < MOST_STACKS else OTHERS] += 1
        return found

    def _stacks(self, names: dict[CodeType, str]) -> list[Stack]:
        threads = {thread.ident: thread.name for thread in threading.enumerate()}
        own = threading.get_ident()
        return [
            (threads.get(number, "thread"), *_stack(frame, names))
            for number, frame in self._frames().items()
            if number != own
        ]

    async def _index(self, request: web.Request) -> web.Response:
        return web.Response(text=INDEX)

    async def _profile(self, request: web.Request) -> web.Response:
        text = request.query.get("seconds", str(SECONDS))
        try:
            seconds = float(text[:20])
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= MOST_SECONDS:
            return web.Response(status=400, text=f"seconds is between 0 and {MOST_SECONDS:g}\n")
        if self._taking:
            return web.Response(status=429, text="a profile is being taken already\n")
        self._taking = True
        try:
            return web.Response(text=collapsed(await asyncio.to_thread(self.take, seconds)))
        finally:
            self._taking = False


def collapsed(stacks: Counter[Stack]) -> str:
    """The most frequent first."""
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in stacks.most_common())


def _stack(frame: FrameType | None, names: dict[CodeType, str]) -> Stack:
    """From the outermost call to the innermost."""
    found: list[str] = []
    while frame is not None and len(found) < DEEPEST:
        code = frame.f_code
        if code not in names:
            names[code] = f"{_module(code.co_filename)}:{code.co_qualname}".replace(";", ",").replace(
                " ", "_"
            )
        found.append(names[code])
        frame = frame.f_back
    return tuple(reversed(found))


def _module(path: str) -> str:
    """`mooring/web/server.py` of wherever it is installed."""
    parts = PurePath(path).parts
    for root in ("site-packages", "src"):
        if root in parts:
            return "/".join(parts[parts.index(root) + 1 :])
    return "/".join(parts[-2:])
