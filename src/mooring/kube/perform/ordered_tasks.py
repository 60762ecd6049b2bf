"""Runs work as tasks, so many at a time; what concerns one object is done in the order it was asked for."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

log = logging.getLogger("mooring.kube")

TASKS = 1000
TURNS = 8  # every so many starts one goes to what is not urgent

Work = Callable[[Any], Coroutine[Any, Any, None]]


class Job(NamedTuple):
    """A coroutine function and what it is called with."""

    work: Work
    subject: Any


class Line:
    """The jobs of one object. Once it is begun, the first one is being done."""

    __slots__ = ("begun", "jobs", "task", "urgent")

    def __init__(self, urgent: bool) -> None:
        self.jobs: deque[Job] = deque()
        self.task: asyncio.Task[None] | None = None
        self.begun = False
        self.urgent = urgent

    def unbegun(self) -> list[Job]:
        return list(self.jobs)[self.begun :]


class Pool:
    """Lines of jobs by key. What goes wrong is told by the work itself: it is not to raise.

    `room` says how many tasks will find what they need first. Others are not started: they would only
    wait. Whoever makes room calls `start_soon`.
    """

    def __init__(self, limit: int = TASKS, room: Callable[[], int] = lambda: TASKS) -> None:
        self._limit = limit
        self._room = room
        self._fresh = 0  # tasks that are started and have not had their first turn
        self._lines: dict[str, Line] = {}
        self._urgent: deque[str] = deque()  # keys of lines to start
        self._others: deque[str] = deque()
        self._running = 0
        self._starts = 0
        self._will_start = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        """How many objects have something to do or being done."""
        return len(self._lines)

    def submit(self, key: str, work: Work, subject: Any, *, urgent: bool = True) -> None:
        """Does something about the object, after all that was asked for before."""
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(urgent)
            (self._urgent if urgent else self._others).append(key)
            self._idle.clear()
        elif urgent and not line.urgent:
            line.urgent = True  # what waits before it in the line is hurried along
            if line.task is None:
                self._urgent.append(key)
        line.jobs.append(Job(work, subject))
        if line.task is None and self._running < self._limit:
            self.start()

    def line(self, key: str) -> Line | None:
        return self._lines.get(key)

    def superseded(self, key: str) -> bool:
        """Whether something else is to be done about the object after what is being done now."""
        line = self._lines.get(key)
        return line is not None and len(line.jobs) > 1

    @contextmanager
    def parked(self) -> Iterator[None]:
        """Somebody else may run while this task waits for the world to change."""
        self._running -= 1
        self.start()
        try:
            yield
        finally:
            self._running += 1

    async def idle(self) -> None:
        """Waits until there is nothing left to do."""
        await self._idle.wait()

    def drop(self) -> list[Job]:
        """Cancels what is being done; returns what had not been begun."""
        unbegun = [job for line in self._lines.values() for job in line.unbegun()]
        self._urgent.clear()
        self._others.clear()
        for key, line in list(self._lines.items()):
            if line.task is not None:
                line.task.cancel()
            if not line.begun:
                self._forget(key, line)
            else:
                line.jobs = deque([line.jobs[0]])
        return unbegun

    async def cancelled(self) -> None:
        """Waits until tasks that were cancelled have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def start(self) -> None:
        """Starts as many lines as may run now."""
        self._will_start = False
        while (key := self._next()) is not None:
            line = self._lines[key]
            self._running += 1
            self._fresh += 1
            line.task = task = asyncio.get_running_loop().create_task(self._run(key, line))
            self._tasks.add(task)

    def start_soon(self) -> None:
        """Starts lines at the end of this turn: whoever ends its own before goes on with one of them."""
        if (self._urgent or self._others) and not self._will_start:
            self._will_start = True
            asyncio.get_running_loop().call_soon(self.start)

    def _next(self) -> str | None:
        """The line to start now, if any may. One may be in both lists: its second mention is passed over."""
        if not (self._urgent or self._others) or self._running >= self._limit or self._fresh >= self._room():
            return None
        self._starts += 1
        turns = (self._others, self._urgent) if self._starts % TURNS == 0 else (self._urgent, self._others)
        for ready in turns:
            while ready:
                key = ready.popleft()
                line = self._lines.get(key)
                if line is not None and line.task is None:
                    return key
        return None

    async def _run(self, key: str, line: Line) -> None:
        """Works a line off, then others: a task for each of them would cost as much again."""
        task = line.task
        self._fresh -= 1
        try:
            while True:
                await self._work_off(key, line)
                following = self._next()
                if following is None:
                    return
                key, line = following, self._lines[following]
                line.task = task
                self._running += 1
        finally:
            self._tasks.discard(task)
            self.start_soon()

    async def _work_off(self, key: str, line: Line) -> None:
        line.begun = True
        try:
            while line.jobs:
                work, subject = line.jobs[0]
                try:
                    await work(subject)
                except Exception:
                    log.exception("carrying out a decision about %s", key)
                line.jobs.popleft()
        finally:
            self._forget(key, line)

    def _forget(self, key: str, line: Line) -> None:
        if self._lines.get(key) is line:
            del self._lines[key]
        if line.task is not None:
            self._running -= 1
            if not line.begun:
                self._fresh -= 1
                self._tasks.discard(line.task)
        if not self._lines:
            self._idle.set()
