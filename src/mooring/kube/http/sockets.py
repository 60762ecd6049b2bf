"""What the system does for connections by itself.

It finds out within 14 s that a peer is silently gone, where packets vanish. A peer that acknowledges them and
passes nothing on is found out by what is not answered: see `dead_connections`.

It keeps what comes for a while, if it is told to, so that it can be read together.
"""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from socket import SO_RCVLOWAT, SOL_SOCKET
from typing import Protocol

SILENCE, PROBE_EVERY, PROBES = 5, 3, 3
UNACKNOWLEDGED_MS = 12_000
MUCH = 64 * 1024  # bytes: more than short answers have together

OPTIONS = (
    ("TCP_KEEPIDLE", SILENCE),
    ("TCP_KEEPINTVL", PROBE_EVERY),
    ("TCP_KEEPCNT", PROBES),
    ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_MS),
)


class HasOptions(Protocol):
    def fileno(self) -> int: ...

    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...


def watch_over(made: HasOptions) -> None:
    """Has the system ask the other end whether it is still there. Each system has its own options."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in OPTIONS:
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class Gate:
    """Has the system keep what comes over a connection, for a while. Only Linux is known to tell, when bytes
    are let in, that some are there already; elsewhere nothing is kept.

    What a loop calls a socket makes a new one for every call (uvloop), which costs more than the call. So the
    gate has a descriptor of its own, which has to be closed for the connection to end.
    """

    def __init__(self, made: HasOptions | None) -> None:
        self.is_closed = False  # what comes is kept
        self._own: socket.socket | None = None
        if made is not None and sys.platform == "linux":
            with suppress(OSError):
                self._own = socket.fromfd(made.fileno(), socket.AF_INET, socket.SOCK_STREAM)  # whatever it is

    def close(self) -> bool:
        """Has the system wake nobody for a few bytes until they are let in; the end of a connection is heard
        of at once. False when that was so already, or cannot be."""
        return not self.is_closed and self._wake_for(MUCH)

    def open(self) -> None:
        """Whatever is there is to be read, and what comes from now on."""
        if self.is_closed:
            self._wake_for(1)

    def remove(self) -> None:
        """The connection is over."""
        own, self._own, self.is_closed = self._own, None, False
        if own is not None:
            own.close()

    def _wake_for(self, size: int) -> bool:
        if self._own is None:
            return False
        try:
            self._own.setsockopt(SOL_SOCKET, SO_RCVLOWAT, size)
        except OSError:
            return False
        self.is_closed = size > 1
        return True
