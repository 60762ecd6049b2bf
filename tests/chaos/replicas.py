"""Schedulers that are started again whenever they have ended, as by a kubelet; no end may be unexplained."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from chaos.plan import LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS
from chaos.shifted_clock import write_offset
from chaos.wire import Wire
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import FaultyProxy
from e2e.kubeconfig import Server
from e2e.mooring_process import mooring
from e2e.process import LOOPBACK
from e2e.scheduler import Scheduler

LAUNCHER = Path(__file__).with_name("shifted_clock.py")
LEASE = (
    f"--leader-elect-lease-duration={LEASE_SECONDS}s",
    f"--leader-elect-renew-deadline={RENEW_SECONDS}s",
    f"--leader-elect-retry-period={RETRY_SECONDS}s",
)
SPEED = ("--kube-api-qps=1000", "--kube-api-burst=1000")
AGAIN_SECONDS = 0.5  # between an end and the next start
EXCUSED_SECONDS = 30.0  # so long after a fault a process may end for it
ENDING_SECONDS = 30.0  # so long may it take when it is asked to end
LEASE_LOST = 1
KILLED, TERMINATED = -9, -15
STARTING_SECONDS = 10.0  # on a machine that is busy


class Replica:
    """One scheduler with its way to the API server. `look` every now and then: it starts it again."""

    def __init__(self, number: int, process: Scheduler) -> None:
        self.number = number
        self.process = process
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
        if code == LEASE_LOST and now <= self._excused_until and "the lease is lost" in self.process.tail():
            self.ended_by_itself += 1
            return
        self.wrong.append(
            f"{self} ended with code {code}, and nothing was done to it\n{self.process.tail(15)}"
        )

    def _was_starting(self) -> bool:
        """Before it could take the signal."""
        assert self._told_to_end is not None
        return self._told_to_end - self._started_at < STARTING_SECONDS

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


class Mooring(Replica):
    """Mooring behind a wire and a proxy of its own, and with a clock of its own."""

    def __init__(self, number: int, plane: ControlPlane, wire: Wire, proxy: FaultyProxy) -> None:
        server = Server(f"https://{LOOPBACK}:{wire.port}", plane.authority.certificate)
        path = plane.folder / f"scheduler-{number}.kubeconfig"
        kubeconfig = server.kubeconfig(path, proxy.token)
        self.wire, self.proxy = wire, proxy
        self._offset = plane.folder / f"scheduler-{number}.offset"
        write_offset(self._offset, 0.0)
        process = mooring(plane, leader_elect=True, flags=(*LEASE, *SPEED), kubeconfig=kubeconfig)
        process.command = [sys.executable, str(LAUNCHER), str(self._offset), *process.command[1:]]
        super().__init__(number, process)

    def set_clock(self, offset: float) -> None:
        write_offset(self._offset, offset)


@contextmanager
def moorings(plane: ControlPlane, count: int) -> Iterator[list[Mooring]]:
    """Not started yet; `look` does that. All are ended afterwards."""
    with ExitStack() as stack:
        made = []
        for number in range(count):
            proxy = stack.enter_context(FaultyProxy(plane, f"proxy-{number}"))
            wire = stack.enter_context(Wire(port_of(proxy.server.url)))
            made.append(Mooring(number, plane, wire, proxy))
            stack.callback(made[-1].stop)
        yield made


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])
