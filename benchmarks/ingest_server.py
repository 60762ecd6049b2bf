"""Serves a recorded cluster on the loopback interface: lists in pages, and watches in which nothing happens.

Prints the port it listens on, then serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
from urllib.parse import parse_qsl

from aiohttp import web
from recorded_cluster import RecordedCluster

VERSION = "9000000"
PIECE = 32 * 1024  # an API server writes long answers in chunks
COMPRESSED_ABOVE = 128 * 1024  # bytes, as the API server has it
QUIET_SECONDS = 3600.0


class Server:
    """All answers are made before the first question."""

    def __init__(self, cluster: RecordedCluster, paths: tuple[str, ...], *, compress: bool) -> None:
        self._cluster = cluster
        self._compress = compress
        self._pages = {path: self._list(path, limit=500) for path in paths}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        query = dict(parse_qsl(request.query_string))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if "watch" in query:
            await response.prepare(request)
            await response.write(b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9000000"}}}\n')
            await asyncio.sleep(QUIET_SECONDS)
            return response
        pages = self._pages.get(request.path) or self._list(request.path, limit=500)
        body = pages[int(query.get("continue", "0"))]
        if self._compress and len(body) > COMPRESSED_ABOVE:
            response.headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, 1)
        await response.prepare(request)
        for start in range(0, len(body), PIECE):
            await response.write(body[start : start + PIECE])
        return response

    def _list(self, path: str, limit: int) -> list[bytes]:
        items = list(self._cluster.items(path))
        parts = [items[start : start + limit] for start in range(0, len(items), limit)] or [[]]
        return [_page(part, number + 1 < len(parts), number) for number, part in enumerate(parts)]


def _page(items: list[bytes], more: bool, number: int) -> bytes:
    token = f',"continue":"{number + 1}"' if more else ""
    head = f'{{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"{VERSION}"{token}}},"items":['
    return head.encode() + b",".join(items) + b"]}\n"


async def main(nodes: int, pods: int, classes: int, compress: bool) -> None:
    cluster = RecordedCluster(nodes, pods, classes)
    large = ("/api/v1/pods", "/api/v1/nodes", "/apis/apps/v1/replicasets", "/apis/storage.k8s.io/v1/csinodes")
    app = web.Application()
    app.router.add_get("/{path:.*}", Server(cluster, large, compress=compress).answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, shutdown_timeout=0.1)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:4]), compress=sys.argv[4] == "gzip"))
