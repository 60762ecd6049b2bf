"""Connections that die without a word: found by what others answer, and never by slowness alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kube.virtual_time import in_virtual_time
from mooring.errors import Unreachable
from mooring.kube.http.dead_connections import PATIENCE_S
from mooring.kube.http.short_requests import Connections

ASK = b"POST /x HTTP/1.1\r\nHost: here\r\n\r\n"
PROBE = b"GET /version HTTP/1.1\r\nHost: here\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LIMIT_S = 15.0  # what is silent is found by then


class Line:
    """A server behind somebody who may forget the connections there are. New ones work, unless `is_away`."""

    def __init__(self, answer_s: float = 0.01) -> None:
        self.answer_s = answer_s
        self.made = self.probed = 0
        self.is_away = False
        self._forgotten = 0

    def forget(self) -> None:
        self._forgotten = self.made

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made += 1
        number = self.made
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.probed += head.startswith(b"GET")
                await asyncio.sleep(self.answer_s if head.startswith(b"POST") else 0.01)
                if number > self._forgotten and not self.is_away:
                    writer.write(OK)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def played(line: Line, run: Callable[[Connections], Awaitable[None]]) -> None:
    async def play() -> None:
        server = await asyncio.start_server(line, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        connections = Connections("127.0.0.1", port, None, limit=8, probe=PROBE)
        try:
            await run(connections)
        finally:
            await connections.close()
            server.close()
            await asyncio.sleep(1.0)

    in_virtual_time(play())


async def asked_together(connections: Connections, count: int) -> list[object]:
    asked = [asyncio.create_task(connections.exchange(ASK, 30.0)) for _ in range(count)]
    return list(await asyncio.gather(*asked, return_exceptions=True))


@pytest.mark.parametrize("used", [1, 3, 8])
def test_what_is_silent_while_others_are_answered_is_dead(used: int) -> None:
    """Also when all connections there are have been forgotten: a new one is asked."""
    line = Line()

    async def run(connections: Connections) -> None:
        await asked_together(connections, 8)
        assert line.made == 8
        line.forget()
        began = asyncio.get_running_loop().time()
        found = await asked_together(connections, used)
        assert all(isinstance(each, Unreachable) and each.sent for each in found)
        assert asyncio.get_running_loop().time() - began < LIMIT_S
        assert line.probed
        assert (await connections.exchange(ASK, 1.0)).status == 200  # and none of the others is tried

    played(line, run)


def test_each_that_is_silent_is_found_in_time() -> None:
    """Requests go on coming while it is not known yet that the connections are dead."""
    line = Line()

    async def run(connections: Connections) -> None:
        await asked_together(connections, 8)
        line.forget()

        async def ask(after_s: float) -> float:
            loop = asyncio.get_running_loop()
            await asyncio.sleep(after_s)
            began = loop.time()
            try:
                await connections.exchange(ASK, 30.0)
            except Unreachable as error:
                assert error.sent
            return loop.time() - began

        took = await asyncio.gather(*(ask(1.7 * number) for number in range(12)))
        assert max(took) < LIMIT_S
        assert took[-1] < 1.0

    played(line, run)


def test_a_server_that_is_away_is_waited_for() -> None:
    """Nobody answers, so silence says nothing about a connection."""
    line = Line()

    async def run(connections: Connections) -> None:
        await asked_together(connections, 2)
        line.is_away = True
        began = asyncio.get_running_loop().time()
        (found,) = await asked_together(connections, 1)
        assert isinstance(found, Unreachable)
        assert asyncio.get_running_loop().time() - began == pytest.approx(30.0, abs=0.1)

    played(line, run)


@pytest.mark.parametrize("answer_s", [PATIENCE_S - 1, PATIENCE_S + 1])
def test_who_is_slow_is_given_longer_the_second_time(answer_s: float) -> None:
    """A webhook that takes that long for every write, while all else is answered at once."""
    line = Line(answer_s)

    async def run(connections: Connections) -> None:
        found = await asked_together(connections, 1)
        if isinstance(found[0], Unreachable):
            assert answer_s > PATIENCE_S
            found = await asked_together(connections, 1)
        assert not isinstance(found[0], BaseException)

    played(line, run)


def test_who_stops_waiting_for_a_silent_one_gets_another() -> None:
    """A lease is renewed with a deadline of its own, long before anybody finds the connection dead."""
    line = Line()

    async def run(connections: Connections) -> None:
        await asked_together(connections, 8)
        await asyncio.sleep(5.0)
        line.forget()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5.0):
                await connections.exchange(ASK, 30.0)
        async with asyncio.timeout(1.0):
            assert (await connections.exchange(ASK, 30.0)).status == 200

    played(line, run)


def test_where_somebody_else_found_one_dead_those_that_rest_are_not_used() -> None:
    line = Line()

    async def run(connections: Connections) -> None:
        await asked_together(connections, 8)
        await asyncio.sleep(5.0)
        line.forget()
        connections.doubt()
        async with asyncio.timeout(1.0):
            assert (await connections.exchange(ASK, 30.0)).status == 200

    played(line, run)
