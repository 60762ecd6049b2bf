"""Schedulers that are started again whenever they have ended, as by a kubelet; no end may be unexplained."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaos.plan import CUT, FORGET, FREEZE, HOLD, KILL, SLOW, TERMINATE, Fault
from chaos.wire import Wire
from e2e.faulty_proxy import Seen
from e2e.scheduler import Scheduler

AGAIN_SECONDS = 0.5  # between an end and the next start
EXCUSED_SECONDS = 30.0  # so long after a fault a process may end for it
ENDING_SECONDS = 30.0  # so long may it take when it is asked to end
LEASE_LOST = 1
LOST = ("the lease is lost", "eaderelection lost")  # in the words of either program
KILLED, TERMINATED = -9, -15
STARTING_SECONDS = 10.0  # on a machine that is busy


Later = Callable[[float, Callable[[], None]], None]  # what is done after so many seconds


class Replica:
    """One scheduler with its way to the API server. `look` every now and then: it starts it again."""

    def __init__(self, number: int, process: Scheduler, wire: Wire) -> None:
        self.number = number
        self.process = process
        self.wire = wire
        self.wrong: list[str] = []
        self.starts = 0
        self.ended_by_itself = 0
        self._excused_until = 0.0
        self._told_to_end: float | None = None
        self._killed = False
        self._frozen = False
        self._start_at = self._started_at = 0.0

    def excuse(self, until: float) -> None:
        """It may end by itself for a fault that lasts until then."""
        self._excused_until = max(self._excused_until, until + EXCUSED_SECONDS)

    def suffer(self, fault: Fault, later: Later) -> None:
        """Begins a fault, and sees to its end."""
        wire = self.wire
        acts: dict[str, tuple[Callable[[], object], Callable[[], None] | None]] = {
            KILL: (self.kill, None),
            TERMINATE: (self.terminate, None),
            FREEZE: (self.freeze, self.thaw),
            CUT: (wire.cut, None),
            FORGET: (wire.forget, None),
            HOLD: (wire.hold, wire.let_go),
            SLOW: (lambda: wire.slow(fault.amount), lambda: wire.slow(0.0)),
        }
        begin, end = acts[fault.kind]
        begin()
        if end is not None:
            later(fault.seconds, end)

    def kill(self) -> None:
        self.thaw()
        self._killed = True
        self.process.kill()

    def terminate(self) -> None:
        if self.process.is_running() and self._told_to_end is None:
            self._told_to_end = time.monotonic()
            assert self.process.running is not None
            self.process.running.terminate()

    def freeze(self) -> None:
        if self.process.is_running():
            self._frozen = True
            self.process.pause()

    def thaw(self) -> None:
        if self._frozen:
            self._frozen = False
            self.process.resume()

    def look(self) -> None:
        now = time.monotonic()
        if self.process.is_running():
            if self._told_to_end is not None and self._frozen:
                self._told_to_end = now  # that time does not count
            if self._told_to_end is not None and now - self._told_to_end > ENDING_SECONDS:
                self.wrong.append(f"{self} did not end within {ENDING_SECONDS:g} s of being asked to")
                self.kill()
            return
        if self.process.running is not None:
            self._judge_end(self.process.exit_code(), now)
            self.process.running = None
            self._start_at = now + AGAIN_SECONDS
            self._told_to_end, self._killed, self._frozen = None, False, False
        if now >= self._start_at:
            self.process.start()
            self._started_at = now
            self.starts += 1

    def _judge_end(self, code: int | None, now: float) -> None:
        if self._killed and code == KILLED:
            return
        if self._told_to_end is not None and (code == 0 or (code == TERMINATED and self._was_starting())):
            return
        lost = any(words in self.process.tail() for words in LOST)
        if code == LEASE_LOST and lost and now <= self._excused_until:
            self.ended_by_itself += 1
            return
        self.wrong.append(
            f"{self} ended with code {code}, and nothing was done to it\n{self.process.tail(15)}"
        )

    def _was_starting(self) -> bool:
        """Before it could take the signal."""
        assert self._told_to_end is not None
        return self._told_to_end - self._started_at < STARTING_SECONDS

    says_why = False  # whether it can be asked why a pod waits

    def why(self, key: str) -> str:
        """What it says a pod waits for; "" when it does not."""
        return ""

    def requests(self) -> list[Seen]:
        """What it asked the API server for, where somebody looks."""
        return []

    def rest(self) -> None:
        """It is quiet: what was noted meanwhile may go."""

    def stop(self) -> None:
        self.thaw()
        self.process.stop()

    def logged_tracebacks(self) -> list[str]:
        lines = self.process.output().splitlines()
        return [
            f"{self} logged a traceback:\n" + "\n".join(lines[max(0, at - 2) : at + 30])
            for at, line in enumerate(lines)
            if line.startswith("Traceback (most recent call last)")
        ]

    def __str__(self) -> str:
        return f"scheduler {self.number}"
