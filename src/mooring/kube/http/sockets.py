"""What the system does for connections by itself.

It finds out within 14 s that a peer is silently gone, where packets vanish. A peer that acknowledges them and
passes nothing on is found out by what is not answered: see `dead_connections`.

It keeps what comes for a while, if it is told to, so that it can be read together.
"""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
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
    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...


def watch_over(made: HasOptions) -> None:
    """Has the system ask the other end whether it is still there. Each system has its own options."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in OPTIONS:
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def hold_back(made: HasOptions) -> None:
    """Has the system wake nobody for a few bytes until they are let in; the end of a connection is heard of
    at once. Only Linux is known to tell, when bytes are let in, that some are there already."""
    _wake_for(MUCH, made)


def let_in(made: HasOptions) -> None:
    """Whatever is there is to be read, and what comes from now on."""
    _wake_for(1, made)


def _wake_for(size: int, made: HasOptions) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
