"""Sees to it that nothing is decided on a view that is known to be old, and that pods in line say so.

When pods or nodes have not been followed for a while, deciding stops until all that happened meanwhile is
known. It is said once, is seen in `/readyz` and in metrics, and on the pods that wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from mooring.app.driver import Driver
from mooring.engine.decisions import Wait
from mooring.kube.resources import NODES, PODS
from mooring.kube.watch.informers import Informers

log = logging.getLogger("mooring.app")

STALE_AFTER_S = 5.0  # a watch that is cut is open again within two; a leader gives up only after ten
LOOK_S = 0.5
PAUSED_LOOK_S = 0.05  # while nothing is decided
TOLD_AT_ONCE = 250  # pods on which it is said, with each look
IN_LINE_AT_ONCE = 25  # that wait for their turn only: others are being bound, and theirs comes
SIGHT = "sight"  # why the driver pauses
PAUSED = "scheduling is paused: {} have not been followed for {:.0f} s"


class Lookout:
    """Of one scheduler. `tell` writes on a pod why it waits; `may_write` says whether that is of any use."""

    def __init__(
        self,
        informers: Informers,
        driver: Driver,
        tell: Callable[[Wait], None],
        *,
        may_write: Callable[[], bool] = lambda: True,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._informers = informers
        self._driver = driver
        self._tell = tell
        self._may_write = may_write
        self._sleep = sleep

    @property
    def failing(self) -> str:
        """Why nothing is decided; "" as long as something may be."""
        if not self._driver.is_paused:
            return ""
        return self._stale() or "scheduling is paused until all that has happened is known"

    def ages(self) -> dict[str, float]:
        """For how many seconds kinds that must be followed have not been."""
        return {kind.plural: self._informers.age(kind) for kind in (PODS, NODES)}

    async def run(self) -> None:
        """Looks for ever."""
        while True:
            await self._sleep(LOOK_S)
            if why := self._stale():
                await self._pause(why)
            elif self._driver.deciding and self._may_write():
                self._tell_pods(IN_LINE_AT_ONCE)

    def _stale(self) -> str:
        kind, age = max(self.ages().items(), key=lambda each: each[1])
        return PAUSED.format(kind, age) if age > STALE_AFTER_S else ""

    async def _pause(self, why: str) -> None:
        log.warning("%s", why)
        self._driver.pause(SIGHT)
        words = self._driver.engine.words
        words.pause(why)
        while why:
            if self._may_write() and self._informers.is_in_touch:
                self._tell_pods(TOLD_AT_ONCE)
            why = await self._until_seen()
        words.pause("")
        self._driver.resume(SIGHT)
        log.info("scheduling goes on: pods and nodes are followed again")

    async def _until_seen(self) -> str:
        """Why it is still paused; "" as soon as it need not be. Looks often, for the time of one look."""
        for _ in range(round(LOOK_S / PAUSED_LOOK_S)):
            await self._sleep(PAUSED_LOOK_S)
            if not self._stale():
                await self._informers.catch_up(PODS, NODES)
                await self._driver.caught_up()
                break
        return self._stale()

    def _tell_pods(self, most: int) -> None:
        engine = self._driver.engine
        for wait in engine.words.in_line(most, engine.now):
            self._tell(wait)
