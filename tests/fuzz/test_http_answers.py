"""Whatever bytes a server sends, a request ends: with an answer, or told that there is none."""

from __future__ import annotations

import asyncio
import random

from fuzz.fuzzing import fuzzed
from fuzz.mutation import changed_bytes, pieces
from mooring.errors import Unreachable
from mooring.kube.http.answer_parser import Answer, AnswerReader
from mooring.kube.http.short_requests import Connections

SOUND = (
    b'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"kind":"Status"}',
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nabcd\r\n0a\r\n0123456789\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\nTrailer: yes\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 409 Conflict\r\nContent-Length: 2\r\nRetry-After: 1\r\n\r\n{}",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nuntil the end",
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
)
ENOUGH_S = 60.0  # a request that is not over by then hangs; nothing waits for so long


def said(rng: random.Random) -> bytes:
    sound = b"".join(rng.choice(SOUND) for _ in range(rng.randint(1, 3)))
    return changed_bytes(rng, sound) if rng.random() < 0.9 else sound


def answers(parts: list[bytes]) -> list[tuple[int, bytes] | str]:
    """What is read out of the parts, as a connection reads them, to the first mistake or to their end."""
    reader, found = AnswerReader(), list[tuple[int, bytes] | str]()

    def take(answer: Answer) -> None:
        assert all(isinstance(value, str) for value in answer.headers.values())
        found.append((answer.status, answer.body))

    for part in parts:
        for answer in reader.feed(part):
            take(answer)
        if reader.mistake:
            return [*found, "bad"]
    if (last := reader.end()) is not None:
        take(last)
    return found


@fuzzed(played=300)
def test_what_is_read_does_not_depend_on_how_it_comes(rng: random.Random) -> None:
    data = said(rng)
    assert answers(pieces(rng, data)) == answers([data])


@fuzzed(played=60)
def test_every_request_ends(rng: random.Random) -> None:
    asyncio.run(_ask(rng))


async def _ask(rng: random.Random) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        for piece in pieces(rng, said(rng)):
            writer.write(piece)
            await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connections = Connections("127.0.0.1", port, None, limit=rng.randint(1, 3))
    request = b"GET / HTTP/1.1\r\n\r\n"
    async with asyncio.timeout(ENOUGH_S):
        asked = [connections.exchange(request, ENOUGH_S) for _ in range(rng.randint(1, 12))]
        for ended in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(ended, Answer | Unreachable), ended
    await connections.close()
    server.close()
    await server.wait_closed()
