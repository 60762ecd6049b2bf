"""Requests over a few connections, in turn: each gets its own answer, or the words that say what is known."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.serving import say_ok
from kube.serving import serving as serving_http
from mooring.errors import ApiError, Unreachable
from mooring.kube.access.access import Access
from mooring.kube.http.answer_parser import Answer
from mooring.kube.http.connection import Connection, PendingRequest
from mooring.kube.http.short_requests import Connections
from mooring.kube.http.transport import Request, Transport
from mooring.kube.http.write_fence import Fenced, NotLeading

Reply = Callable[["Talker", bytes], Awaitable[None]]


def request(name: str) -> bytes:
    return b"POST /%b HTTP/1.1\r\nContent-Length: 0\r\n\r\n" % name.encode()


def answer(name: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (more, len(name), name)


class Talker:
    """One connection of a server: reads requests, and replies to each as the test says."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.names: list[bytes] = []

    async def talk(self) -> None:
        try:
            while True:
                head = await self.reader.readuntil(b"\r\n\r\n")
                name = re.findall(rb"POST /(\S*)", head)[0]
                self.names.append(name)
                self.server.asked.append(name)
                await self.server.reply(self, name)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.writer.close()


class Server:
    """`held` requests are not answered before `go` is set."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.asked: list[bytes] = []
        self.talkers: list[Talker] = []
        self.go = asyncio.Event()
        self.reply = reply or self._echo

    async def _echo(self, talker: Talker, name: bytes) -> None:
        await self.go.wait()
        talker.writer.write(answer(name))

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talker = Talker(self, reader, writer)
        self.talkers.append(talker)
        await talker.talk()


@asynccontextmanager
async def serving(server: Server, limit: int = 1) -> AsyncIterator[Connections]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    connections = Connections("127.0.0.1", listening.sockets[0].getsockname()[1], None, limit=limit)
    try:
        yield connections
    finally:
        await connections.close()
        listening.close()


def asking(connections: Connections, names: list[str]) -> list[asyncio.Task[Answer]]:
    return [asyncio.create_task(connections.exchange(request(name), 5)) for name in names]


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0)


NAMES = [f"r{number}" for number in range(24)]


async def test_each_gets_its_own_answer_over_a_few_connections() -> None:
    server = Server()
    async with serving(server, limit=4) as connections:
        asked = asking(connections, NAMES)
        server.go.set()
        answers = await asyncio.gather(*asked)
    assert [each.body.decode() for each in answers] == NAMES
    assert len(server.talkers) == 4


async def test_each_has_a_connection_to_itself_as_far_as_there_are_any() -> None:
    server = Server()
    async with serving(server, limit=100) as connections:
        asked = asking(connections, NAMES)
        await until(lambda: len(server.asked) == len(NAMES))
        server.go.set()
        await asyncio.gather(*asked)
    assert [len(talker.names) for talker in server.talkers] == [1] * len(NAMES)


async def test_what_comes_meanwhile_goes_when_the_connection_rests() -> None:
    server = Server()
    async with serving(server, limit=1) as connections:
        first = asking(connections, ["first"])
        await until(lambda: bool(server.asked))
        others = asking(connections, NAMES[:8])
        await asyncio.sleep(0)
        assert server.asked == [b"first"]
        server.go.set()
        answers = await asyncio.gather(*first, *others)
    assert [each.body.decode() for each in answers] == ["first", *NAMES[:8]]
    assert len(server.talkers) == 1


async def test_a_lost_connection_leaves_what_was_asked_over_it_in_doubt_and_nothing_else() -> None:
    async def reply(talker: Talker, name: bytes) -> None:
        if len(server.asked) == 3:
            talker.writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            talker.writer.close()
        else:
            talker.writer.write(answer(name))

    server = Server(reply)
    async with serving(server) as connections:
        found = await asyncio.gather(*asking(connections, NAMES[:8]), return_exceptions=True)
    lost = found.pop(2)
    assert isinstance(lost, Unreachable)
    assert lost.sent
    assert [each.body.decode() for each in found if isinstance(each, Answer)] == [*NAMES[:2], *NAMES[3:8]]
    assert len(server.talkers) == 2


async def test_a_server_that_closes_after_each_answer_is_asked_over_new_ones() -> None:
    async def reply(talker: Talker, name: bytes) -> None:
        talker.writer.write(answer(name, b"Connection: close\r\n"))
        await talker.writer.drain()
        raise ConnectionError

    server = Server(reply)
    async with serving(server) as connections:
        answers = await asyncio.gather(*asking(connections, NAMES[:8]))
    assert [each.body.decode() for each in answers] == NAMES[:8]
    assert [len(talker.names) for talker in server.talkers] == [1] * 8


async def test_who_gives_up_takes_no_answer_from_others() -> None:
    server = Server()
    async with serving(server) as connections:
        asked = asking(connections, NAMES[:8])
        await until(lambda: bool(server.asked))
        asked[0].cancel()
        await asyncio.sleep(0)
        server.go.set()
        answers = await asyncio.gather(*asked[1:])
        assert [each.body.decode() for each in answers] == NAMES[1:8]
        assert asked[0].cancelled()
        assert len(server.talkers) == 2  # the one with an answer too many is not used again


async def test_what_is_given_up_before_it_is_sent_never_is() -> None:
    server = Server()
    server.go.set()
    async with serving(server) as connections:
        asked = asking(connections, ["a", "b", "c"])
        await asyncio.sleep(0)
        asked[1].cancel()
        await asyncio.gather(*asked, return_exceptions=True)
    assert server.asked == [b"a", b"c"]


async def test_one_that_is_late_is_in_doubt_and_its_connection_not_used_again() -> None:
    server = Server()
    async with serving(server, limit=1) as connections:
        with pytest.raises(Unreachable, match="no answer in time") as caught:
            await connections.exchange(request("late"), 0.01)
        assert caught.value.sent
        server.go.set()
        assert (await connections.exchange(request("next"), 5)).body == b"next"
    assert len(server.talkers) == 2


async def test_nothing_is_sent_that_is_not_allowed_when_it_has_its_turn() -> None:
    server, allowed = Server(), True

    def check() -> None:
        if not allowed:
            raise NotLeading(0, "no")

    async with serving(server) as connections:
        first = asking(connections, ["first"])
        await until(lambda: bool(server.asked))
        waiting = asyncio.create_task(connections.exchange(request("second"), 5, check))
        await asyncio.sleep(0)
        allowed = False
        server.go.set()
        await asyncio.gather(*first)
        with pytest.raises(NotLeading):
            await waiting
    assert server.asked == [b"first"]


async def test_the_fence_is_asked_when_a_request_has_its_turn() -> None:
    """Whoever stood still between the question and the write must not write when it comes back."""
    allowed = True
    async with serving_http(say_ok) as server:
        transport = Transport(Access(server=server.url))
        fenced = Fenced(transport, lambda: allowed)
        try:
            await transport.ask(Request("GET", "/"))  # so that the quick way is known
            await fenced.ask(Request("POST", "/one"))
            second = asyncio.ensure_future(fenced.ask(Request("POST", "/two")))
            await asyncio.sleep(0)  # it is asked for, and has not had its turn
            allowed = False
            with pytest.raises(ApiError, match="no longer leads"):
                await second
        finally:
            await transport.close()
    assert [got.path for got in server.received] == ["/", "/one"]


class Written(asyncio.Transport):
    """A transport that goes nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False
        self.data = b""

    def write(self, data: bytes) -> None:  # type: ignore[override]
        self.data += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


@given(
    st.binary(max_size=20),
    st.booleans(),
    st.lists(st.integers(0, 500), max_size=8),
    st.integers(0, 500),
    st.binary(max_size=3),
)
def test_an_answer_in_any_pieces_reaches_who_asked(
    body: bytes, chunked: bool, cuts: list[int], end: int, more: bytes
) -> None:
    """One that was not there whole when the connection went is in doubt; what nobody asked for ends it."""

    async def run() -> None:
        rested: list[Connection] = []
        connection, wire = Connection(rested.append), Written()
        connection.connection_made(wire)
        asked = PendingRequest(request("a"), 5.0, asyncio.get_running_loop().create_future(), None)
        connection.ask(asked, 0.0)
        assert wire.data == asked.request
        said = spelled(body, chunked)
        data = said + more
        stop = min(end, len(data))
        places = sorted({0, stop, *(cut % (stop + 1) for cut in cuts)})
        for start, until_ in pairwise(places):
            connection.data_received(data[start:until_])
        if stop >= len(said):
            assert asked.waiter.result().body == body
            assert connection.usable == (stop == len(said))
        connection.connection_lost(None)
        if stop < len(said):
            error = asked.waiter.exception()
            assert isinstance(error, Unreachable)
            assert error.sent
        assert rested == [connection]
        assert not connection.usable

    asyncio.run(run())


def spelled(body: bytes, chunked: bool) -> bytes:
    if not chunked:
        return answer(body)
    chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    return b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n"
