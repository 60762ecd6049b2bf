"""Drives an engine in real time: tells it what happens, has it decide, passes its decisions on.

Everything the engine does happens here, between two turns of the event loop, and never for longer than
a slice, so that answers of the API server are read while a long queue is worked off.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from mooring.engine.decisions import Decision
from mooring.engine.engine import Engine
from mooring.engine.events import Event, Tick

log = logging.getLogger("mooring.app")

SLICE_S = 0.002
SHORTEST_REST_S = 0.001  # a tick that changes nothing must not be followed by the next at once
AHEAD_REST_S = 0.005
BREATH_S = 0.001  # between two turns of work, so that what is told meanwhile is taken in in one
BUSY = 64  # decisions that are being carried out: nothing is gained by taking in each answer at once, so
BUSY_BREATH_S = 0.005  # work is done in fewer turns
AHEAD = 2000  # decisions that may wait to be carried out before deciding pauses


class Clock:
    """Seconds since the epoch when it is made, going on evenly whatever happens to the system's clock."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()


class Driver:
    """One engine at work. Events are taken in from the start; decisions are made from `start` to `halt`."""

    def __init__(
        self,
        engine: Engine,
        perform: Callable[[Decision], None],
        *,
        clock: Callable[[], float],
        in_flight: Callable[[], int] = lambda: 0,
        slice_s: float = SLICE_S,
    ) -> None:
        self.engine = engine
        self.deciding = False
        self._pauses: set[str] = set()  # for which reasons nothing is decided now
        self._perform = perform
        self._clock = clock
        self._in_flight = in_flight
        self._slice_s = slice_s
        self._is_ahead = False  # deciding pauses until some of what is decided is carried out
        self._events: deque[Event] = deque()
        self._awake = asyncio.Event()
        self._handled: list[asyncio.Future[None]] = []

    def tell(self, event: Event) -> None:
        """Hands an event in; it is taken in at the next turn."""
        self._events.append(event)
        self._awake.set()

    def start(self) -> None:
        """From now on pods are scheduled."""
        self.deciding = True
        self._pass_on(list(self.engine.refusals.standing.values()))  # nobody carried it out so far
        self._awake.set()

    @property
    def is_paused(self) -> bool:
        return bool(self._pauses)

    def pause(self, reason: str) -> None:
        """No pod is tried for now; what is decided already is passed on, and events are taken in."""
        self._pauses.add(reason)

    def resume(self, reason: str) -> None:
        """Pods are tried again, unless there is another reason left not to."""
        self._pauses.discard(reason)
        self._awake.set()

    def halt(self) -> None:
        """From now on nothing is decided and nothing is passed on; events are still taken in."""
        self.deciding = False

    async def caught_up(self) -> None:
        """Waits until all that has been told so far is taken in."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._handled.append(done)
        self._awake.set()
        await done

    async def run(self) -> None:
        """Works for ever."""
        time_of_loop = asyncio.get_running_loop().time
        while True:
            if self.turn():
                await asyncio.sleep(0)
                continue
            worked = time_of_loop()
            await self._rest()
            breath_s = BUSY_BREATH_S if self._is_busy() else BREATH_S
            if (rested_s := time_of_loop() - worked) < breath_s:
                await asyncio.sleep(breath_s - rested_s)

    def turn(self) -> bool:
        """One slice of work. True when there is more to do at once."""
        end = self._clock() + self._slice_s
        if self._take_events(end):
            return True
        self._say_caught_up()
        return self.deciding and not self._pauses and self._decide(end)

    def _take_events(self, end: float) -> bool:
        """Takes events in until none is left, or the slice is over (True)."""
        events, handle, clock = self._events, self.engine.handle, self._clock
        now = clock()
        while events:
            if now > end:
                return True
            if decided := handle(events.popleft(), now):
                self._pass_on(decided)
            now = clock()
        if (wake := self.engine.wake_at()) is not None and wake <= now:
            self._pass_on(handle(Tick(), now))
        return False

    def _decide(self, end: float) -> bool:
        schedule, clock = self.engine.schedule, self._clock
        while (now := clock()) <= end:
            self._is_ahead = self._in_flight() >= AHEAD
            if self._is_ahead:
                return False
            decisions = schedule(now)
            if decisions is None:
                return not self._is_busy() and self.engine.catch_up()
            self._pass_on(decisions)
        return True

    def _is_busy(self) -> bool:
        return self._in_flight() >= BUSY

    def _pass_on(self, decisions: list[Decision]) -> None:
        for decision in decisions if self.deciding else ():
            self._perform(decision)

    def _say_caught_up(self) -> None:
        waiting, self._handled = self._handled, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    async def _rest(self) -> None:
        """Sleeps until something is told, or a moment comes at which time alone changes something."""
        self._awake.clear()
        if self._events or self._handled:
            return
        longest = self._longest_rest()
        timer = None if longest is None else asyncio.get_running_loop().call_later(longest, self._awake.set)
        try:
            await self._awake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _longest_rest(self) -> float | None:
        if self._is_ahead:
            return AHEAD_REST_S
        wake = self.engine.wake_at()
        return None if wake is None else max(SHORTEST_REST_S, wake - self._clock())
