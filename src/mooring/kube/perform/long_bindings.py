"""Pods whose plugins take long before they are bound: each says so, and is bound once that is written.

Written later, it would say of a pod that is bound that it waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from mooring.engine.decisions import WAITING_AT_PRE_BIND, Bind
from mooring.errors import ApiError
from mooring.kube.perform.pod_statuses import Statuses, Wanted, condition_of
from mooring.kube.record.recorder import Recorder

log = logging.getLogger("mooring.kube")

LONG_S = 0.3  # before that nothing is said
WORDS = "has a place on node {} and waits for what is to be done before it is bound, by {}"


class LongBindings:
    """Of one performer."""

    def __init__(self, statuses: Statuses, recorder: Recorder) -> None:
        self._statuses = statuses
        self._recorder = recorder
        self._timers: dict[str, asyncio.TimerHandle] = {}  # by uid: of who waits, and of what is written
        self._telling: dict[str, asyncio.Task[None]] = {}

    async def follow(self, decision: Bind, plugins: list[str], binding: Coroutine[Any, Any, None]) -> None:
        """Has a pod bound, before which these plugins have something to do."""
        uid, tell = decision.pod.uid, partial(self._tell, decision, plugins)
        if plugins:
            self._timers[uid] = asyncio.get_running_loop().call_later(LONG_S, tell)
        try:
            await binding
        finally:
            self._forget(uid)

    async def told(self, uid: str) -> None:
        """Waits until a pod that is about to be bound says what it has to; nothing is said of it later."""
        if (telling := self._forget(uid)) is not None:
            await asyncio.wait([telling])

    def _forget(self, uid: str) -> asyncio.Task[None] | None:
        if (timer := self._timers.pop(uid, None)) is not None:
            timer.cancel()
        return self._telling.pop(uid, None)

    def _tell(self, decision: Bind, plugins: list[str]) -> None:
        pod, note = decision.pod, WORDS.format(decision.node, ", ".join(plugins))
        why = condition_of("PodScheduled", "False", WAITING_AT_PRE_BIND, note)
        self._telling[pod.uid] = asyncio.ensure_future(self._write(Wanted(pod, why)))
        self._recorder.record(
            "Normal", WAITING_AT_PRE_BIND, "Scheduling", pod, note, controller=decision.profile
        )

    async def _write(self, wanted: Wanted) -> None:
        try:
            await self._statuses.write(wanted)
        except ApiError as error:
            log.debug("writing the status of %s: %s", wanted.pod.key, error)
