"""Answers of a slow server are read together; those of a quick one at once."""

from __future__ import annotations

import asyncio
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from kube.virtual_time import in_virtual_time
from mooring.kube.http.connection_count import SLOW_S
from mooring.kube.http.gathered_answers import LONGEST_S, MANY, PART
from mooring.kube.http.short_requests import Connections

ASK = b"POST /x HTTP/1.1\r\nHost: here\r\n\r\n"
TIMES = 60  # enough to know how quick a server is

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps answers for us")


async def answered(answer_s: float, at_once: int, body: bytes = b"ok") -> list[tuple[float, float]]:
    """When each answer was read, and how long after it was asked for, of a server that takes so long."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(answer_s)
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def ask(after_s: float) -> None:
        await asyncio.sleep(after_s)
        for _ in range(TIMES):
            began = loop.time()
            assert (await connections.exchange(ASK, 60.0)).body == body
            found.append((loop.time(), loop.time() - began))

    loop, found = asyncio.get_running_loop(), list[tuple[float, float]]()
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    connections = Connections("127.0.0.1", server.sockets[0].getsockname()[1], None, limit=at_once)
    await asyncio.gather(*(ask(number * answer_s / at_once) for number in range(at_once)))
    await connections.close()
    server.close()
    await asyncio.sleep(1.0)  # in no time: every connection sees that it is over
    return found


def gaps(found: list[tuple[float, float]]) -> list[float]:
    """Between moments at which answers were read, in the second half, when the server is known."""
    moments = sorted({moment for moment, _ in found})
    return [after - before for before, after in pairwise(moments)][len(moments) // 2 :]


@only_linux
@pytest.mark.parametrize("answer_s", [2 * SLOW_S, 1.0])
def test_answers_of_a_slow_server_are_read_together(answer_s: float) -> None:
    found = in_virtual_time(answered(answer_s, at_once=2 * MANY))
    longest = min(LONGEST_S, PART * answer_s)
    assert min(gaps(found)[:-MANY]) > 0.8 * longest  # but for the last, which are few
    assert max(took for _, took in found[len(found) // 2 :]) < answer_s + 1.5 * longest


@only_linux
def test_nothing_stays_open() -> None:
    """A gate has a descriptor of its own."""
    own = Path("/proc/self/fd")
    before = len(list(own.iterdir()))
    in_virtual_time(answered(2 * SLOW_S, at_once=2 * MANY))
    assert len(list(own.iterdir())) == before


@only_linux
def test_a_long_answer_is_not_held_back_for_ever() -> None:
    found = in_virtual_time(answered(1.0, at_once=2 * MANY, body=b"x" * 300_000))
    assert max(took for _, took in found) < 1.0 + 10 * LONGEST_S


def test_answers_of_a_quick_server_are_read_at_once() -> None:
    found = in_virtual_time(answered(SLOW_S / 2, at_once=2 * MANY))
    late = [took for _, took in found[len(found) // 2 :] if took > 1.01 * SLOW_S / 2]
    assert not late


def test_nobody_gathers_a_few_answers() -> None:
    found = in_virtual_time(answered(1.0, at_once=MANY - 1))
    assert max(took for _, took in found) < 1.001


async def test_a_connection_that_ends_is_heard_of_while_it_is_held_back() -> None:
    """The server closes in the middle of it all: whoever waits is told, and nothing is left behind."""
    seen = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        await reader.readuntil(b"\r\n\r\n")
        seen += 1
        if seen == 2 * MANY:
            for each in there:
                each.close()

    there: list[asyncio.StreamWriter] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there.append(writer)
        await talk(reader, writer)

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    connections = Connections("127.0.0.1", server.sockets[0].getsockname()[1], None, limit=2 * MANY)
    asked = [asyncio.ensure_future(connections.exchange(ASK, 30.0)) for _ in range(2 * MANY)]
    while len(there) < 2 * MANY:
        await asyncio.sleep(0)
    for connection in list(connections._open):
        connection.hold_back(1.0)
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(each, Exception) for each in found)
    await connections.close()
    server.close()
