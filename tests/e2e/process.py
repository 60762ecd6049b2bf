"""A program running in the background: its output in a file, ended by its id."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 15
TAIL_LINES = 40
# Below the range the kernel takes source ports from: a client that keeps dialling a server that is down
# must never be given the server's own port.
PORTS = range(20000, 32000)


class Process:
    """Starts in a session of its own, so that Ctrl-C reaches the tests alone and they end it in order."""

    def __init__(
        self, name: str, command: Sequence[str | Path], log: Path, env: dict[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = [str(word) for word in command]
        self.log = log
        self.env = env
        self.running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.running = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self.env,
            )

    @property
    def pid(self) -> int:
        assert self.running is not None, f"{self.name} was not started"
        return self.running.pid

    def exit_code(self) -> int | None:
        """None while it runs, and when it was never started."""
        return self.running.poll() if self.running else None

    def is_running(self) -> bool:
        return self.running is not None and self.running.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.running is not None:
            self.running.send_signal(number)

    def stop(self, within: float = STOP_SECONDS) -> int | None:
        """Asks it to end, and ends it when it does not; what it answered."""
        if self.running is None:
            return None
        self.running.terminate()
        try:
            return self.running.wait(within)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int | None:
        """Ends it without a word, as a crash does."""
        if self.running is None:
            return None
        self.running.kill()
        return self.running.wait()

    def pause(self) -> None:
        """Freezes it, as a network that swallows everything does."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tail(self, lines: int = TAIL_LINES) -> str:
        return "\n".join(self.output().splitlines()[-lines:])


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError("no free ports on the loopback interface")
