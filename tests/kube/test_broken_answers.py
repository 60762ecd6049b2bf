"""Whatever comes over a connection, whoever waits for an answer gets one, or hears that there is none."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from kube.serving import ask, ask_long, connected, say_ok, serving
from kube.test_short_requests_in_turn import Written, request
from kube.virtual_time import in_virtual_time
from mooring.errors import Unreachable
from mooring.kube.access.access import Access
from mooring.kube.http.answer_parser import MOST_BYTES, Answer, AnswerReader
from mooring.kube.http.connection import NEVER_SENT, Connection, PendingRequest
from mooring.kube.http.short_requests import Connections

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
PIECES = st.sampled_from(
    [
        GOOD,
        CHUNKED,
        b"HTTP/1.1 ",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: ",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Content-Length: " + b"9" * 5000,
        b"f" * 5000,
        b"-1",
        b"\r\n",
        b"\r\n\r\n",
        b"0\r\n\r\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.binary(max_size=12), max_size=8))
def test_nobody_waits_for_ever(data: list[bytes]) -> None:
    async def run() -> None:
        loop, rested = asyncio.get_running_loop(), list[Connection]()
        connection, wire = Connection(rested.append), Written()
        connection.connection_made(wire)
        asked = PendingRequest(request("a"), 5.0, loop.create_future(), None)
        connection.ask(asked, 0.0)
        for piece in data:
            connection.data_received(piece)
        connection.connection_lost(None)
        error = asked.waiter.exception()
        assert error is None or (isinstance(error, Unreachable) and error.sent)
        assert rested == [connection]

    asyncio.run(run())


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES | st.binary(max_size=12), max_size=8))
def test_bytes_are_an_answer_or_a_bad_one(data: list[bytes]) -> None:
    reader = AnswerReader()
    for piece in data:
        assert all(isinstance(found, Answer) for found in reader.feed(piece))
    assert reader.end() is None or not reader.mistake


@pytest.mark.parametrize("length", [b"9" * 5000, b"%d" % (MOST_BYTES + 1), b"-1", b"0x10", b"1, 2"])
def test_a_length_that_is_none(length: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\n" % length) == []
    assert "Content-Length" in reader.mistake


def test_an_answer_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.kube.http.answer_parser.MOST_BYTES", 10_000)
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(90):
        reader.feed(b"64\r\n" + b"x" * 100 + b"\r\n")
        assert not reader.mistake
    reader.feed((b"64\r\n" + b"x" * 100 + b"\r\n") * 20)
    assert "does not end" in reader.mistake


async def test_what_nobody_foresaw_while_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: AnswerReader, data: bytes) -> list[Answer]:
        raise ZeroDivisionError("unforeseen")

    async with serving(say_ok) as server, connected(Access(server=server.url)) as transport:
        with monkeypatch.context() as patched:
            patched.setattr(AnswerReader, "feed", fail)
            with pytest.raises(Unreachable, match="ZeroDivisionError: unforeseen") as caught:
                await ask(transport)
        assert caught.value.sent
        assert await ask(transport) == (200, b'{"ok":true}')


async def test_what_nobody_foresaw_while_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Connection, asked: PendingRequest, now: float) -> float:
        raise ZeroDivisionError("unforeseen")

    async with serving(say_ok) as server, connected(Access(server=server.url)) as transport:
        for already_open in (False, True):
            with monkeypatch.context() as patched:
                patched.setattr(Connection, "ask", fail)
                with pytest.raises(Unreachable, match="ZeroDivisionError: unforeseen"):
                    await ask(transport)
            if not already_open:
                assert await ask(transport) == (200, b'{"ok":true}')


@pytest.mark.parametrize("error", [ValueError("bad name"), ssl.SSLError("bad"), RuntimeError("no loop")])
async def test_what_nobody_foresaw_while_connecting(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*args: object, **more: object) -> None:
        raise error

    connections = Connections("127.0.0.1", 1, None, limit=1)
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "create_connection", fail)
        found = await asyncio.gather(
            *(connections.exchange(request(str(number)), 5.0) for number in range(20)), return_exceptions=True
        )
    assert all(isinstance(each, Unreachable) and not each.sent for each in found)


def long_answer(body: bytes, **headers: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body, headers=headers)

    return answer


async def test_a_long_answer_that_cannot_be_unpacked() -> None:
    broken = long_answer(b"this is not packed", **{"Content-Encoding": "gzip"})
    async with serving(broken) as server, connected(Access(server=server.url)) as transport:
        with pytest.raises(Unreachable):
            await ask_long(transport)


def test_who_never_gets_a_connection_hears_of_it() -> None:
    """One connection, and whoever is asked over it does not answer."""

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(mute, "127.0.0.1", 0)
        connections = Connections("127.0.0.1", server.sockets[0].getsockname()[1], None, limit=1)
        first = asyncio.create_task(connections.exchange(request("first"), 100.0))
        await asyncio.sleep(0.1)
        with pytest.raises(Unreachable, match=NEVER_SENT) as caught:
            await connections.exchange(request("second"), 10.0)
        assert not caught.value.sent
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await connections.close()
        server.close()
        await asyncio.sleep(1.0)

    in_virtual_time(run())
