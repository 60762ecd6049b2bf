"""Evicts pods: says why in their status, deletes them, records an Event.

Most make room for another pod; one that is evicted for a reason of its own goes by itself. All victims of
one pod but the last go at the same time, then the last one: when it is gone, so are the others. When one of
them stays, the last one is spared: it would go for nothing.

Who they make room for is tried again as soon as it is told that one of them stays. So that is told after a
pause: what the API server refuses now it most likely refuses again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from mooring.engine.cycle.event_words import words_of
from mooring.engine.decisions import Evict
from mooring.engine.events import Event, EvictFailed
from mooring.errors import MooringError
from mooring.kube.perform.ordered_tasks import Pool
from mooring.kube.record.recorder import Recorder

log = logging.getLogger("mooring.kube")

PAUSE_S = 1.0
SPARED = "another pod that was to make room with it stays"

DeletePod = Callable[[Evict], Coroutine[Any, Any, None]]


class Group:
    """The victims of one pod, or one that goes for a reason of its own."""

    def __init__(self) -> None:
        self.victims: list[Evict] = []
        self.left = 0  # victims other than the last that are still being evicted
        self.failed = False


class Evictions:
    """Takes victims one by one; those decided in one go form a group."""

    def __init__(
        self,
        pool: Pool,
        delete: DeletePod,
        tell: Callable[[Event], None],
        recorder: Recorder,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._pool = pool
        self._delete = delete
        self._tell = tell
        self._recorder = recorder
        self._sleep = sleep
        self._groups: dict[str, Group] = {}  # by who they make room for, or their own uid; not begun yet
        self.open = 0  # groups of which some victim is yet to be evicted

    def perform(self, decision: Evict) -> None:
        together = decision.by or decision.pod.uid
        group = self._groups.get(together)
        if group is None:
            group = self._groups[together] = Group()
            self.open += 1
            asyncio.get_running_loop().call_soon(self._begin, together)
        group.victims.append(decision)

    def drop(self) -> None:
        """Forgets what was not begun."""
        self._groups.clear()

    def _begin(self, together: str) -> None:
        group = self._groups.pop(together, None)
        if group is None:
            return
        others = group.victims[:-1]
        group.left = len(others)
        for decision in others:
            self._pool.submit(decision.pod.key, self._evict, (group, decision))
        if not others:
            self._finish(group)

    def _finish(self, group: Group) -> None:
        self.open -= 1
        last = group.victims[-1]
        if group.failed:
            self._tell(EvictFailed(last.pod, last.by, SPARED))
        else:
            self._pool.submit(last.pod.key, self._evict, (None, last))

    async def _evict(self, subject: tuple[Group | None, Evict]) -> None:
        group, decision = subject
        try:
            if not decision.pod.terminating:  # else it is on its way out already
                await self._delete(decision)
                self.record(decision)
        except MooringError as error:
            room = f" to make room for {decision.by}" if decision.by else ""
            log.warning("evicting %s%s: %s", decision.pod.key, room, error)
            await self._sleep(PAUSE_S)
            self._tell(EvictFailed(decision.pod, decision.by, str(error)))
            if group is not None:
                group.failed = True
        if group is not None:
            group.left -= 1
            if not group.left:
                self._finish(group)

    def record(self, decision: Evict, *, in_memory: bool = False) -> None:
        """Tells who reads Events. `in_memory`: the victim was not bound yet, and goes on waiting."""
        pod, preemptor = decision.pod, decision.preemptor
        words = words_of(decision, preemptor.uid if preemptor else decision.by, in_memory=in_memory)
        self._recorder.record(
            "Normal",
            words.reason,
            words.action,
            pod,
            words.note,
            controller=(preemptor or pod).spec.scheduler_name,
            related=preemptor,
        )
