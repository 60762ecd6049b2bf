"""A small HTTP extender, run in a process of its own: closes every tenth node to pods.

Prints its address once it listens, and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from aiohttp import web

CLOSED = "node(s) are closed"
MAX_BODY = 64 * 2**20  # the names of very many nodes


class Args(msgspec.Struct, rename="pascal"):
    node_names: list[str]


class Result(msgspec.Struct, rename="pascal"):
    node_names: list[str]
    failed_nodes: dict[str, str]


def is_closed(node_name: str) -> bool:
    return node_name.endswith("0")


def answer(body: bytes) -> bytes:
    names = msgspec.json.decode(body, type=Args).node_names
    closed = {name: CLOSED for name in names if is_closed(name)}
    return msgspec.json.encode(Result([name for name in names if name not in closed], closed))


async def filter_nodes(request: web.Request) -> web.Response:
    return web.Response(body=answer(await request.read()), content_type="application/json")


async def serve() -> None:
    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/filter", filter_nodes)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    sys.stdout.write(f"http://{host}:{port}\n")
    sys.stdout.flush()
    try:
        await asyncio.to_thread(sys.stdin.read)
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve())
