"""Host ports in use: for each protocol and port, which rows use it on which addresses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mooring.model.ports import HostPort, addresses_clash


class Socket(NamedTuple):
    protocol: str
    port: int


class UsedPorts:
    """Sparse: costs nothing for nodes without host ports."""

    def __init__(self) -> None:
        self._used: dict[Socket, dict[int, dict[str, int]]] = {}

    def fork(self) -> UsedPorts:
        fork = UsedPorts()
        fork._used = {
            socket: {row: addresses.copy() for row, addresses in rows.items()}
            for socket, rows in self._used.items()
        }
        return fork

    def add(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        """Counts ports up (sign 1) or down (sign -1) on a row."""
        for address, protocol, port in ports:
            socket = Socket(protocol, port)
            rows = self._used.setdefault(socket, {})
            addresses = rows.setdefault(row, {})
            addresses[address] = addresses.get(address, 0) + sign
            if not addresses[address]:
                del addresses[address]
            if not addresses:
                del rows[row]
            if not rows:
                del self._used[socket]

    def clash(self, row: int, ports: Iterable[HostPort]) -> bool:
        """Whether any of the ports is taken on the row."""
        for address, protocol, port in ports:
            taken = self._used.get(Socket(protocol, port), {}).get(row)
            if taken and any(addresses_clash(address, other) for other in taken):
                return True
        return False

    def clashing_rows(self, ports: Iterable[HostPort]) -> set[int]:
        """All rows on which any of the ports is taken."""
        wanted = tuple(ports)
        rows = (self._used.get(Socket(protocol, port), {}) for _, protocol, port in wanted)
        return {row for used in rows for row in used if self.clash(row, wanted)}
