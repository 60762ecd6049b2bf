"""How many binds a second the client can send over loopback, and what each costs this process.

    python benchmarks/transport.py [--requests 20000] [--at-once 32] [--tls]

The server is another process that answers every request with the same 201 at once. The CPU time is this
process's alone. `general` sends the same through aiohttp, the way lists and watches go.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import ssl
import time
from contextlib import AbstractAsyncContextManager
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import trustme

from mooring.kube.access.access import Access, Secret, User
from mooring.kube.client import Client
from mooring.kube.http.answer_parser import Answer
from mooring.kube.http.transport import Check, Request, Stream, Transport
from mooring.kube.resources import PODS

BODY = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
ANSWER = (
    b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
    b"Audit-Id: 4c3c2f6e-0f9a-4b0e-9d1e-5e5f3b1c2d3e\r\nCache-Control: no-cache, private\r\n"
    b"Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY)
) + BODY
UID = "4c3c2f6e-0f9a-4b0e-9d1e-5e5f3b1c2d3e"
BINDING = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": "pod-12345",
            "namespace": "default",
            "uid": "4c3c2f6e-0f9a-4b0e-9d1e-5e5f3b1c2d3e",
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-123"},
    }
).encode()


class Server(asyncio.Protocol):
    """Answers whenever the end of a binding has come; it looks at nothing else."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._seen = b""

    def data_received(self, data: bytes) -> None:
        self._seen += data
        while (end := self._seen.find(BINDING)) >= 0:
            self._seen = self._seen[end + len(BINDING) :]
            self._transport.write(ANSWER)


class ThroughAiohttp:
    """Sends everything the way long answers go."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def ask(self, request: Request, check: Check | None = None) -> Answer:
        return await self._transport.ask(msgspec.structs.replace(request, compress=True), check)

    def follow(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.follow(request)


def serve(channel: Connection, certificate: str | None) -> None:
    async def run() -> None:
        tls = None
        if certificate is not None:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(certificate)
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, ssl=tls)
        channel.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def measure(client: Client, requests: int, at_once: int) -> tuple[float, float]:
    """Requests a second, and microseconds of CPU for each."""

    async def some(count: int) -> None:
        for _ in range(count):
            await client.create(PODS, "default", BINDING, name="pod-12345", sub="binding")

    await asyncio.gather(*(some(10) for _ in range(at_once)))  # connections are made here
    count = requests // at_once
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(some(count) for _ in range(at_once)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return count * at_once / wall, cpu / (count * at_once) * 1e6


async def run(access: Access, requests: int, at_once: int) -> None:
    print(f"{'way':<10} {'requests/s':>12} {'CPU µs each':>12}")  # noqa: T201
    for name in ("short", "general"):
        transport = Transport(access, connections=at_once)
        sender: Any = transport if name == "short" else ThroughAiohttp(transport)
        rate, cost = await measure(Client(sender), requests, at_once)
        await transport.close()
        print(f"{name:<10} {rate:>12,.0f} {cost:>12.0f}")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--tls", action="store_true")
    options = parser.parse_args()
    authority = trustme.CA()
    here, there = multiprocessing.Pipe()
    with authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.tempfile() as certificate:
        server = multiprocessing.Process(
            target=serve, args=(there, certificate if options.tls else None), daemon=True
        )
        server.start()
        port = here.recv()
        access = Access(
            server=f"{'https' if options.tls else 'http'}://127.0.0.1:{port}",
            authorities=authority.cert_pem.bytes(),
            user=User(token=Secret(b"x" * 900)),  # about as long as a service account's
        )
        try:
            asyncio.run(run(access, options.requests, options.at_once))
        finally:
            server.terminate()
            server.join()


if __name__ == "__main__":
    main()
