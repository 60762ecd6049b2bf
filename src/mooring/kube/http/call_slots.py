"""How many calls to the API server are under way, and whose turn is next when there are too many.

Binding comes first, then what is written about waiting pods, then Events. Nobody starves: every so many
turns one goes to whoever comes last.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

BINDING, STATUS, EVENT = range(3)  # lanes, the most urgent first
LANES = (BINDING, STATUS, EVENT)
CALLS_IN_FLIGHT = 64  # twice as many as there are connections at first
TURNS = 8  # every so many turns the least urgent lane goes first


class Slots:
    """Each call takes a slot and gives it back, with its lane. `on_free` hears when nobody waits for one."""

    def __init__(self, limit: int = CALLS_IN_FLIGHT) -> None:
        self.on_free: Callable[[], None] = lambda: None
        self.limit = limit
        self._free = limit  # below zero: so many too many are under way
        self._waiting: tuple[deque[asyncio.Future[None]], ...] = tuple(deque() for _ in LANES)
        self._turn = 0
        self._binding = 0  # bindings that hold a slot or wait for one
        self.quiet = asyncio.Event()  # set while nothing is being bound
        self.quiet.set()

    def free(self) -> int:
        return self._free

    def resize(self, limit: int) -> None:
        """From now on so many. Calls that are under way go on."""
        self._free += limit - self.limit
        self.limit = limit
        waiting = sum(map(len, self._waiting))
        for _ in range(min(self._free, waiting)):
            self._free -= 1
            self._pass_on()
        if self._free > 0:
            self.on_free()

    @asynccontextmanager
    async def of(self, lane: int) -> AsyncIterator[None]:
        """A slot for as long as the block lasts."""
        if not self.take_now(lane):
            await self.take(lane)
        try:
            yield
        finally:
            self.give(lane)

    def take_now(self, lane: int) -> bool:
        """Takes a slot if one is free: the quick way, without waiting."""
        if self._free <= 0:
            return False
        self._free -= 1
        if lane == BINDING:
            self._begin()
        return True

    async def take(self, lane: int) -> None:
        """Takes a slot, or waits for one."""
        if self.take_now(lane):
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(turn)
        if lane == BINDING:
            self._begin()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot came too late to be of use
                self._pass_on()
            turn.cancel()
            if lane == BINDING:
                self._end()
            raise

    def give(self, lane: int) -> None:
        """Gives a slot back, to whoever waits for one."""
        if lane == BINDING:
            self._end()
        self._pass_on()

    def _pass_on(self) -> None:
        if self._free < 0:
            self._free += 1  # there are fewer now
            return
        self._turn += 1
        for lane in reversed(LANES) if self._turn % TURNS == 0 else LANES:
            waiting = self._waiting[lane]
            while waiting:
                turn = waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free += 1
        self.on_free()

    def _begin(self) -> None:
        self._binding += 1
        if self._binding == 1:
            self.quiet.clear()

    def _end(self) -> None:
        self._binding -= 1
        if self._binding == 0:
            self.quiet.set()
