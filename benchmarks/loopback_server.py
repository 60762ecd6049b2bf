"""A stub of an API server for `loopback.py`: lists, watches, bindings, Events, patches, in little time.

It takes commands on its standard input, a line each: `make COUNT WAITING` creates so many pods, at most
WAITING of them unbound at a time, and prints what came of it as a line of JSON once all of them are bound and
an Event tells of each. A pod that is bound is sent on the watch again, with its node. Prints the port first.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from loopback_objects import node, pod, pod_template

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
BOUND_POD = re.compile(rb'"name":"([^"]*)"[^}]*"uid":"([^"]*)"[^}]*\},"target":.*"name":"([^"]*)"')
HEAD = (
    b"HTTP/1.1 %b\r\nAudit-Id: 4c3c2f6e-0f9a-4b0e-9d1e-5e5f3b1c2d3e\r\nCache-Control: no-cache, private\r\n"
    b"Content-Type: application/json\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
)
DONE = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}\n'
EMPTY = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}\n'
PODS, NODES = b"/api/v1/pods", b"/api/v1/nodes"


def answer(status: bytes, body: bytes) -> bytes:
    return HEAD % status + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


CREATED = answer(b"201 Created", DONE)


class Batch:
    """Pods of one command: when each was created, and how long it took to be bound."""

    def __init__(self, count: int, waiting: int) -> None:
        self.left, self.waiting = count, waiting
        self.count = count
        self.created: dict[bytes, float] = {}
        self.took: list[float] = []
        self.events = 0
        self.began = time.perf_counter()
        self.last = self.began

    def report(self) -> dict[str, Any]:
        self.took.sort()
        return {
            "pods": self.count,
            "seconds": self.last - self.began,
            "p50_ms": 1e3 * self.took[len(self.took) // 2],
            "p99_ms": 1e3 * self.took[int(len(self.took) * 0.99)],
        }


class Stub:
    """What all connections share."""

    def __init__(self, nodes: int, answer_s: float) -> None:
        self.answer_s = answer_s
        self.nodes = [node(number) for number in range(nodes)]
        self.watching: dict[bytes, Connection] = {}
        self.batch: Batch | None = None
        self._made = 0
        self._version = 1000
        self._template = pod_template()
        self._news: list[bytes] = []
        self._wanted: list[Batch] = []

    def make(self, count: int, waiting: int) -> None:
        self._wanted.append(Batch(count, waiting))
        self.begin()

    def begin(self) -> None:
        """Starts what was asked for, as soon as somebody watches."""
        if self.batch is None and self._wanted and PODS in self.watching:
            self.batch = batch = self._wanted.pop(0)
            batch.began = time.perf_counter()
            self.create(min(batch.waiting, batch.left))

    def create(self, count: int) -> None:
        batch = self.batch
        assert batch is not None
        now = time.perf_counter()
        for _ in range(count):
            self._made += 1
            name = b"pod-%d" % self._made
            batch.created[name] = now
            self._tell(b"ADDED", pod(self._template, name, self._uid(), self._next_version(), b""))
        batch.left -= count

    def bound(self, body: bytes) -> None:
        found = BOUND_POD.search(body)
        assert found is not None, body
        name, uid, target = found.groups()
        self._tell(b"MODIFIED", pod(self._template, name, uid, self._next_version(), target))
        batch = self.batch
        if batch is not None and (created := batch.created.pop(name, None)) is not None:
            batch.last = time.perf_counter()
            batch.took.append(batch.last - created)
            if batch.left:
                self.create(1)

    def told(self) -> None:
        batch = self.batch
        assert batch is not None
        batch.events += 1
        if batch.events >= batch.count and len(batch.took) == batch.count:
            self.batch = None
            sys.stdout.write(json.dumps(batch.report()) + "\n")
            sys.stdout.flush()
            self.begin()

    def list(self, path: bytes, query: bytes) -> bytes:
        if path != NODES:
            return EMPTY
        start = int(found[1]) if (found := re.search(rb"continue=(\d+)", query)) else 0
        more = b',"continue":"%d"' % (start + 500) if start + 500 < len(self.nodes) else b""
        head = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"%b},"items":[' % more
        return head + b",".join(self.nodes[start : start + 500]) + b"]}\n"

    def _uid(self) -> bytes:
        return b"4c3c2f6e-0f9a-4b0e-9d1e-%012x" % self._made

    def _next_version(self) -> bytes:
        self._version += 1
        return b"%d" % self._version

    def _tell(self, kind: bytes, body: bytes) -> None:
        """Everything that happens in one turn of the loop goes out in one write, a chunk an event."""
        if not self._news:
            asyncio.get_running_loop().call_soon(self._send)
        line = b'{"type":"%b","object":%b}\n' % (kind, body)
        self._news.append(b"%x\r\n%b\r\n" % (len(line), line))

    def _send(self) -> None:
        news, self._news = self._news, []
        if (watch := self.watching.get(PODS)) is not None:
            watch.write(b"".join(news))


class Connection(asyncio.Protocol):
    """One connection: requests in, answers out, in order."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._data = b""
        self._watched = b""
        self._asked: deque[tuple[bytes, bytes, bytes]] = deque()  # not answered yet
        self.write: Callable[[bytes], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write = cast(asyncio.Transport, transport).write

    def connection_lost(self, exc: Exception | None) -> None:
        if self._stub.watching.get(self._watched) is self:
            del self._stub.watching[self._watched]

    def data_received(self, data: bytes) -> None:
        data = self._data + data if self._data else data
        asked, start = [], 0
        while (end := data.find(b"\r\n\r\n", start)) >= 0:
            found = LENGTH.search(data, start, end)
            whole = end + 4 + (int(found[1]) if found else 0)
            if len(data) < whole:
                break
            method, target, _ = data[start : data.index(b"\r\n", start)].split(b" ")
            asked.append((method, target, data[end + 4 : whole]))
            start = whole
        self._data = data[start:]
        if self._stub.answer_s:
            self._take_time(asked)
        elif asked:
            self.write(b"".join([self._answer(*each) for each in asked]))

    def _take_time(self, asked: list[tuple[bytes, bytes, bytes]]) -> None:
        """Answers one after the other, each after a while, as servers do that read one request at a time."""
        if asked and not self._asked:
            asyncio.get_running_loop().call_later(self._stub.answer_s, self._answer_next)
        self._asked += asked

    def _answer_next(self) -> None:
        self.write(self._answer(*self._asked.popleft()))
        if self._asked:
            asyncio.get_running_loop().call_later(self._stub.answer_s, self._answer_next)

    def _answer(self, method: bytes, target: bytes, body: bytes) -> bytes:
        path, _, query = target.partition(b"?")
        if method == b"GET":
            return self._watch(path) if b"watch=true" in query else self._list(path, query)
        if path.endswith(b"/binding"):
            self._stub.bound(body)
            return CREATED
        if path.endswith(b"/events"):
            self._stub.told()
            return answer(b"201 Created", body)
        return answer(b"200 OK", DONE)

    def _list(self, path: bytes, query: bytes) -> bytes:
        return answer(b"200 OK", self._stub.list(path, query))

    def _watch(self, path: bytes) -> bytes:
        self._watched = path
        self._stub.watching[path] = self
        asyncio.get_running_loop().call_soon(self._stub.begin)
        return HEAD % b"200 OK" + b"Transfer-Encoding: chunked\r\n\r\n"


async def main(nodes: int, certificate: str, answer_ms: float) -> None:
    loop, stub, over = asyncio.get_running_loop(), Stub(nodes, answer_ms / 1e3), asyncio.Event()
    tls = None
    if certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate)

    def listen() -> None:
        for line in sys.stdin:
            _, count, waiting = line.split()
            loop.call_soon_threadsafe(stub.make, int(count), int(waiting))
        loop.call_soon_threadsafe(over.set)

    server = await loop.create_server(lambda: Connection(stub), "127.0.0.1", 0, ssl=tls)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    threading.Thread(target=listen, daemon=True).start()
    await over.wait()


if __name__ == "__main__":
    serving = main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
    try:
        import uvloop

        uvloop.run(serving)
    except ImportError:
        asyncio.run(serving)
