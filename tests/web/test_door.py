"""What strangers may do to the port of a scheduler: nothing that others notice."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mooring.errors import ApiError
from mooring.web.access import Answer, Credentials, Verdict
from mooring.web.delegated import Delegated
from mooring.web.door import Bounds, Door, _group
from mooring.web.server import Serving
from web.test_serving import server

TRUSTING = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE
PATIENCE_S = 20  # a test that hangs fails; nothing is measured by it
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
METRICS = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
NOWHERE = b"GET /no HTTP/1.1\r\nHost: x\r\n\r\n"
Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def token_good(who: Credentials, verb: str, path: str) -> Verdict:
    return Verdict(Answer.ALLOWED if who.token == "good" else Answer.DENIED)


@asynccontextmanager
async def serving(authorize: Any = token_good, **bounds: Any) -> AsyncIterator[Serving]:
    made = server(authorize)
    made._bounds = Bounds(**bounds)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


async def connect(made: Serving, tls: ssl.SSLContext | None) -> Wire:
    return await asyncio.wait_for(asyncio.open_connection("127.0.0.1", made.port, ssl=tls), PATIENCE_S)


async def to_the_end(wire: Wire) -> bytes:
    """All that comes until the server ends the connection."""
    try:
        return await asyncio.wait_for(wire[0].read(-1), PATIENCE_S)
    except ConnectionError:
        return b""
    finally:
        wire[1].close()


async def say(made: Serving, text: bytes) -> bytes:
    wire = await connect(made, TRUSTING)
    wire[1].write(text)
    return await to_the_end(wire)


async def is_healthy(made: Serving) -> bool:
    return (await say(made, HEALTH)).startswith(b"HTTP/1.1 200 OK")


async def test_a_handshake_that_never_ends() -> None:
    async with serving(handshake_s=0.05) as made:
        assert await to_the_end(await connect(made, None)) == b""


async def test_headers_that_never_end() -> None:
    async with serving(request_s=0.05) as made:
        wire = await connect(made, TRUSTING)
        wire[1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-More: ")
        assert await to_the_end(wire) == b""
        assert await to_the_end(await connect(made, TRUSTING)) == b""  # nor one who says nothing


async def test_headers_without_end() -> None:
    async with serving(stranger_bytes=1000) as made:
        answer = await say(made, b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 1000)
        assert answer == b""
        assert await is_healthy(made)


async def test_plain_http_on_the_port_of_tls() -> None:
    async with serving() as made:
        wire = await connect(made, None)
        wire[1].write(HEALTH)
        assert b"200 OK" not in await to_the_end(wire)
        assert await is_healthy(made)


async def test_strangers_get_one_answer_a_connection() -> None:
    async with serving() as made:
        for text, status in ((HEALTH, b"200 OK"), (METRICS, b"403 Forbidden"), (NOWHERE, b"403 Forbidden")):
            answer = await say(made, text * 50)  # pipelined
            assert answer.count(b"HTTP/1.1 ") == 1
            assert status in answer


async def test_who_may_read_may_stay() -> None:
    async with serving(stranger_bytes=1000) as made:
        wire = await connect(made, TRUSTING)
        for _ in range(20):
            wire[1].write(b"GET /statusz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n")
            head = await asyncio.wait_for(wire[0].readuntil(b"\r\n\r\n"), PATIENCE_S)
            assert b"200 OK" in head
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await asyncio.wait_for(wire[0].readexactly(length), PATIENCE_S)
        wire[1].close()


async def test_long_tokens_of_people_with_many_groups() -> None:
    async with serving() as made:
        text = b"GET /statusz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + b"t" * 30_000 + b"\r\n\r\n"
        assert b" 403 " in await say(made, text)


async def test_a_body_that_never_ends() -> None:
    """Nobody reads it: the answer comes, and then the connection goes."""
    async with serving(linger_s=0.05) as made:
        for method in (b"GET", b"POST", b"TRACE"):
            text = method + b" /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nxx"
            assert (await say(made, text)).startswith(b"HTTP/1.1 ")


async def test_what_is_not_http_is_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving() as made:
        nonsense = (b"\0\1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 100, b"A" * 20_000)
        for text in nonsense:
            answer = await say(made, text)
            assert answer == b"" or b" 400 " in answer
        assert await is_healthy(made)
    assert caplog.records == []


async def test_who_does_not_read_is_shown_out() -> None:
    """An answer that nobody reads is not kept for ever."""
    ended = asyncio.Event()

    class Talks(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.write(b"x" * 50_000_000)

        def connection_lost(self, error: Exception | None) -> None:
            ended.set()

    door = Door(Talks, lambda: None, Bounds(write_s=0.05))
    with socket.create_connection(("127.0.0.1", door.open("127.0.0.1", 0))):
        await asyncio.wait_for(ended.wait(), PATIENCE_S)
    door.shut()
    await door.clear()


async def test_connections_that_are_held_keep_nobody_out() -> None:
    """Every place is taken, again and again, by who sends nothing; health is answered throughout."""
    async with serving(connections=10, handshakes=5) as made:
        held: list[Wire] = []
        for _ in range(12):
            held += [await connect(made, None) for _ in range(5)]
            assert await is_healthy(made)
        for _ in range(6):
            held += [await connect(made, TRUSTING) for _ in range(5)]
            assert await is_healthy(made)
        assert made._door is not None
        assert len(list(made._door.callers)) <= 10
        for wire in held:
            wire[1].close()


class Quiet(asyncio.Protocol):
    """Says nothing."""


async def test_whoever_has_most_goes_first_and_who_is_known_goes_last() -> None:
    door = Door(Quiet, lambda: None, Bounds(connections=4))
    pairs = [socket.socketpair() for _ in range(6)]
    try:
        for address, (ours, _) in zip(("a", "b", "b", "c"), pairs, strict=False):
            ours.setblocking(False)
            door._admit(ours, address)
        while any(each.transport is None for each in door.callers):
            await asyncio.sleep(0)
        first_b = next(each for each in door.callers if each.address == "b")
        pairs[4][0].setblocking(False)
        door._admit(pairs[4][0], "d")
        assert [each.address for each in door.callers] == ["a", "b", "c", "d"]
        assert first_b not in door.callers
        for each in door.callers:
            each.is_known = each.address != "c"
        while any(each.transport is None for each in door.callers):
            await asyncio.sleep(0)
        pairs[5][0].setblocking(False)
        door._admit(pairs[5][0], "e")
        assert [each.address for each in door.callers] == ["a", "b", "d", "e"]
    finally:
        door.shut()
        await door.clear()
        for ours, theirs in pairs:
            ours.close()
            theirs.close()


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("@", "@"),
    ],
)
def test_whose_connection_it_is(address: str, group: str) -> None:
    assert _group(address) == group


class Slow:
    """An API server that does not answer reviews until it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = asyncio.Event()

    async def create(self, resource: Any, namespace: str, body: bytes) -> bytes:
        self.asked += 1
        await self.answers.wait()
        return b'{"status": {"authenticated": false, "allowed": false}}'


async def test_three_thousand_strangers_ask_little_of_the_api_server() -> None:
    """With tokens of their own each, and no answer: eight are asked about, all others are told so at once."""
    slow = Slow()
    delegated = Delegated(slow)
    asking = [
        asyncio.ensure_future(delegated(Credentials(token=f"t{number}"), "get", "/metrics"))
        for number in range(3000)
    ]
    done, waiting = await asyncio.wait(asking, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    while len(waiting) > 8:
        more, waiting = await asyncio.wait(waiting, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        done |= more
    assert slow.asked == 8
    assert {task.result().answer for task in done} == {Answer.BUSY}
    slow.answers.set()
    assert {task.result().answer for task in (await asyncio.wait(waiting))[0]} == {Answer.UNKNOWN}


async def test_anonymous_strangers_ask_once() -> None:
    slow = Slow()
    slow.answers.set()
    delegated = Delegated(slow, clock=lambda: 0.0)
    verdicts = {(await delegated(Credentials(), "get", "/metrics")).answer for _ in range(3000)}
    assert (verdicts, slow.asked) == ({Answer.DENIED}, 1)
    others = [(await delegated(Credentials(), "get", f"/{number}")).answer for number in range(3000)]
    assert slow.asked == 50  # of one user, no more at once, whatever paths are tried
    assert set(others[49:]) == {Answer.BUSY}


async def test_the_same_question_is_asked_once() -> None:
    slow = Slow()
    delegated = Delegated(slow)
    asking = [asyncio.ensure_future(delegated(Credentials(token="t"), "get", "/metrics")) for _ in range(100)]
    await asyncio.sleep(0)
    slow.answers.set()
    assert {(await task).answer for task in asking} == {Answer.UNKNOWN}
    assert slow.asked == 1


class Fair(Slow):
    """Knows one token, and answers only about it."""

    async def create(self, resource: Any, namespace: str, body: bytes) -> bytes:
        if b"prometheus" not in body:
            await self.answers.wait()
        return b'{"status": {"authenticated": true, "user": {"username": "prometheus"}, "allowed": true}}'


async def test_strangers_do_not_push_out_who_is_known() -> None:
    moment = [0.0]
    fair = Fair()
    delegated = Delegated(fair, clock=lambda: moment[0])
    good = Credentials(token="prometheus")
    assert (await delegated(good, "get", "/metrics")).answer is Answer.ALLOWED
    flood = [
        asyncio.ensure_future(delegated(Credentials(token=f"t{number}"), "get", "/metrics"))
        for number in range(3000)
    ]
    await asyncio.sleep(0)
    moment[0] = 11.0  # the answer is not good any more: it is asked anew, past all of them
    assert (await delegated(good, "get", "/metrics")).answer is Answer.ALLOWED
    fair.answers.set()
    await asyncio.wait(flood)


async def test_reviews_that_fail_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    class Down:
        async def create(self, resource: Any, namespace: str, body: bytes) -> bytes:
            raise ApiError(503, "down")

    delegated = Delegated(Down(), clock=lambda: 0.0)
    for number in range(40):
        await delegated(Credentials(token=f"t{number}"), "get", "/metrics")
    assert len(caplog.records) == 1


async def test_a_connection_that_cannot_be_served_is_the_only_one(caplog: pytest.LogCaptureFixture) -> None:
    made: list[asyncio.Protocol] = []

    def http() -> asyncio.Protocol:
        if not made:
            made.append(Quiet())
            raise RuntimeError("no")
        return Quiet()

    door = Door(http, lambda: None)
    port = door.open("127.0.0.1", 0)
    assert await to_the_end(await asyncio.open_connection("127.0.0.1", port)) == b""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    while not any(each.transport for each in door.callers):
        await asyncio.sleep(0)
    writer.close()
    door.shut()
    await door.clear()
    assert [line.getMessage() for line in caplog.records] == ["a connection cannot be served"]
