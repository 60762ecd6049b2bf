"""Says yes to whatever it is asked, as quickly as Python can: it is not what is measured.

Prints the port it listens on, then serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import re
import sys
from typing import cast

BODY = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
HEAD = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
ANSWER = HEAD % len(BODY) + BODY
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Yes(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            found = LENGTH.search(self._data, 0, end)
            whole = end + 4 + (int(found[1]) if found else 0)
            if len(self._data) < whole:
                return
            self._data = self._data[whole:]
            assert self._transport is not None
            self._transport.write(ANSWER)


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Yes, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
