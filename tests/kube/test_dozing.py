"""Answers of a slow server are read together; those of a quick one at once."""

from __future__ import annotations

import asyncio

import pytest

from kube.virtual_time import in_virtual_time
from mooring.kube.http.connection_count import SLOW_S
from mooring.kube.http.short_requests import LONGEST_DOZE_S, MANY, PART, Connections

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ASK = b"POST /x HTTP/1.1\r\nHost: here\r\n\r\n"
TIMES = 60  # enough to know how quick a server is


async def dozes(answer_s: float, at_once: int) -> list[float]:
    """For how long nothing was read, each time, when a server took so long for each of its answers."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(answer_s)
                writer.write(OK)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def ask(after_s: float) -> None:
        await asyncio.sleep(after_s)
        for _ in range(TIMES):
            assert (await connections.exchange(ASK, 60.0)).status == 200

    server, found = await asyncio.start_server(talk, "127.0.0.1", 0), list[float]()
    port = server.sockets[0].getsockname()[1]
    connections = Connections("127.0.0.1", port, None, limit=at_once, doze=found.append)
    await asyncio.gather(*(ask(number * answer_s / at_once) for number in range(at_once)))
    await connections.close()
    server.close()
    await asyncio.sleep(1.0)  # in no time: every connection sees that it is over
    return found


@pytest.mark.parametrize("answer_s", [2 * SLOW_S, 1.0])
def test_who_is_slow_lets_us_doze(answer_s: float) -> None:
    found = in_virtual_time(dozes(answer_s, at_once=2 * MANY))
    assert len(found) > TIMES
    assert found[-1] == pytest.approx(min(LONGEST_DOZE_S, PART * answer_s), rel=0.1)


def test_who_is_quick_is_listened_to() -> None:
    found = in_virtual_time(dozes(SLOW_S / 2, at_once=2 * MANY))
    assert len(found) < TIMES  # only until it is known that it is quick


def test_nobody_dozes_for_a_few() -> None:
    assert in_virtual_time(dozes(1.0, at_once=MANY - 1)) == []
