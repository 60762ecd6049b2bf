"""Sockets on which a peer that is silently gone is found out by the system itself, within 14 s.

That is so where packets vanish. Who acknowledges them and passes nothing on is found out by what is not
answered: see `silence`.
"""

from __future__ import annotations

import socket
from typing import Protocol

SILENCE, PROBE_EVERY, PROBES = 5, 3, 3
UNACKNOWLEDGED_MS = 12_000

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
