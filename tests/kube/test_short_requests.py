"""Short requests over kept connections, against a server that does what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from mooring.errors import Unreachable
from mooring.kube.http.short_requests import Connections

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ASK = b"POST /x HTTP/1.1\r\nHost: here\r\n\r\n"

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(talk: Talk, limit: int = 4) -> AsyncIterator[Connections]:
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connections = Connections("127.0.0.1", port, None, limit=limit)
    try:
        yield connections
    finally:
        await connections.close()
        server.close()


class Counting:
    """Answers every request, counting the connections that were made."""

    def __init__(self, answer: bytes = OK, hold: int = 0) -> None:
        self.answer, self.made, self.asked = answer, 0, 0
        self.hold = hold
        self.go = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.asked += 1
                if self.hold:
                    await self.go.wait()
                writer.write(self.answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


async def test_a_connection_is_used_again() -> None:
    server = Counting()
    async with serving(server) as connections:
        for _ in range(5):
            answer = await connections.exchange(ASK, 5)
            assert answer.body == b"ok"
    assert server.made == 1


async def test_no_more_connections_than_allowed() -> None:
    server = Counting(hold=1)
    async with serving(server, limit=3) as connections:
        asked = [asyncio.create_task(connections.exchange(ASK, 5)) for _ in range(10)]
        while server.asked < 3:
            await asyncio.sleep(0)
        server.go.set()
        await asyncio.gather(*asked)
    assert server.made == 3
    assert server.asked == 10


async def test_a_connection_the_server_closes_is_not_used_again() -> None:
    server = Counting(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    async with serving(server) as connections:
        for _ in range(3):
            await connections.exchange(ASK, 5)
    assert server.made == 3


async def test_a_refused_connection_never_sent_anything() -> None:
    async with serving(Counting()) as connections:
        gone = Connections("127.0.0.1", 1, None)
        with pytest.raises(Unreachable) as refused:
            await gone.exchange(ASK, 5)
        assert refused.value.sent is False
        assert (await connections.exchange(ASK, 5)).status == 200


async def test_a_cut_before_the_answer_may_have_done_something() -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal")
        writer.close()

    async with serving(cut) as connections:
        with pytest.raises(Unreachable) as lost:
            await connections.exchange(ASK, 5)
        assert lost.value.sent is True


async def test_an_answer_that_does_not_come_in_time_is_none() -> None:
    server = Counting()
    async with serving(server, limit=1) as connections:
        await connections.exchange(ASK, 5)
        server.hold = 1
        with pytest.raises(Unreachable) as late:
            await connections.exchange(ASK, 0)
        assert late.value.sent is True
        server.go.set()
        assert (await connections.exchange(ASK, 5)).body == b"ok"  # not the late answer's connection
    assert server.made == 2


async def test_nonsense_is_an_error_and_the_connection_goes() -> None:
    server = Counting(b"hello\r\n\r\n")
    async with serving(server) as connections:
        for _ in range(2):
            with pytest.raises(Unreachable, match="not an HTTP answer"):
                await connections.exchange(ASK, 5)
    assert server.made == 2


async def test_whoever_gives_up_waiting_for_a_turn_takes_none() -> None:
    server = Counting(hold=1)
    async with serving(server, limit=1) as connections:
        first = asyncio.create_task(connections.exchange(ASK, 5))
        while not server.asked:
            await asyncio.sleep(0)
        second = asyncio.create_task(connections.exchange(ASK, 5))
        third = asyncio.create_task(connections.exchange(ASK, 5))
        await asyncio.sleep(0)
        second.cancel()
        server.go.set()
        await asyncio.gather(first, third)
        with pytest.raises(asyncio.CancelledError):
            await second
        assert (await connections.exchange(ASK, 5)).status == 200
    assert server.asked == 3
