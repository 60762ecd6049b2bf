"""Watches that nothing holds the scheduler up for ever.

Once a second the system's timer has the main thread look at its own stack. A policy's call that has lasted
too long is interrupted: an exception is raised in it, so that it costs its pod one cycle. That also ends
`time.sleep`, waiting for a socket, and a regular expression that never comes to an end. What cannot be
interrupted keeps the loop from coming round: `stuck` says on what, to whoever keeps the lease, and after a
while Python itself writes where it hangs to standard error. Mooring's own work comes to an end by itself: a
gang of thousands may take its time, and ending the process would only have the next one begin it again.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Self

from mooring.app.whereabouts import Policies, doing, main_frame
from mooring.errors import PointTimedOut
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.inspection import built_in, source_of

log = logging.getLogger("mooring.app")

LIMIT_S = 5.0  # for one call of a policy; a thousand times what is ordinary
LOOKS = 5  # until then
AGAIN_S = 0.01  # to look again when a call is in the middle of what must not be left
STUCK_S = 10.0  # without the loop coming round
BUSY_S = 300.0  # the same, for Mooring's own work
BEAT_S = 0.5
LONGEST_PAUSE_S = 3.0  # between two questions: a process that was frozen was not stuck meanwhile
STANDARD_ERROR = 2  # whatever Python calls so
DUMP_S = 60.0  # without a look: not even signals are handled


class Watchdog:
    """Made, started and stopped in the main thread; `stuck` may be asked in any."""

    def __init__(
        self,
        policies: Policies,
        *,
        limit_s: float = LIMIT_S,
        stuck_s: float = STUCK_S,
        raises: type[BaseException] = PointTimedOut,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policies = policies
        self._limit_s, self._stuck_s = limit_s, stuck_s
        self._look_s, self._raises = limit_s / LOOKS, raises
        self._clock = clock
        self._main = threading.main_thread().ident or 0
        self._call: FrameType | None = None  # the one that was under way at the last look
        self._since = 0.0
        self._looks = 0
        self._busy_looks = self._busy_looks_seen = 0  # at Mooring's own work
        self._started = False
        self._beats = 0
        self._beats_seen, self._still_s, self._asked_at = 0, 0.0, clock()

    def __enter__(self) -> Self:
        signal.signal(signal.SIGALRM, self.look)
        self._started = True
        self._look_again(self._look_s)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        faulthandler.cancel_dump_traceback_later()

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on the loop is expected to come round."""
        self._beats += 1
        loop.call_later(BEAT_S, self.follow, loop)

    def look(self, number: int, frame: FrameType | None) -> None:
        """Looks at what the main thread is doing. Raises in a policy's call that has lasted too long."""
        self._looks += 1
        if self._beats and self._looks % 10 == 1:
            faulthandler.dump_traceback_later(DUMP_S, file=STANDARD_ERROR)
        now, call = self._clock(), self._policies.call(frame)
        self._busy_looks += call is None
        if call is None or frame is None or call.frame is not self._call:
            self._call, self._since = None if call is None else call.frame, now
        elif now - self._since >= self._limit_s:
            self._look_again(AGAIN_S)  # it may be caught, or too early
            if self._policies.may_be_left(frame):
                raise self._raises(f"not done after {now - self._since:.0f} s: {call.text}")

    def _look_again(self, after_s: float) -> None:
        if self._started:
            signal.setitimer(signal.ITIMER_REAL, after_s, self._look_s)

    def stuck(self) -> str:
        """What keeps the loop from coming round, and for how long; "" as long as nothing has for long. To be
        asked every couple of seconds."""
        now = self._clock()
        passed, self._asked_at = now - self._asked_at, now
        if self._beats != self._beats_seen or not self._beats:
            self._beats_seen, self._still_s = self._beats, 0.0
            return ""
        before, self._still_s = self._still_s, self._still_s + min(passed, LONGEST_PAUSE_S)
        is_busy, self._busy_looks_seen = self._busy_looks != self._busy_looks_seen, self._busy_looks
        if self._still_s < self._stuck_s:
            return ""
        what = f"{doing(self._policies, main_frame(self._main))}, for {self._still_s:.0f} s"
        if not is_busy or self._still_s >= BUSY_S:
            return what
        if before < self._stuck_s:
            log.warning("deciding takes long, and nothing else is done meanwhile: %s", what)
        return ""


def files_of(plugins: Iterable[type[Plugin]]) -> set[str]:
    """The files of plugins that are not built in."""
    own = (source_of(plugin) for plugin in plugins if not built_in(plugin))
    return {file for file in own if isinstance(file, str)}
