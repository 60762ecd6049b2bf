"""An API server of one process and few words: lists, watches, bindings, statuses, Events, leases."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

from mooring.kube.access.access import Access

Object = dict[str, Any]

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"


class SmallServer:
    """Use it with `async with`. Whatever is put in is listed, and told to whoever watches."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Object]] = {NODES: {}, PODS: {}}
        self.bound: list[tuple[str, str]] = []
        self.events: list[Object] = []
        self.lease: Object | None = None
        self.lease_works = True
        self.watches = asyncio.Event()  # watches are answered
        self.watches.set()
        self.binds = asyncio.Event()  # bindings, which take place, are answered
        self.binds.set()
        self.version = 100
        self._watching: dict[str, list[asyncio.Queue[Object]]] = {}
        self._changed = asyncio.Event()

    async def __aenter__(self) -> SmallServer:
        app = web.Application()
        lease = "/apis/coordination.k8s.io/v1/namespaces/{space}/leases"
        app.router.add_post("/api/v1/namespaces/{space}/pods/{name}/binding", self._bind)
        app.router.add_post("/apis/events.k8s.io/v1/namespaces/{space}/events", self._event)
        app.router.add_get(lease + "/{name}", self._get_lease)
        app.router.add_post(lease, self._put_lease)
        app.router.add_put(lease + "/{name}", self._put_lease)
        app.router.add_get("/{path:.*}", self._list_or_watch)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.access = Access(server=f"http://127.0.0.1:{self._runner.addresses[0][1]}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def put(self, path: str, body: Object, kind: str = "ADDED", *, unheard: bool = False) -> None:
        """An object that is `unheard` is listed, and no watch tells of it."""
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.objects[path][body["metadata"]["name"]] = body
        for queue in () if unheard else self._watching.get(path, ()):
            queue.put_nowait({"type": kind, "object": body})

    async def until(self, true: Any) -> None:
        """Waits for something this server is told of."""
        while not true():
            self._changed.clear()
            await self._changed.wait()

    async def _list_or_watch(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._watch(request)
        items = list(self.objects.get(request.path, {}).values())
        return web.json_response({"metadata": {"resourceVersion": str(self.version)}, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        queue: asyncio.Queue[Object] = asyncio.Queue()
        self._watching.setdefault(request.path, []).append(queue)
        answer = web.StreamResponse()
        await self.watches.wait()
        await answer.prepare(request)
        while True:
            await answer.write(json.dumps(await queue.get()).encode() + b"\n")

    async def _bind(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        node = (await request.json())["target"]["name"]
        self.bound.append((name, node))
        pod = json.loads(json.dumps(self.objects[PODS][name]))
        pod["spec"]["nodeName"] = node
        self.put(PODS, pod, "MODIFIED")
        self._changed.set()
        await self.binds.wait()
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    async def _event(self, request: web.Request) -> web.Response:
        self.events.append(await request.json())
        self._changed.set()
        return web.json_response({}, status=201)

    async def _get_lease(self, request: web.Request) -> web.Response:
        if self.lease is None:
            return web.json_response({"reason": "NotFound", "message": "no lease"}, status=404)
        return web.json_response(self.lease)

    async def _put_lease(self, request: web.Request) -> web.Response:
        if not self.lease_works:
            return web.json_response({"message": "no"}, status=500)
        body = await request.json()
        known = self.lease or body
        if body["metadata"].get("resourceVersion") != known["metadata"].get("resourceVersion"):
            return web.json_response({"message": "changed", "reason": "Conflict"}, status=409)
        self.lease = body
        self.version += 1
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        self._changed.set()
        return web.json_response(self.lease)


def node(name: str) -> Object:
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {"metadata": {"name": name, "uid": name}, "status": {"allocatable": room, "capacity": room}}


def pod(name: str, cpu: str = "100m") -> Object:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"schedulerName": "default-scheduler", "containers": [container]},
        "status": {"phase": "Pending"},
    }
