"""Decisions carried out over real connections: what is written is what an HTTP server reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from kube.doing import Doing, a_pod, bound, evict, failures, wait_for
from kube.lease_server import SETTINGS, LeaseServer
from kube.played_server import PlayedServer
from kube.serving import connected, serving
from mooring.kube.access.access import Access
from mooring.kube.client import MERGE, STRATEGIC, Client
from mooring.kube.http.transport import Request
from mooring.kube.lease.lease import LeaderElector
from mooring.kube.perform.performer import KubePerformer
from mooring.kube.record.recorder import Recorder


class OverHttp(Doing):
    """The same played server, behind HTTP."""

    def __init__(self, client: Client, server: PlayedServer) -> None:
        super().__init__()
        self.server, self.client = server, client
        self.recorder = Recorder(client, "host", slots=self.slots)
        self.performer = KubePerformer(
            client,
            self.told.append,
            recorder=self.recorder,
            binding_state=self.binding_state,
            slots=self.slots,
        )
        self.engine.attach(self.performer.api)


@asynccontextmanager
async def over_http() -> AsyncIterator[tuple[OverHttp, list[str]]]:
    played, kinds = PlayedServer(), list[str]()

    async def answer(request: web.Request) -> web.Response:
        kinds.append(request.content_type)
        asked = Request(request.method, request.path, body=await request.read())
        found = await played.ask(asked)
        return web.Response(body=found.body, status=found.status, content_type="application/json")

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        yield OverHttp(Client(transport), played), kinds


async def test_decisions_over_http() -> None:
    async with over_http() as (doing, kinds):
        web_pod, victim, waiting = (a_pod(name) for name in ("web", "victim", "waiting"))
        for each in (web_pod, victim, waiting):
            doing.server.holds(each)
        patch = {"metadata": {"labels": {"a": "b"}}}
        told = await doing.do(
            doing.bind(web_pod, patch=patch),
            doing.bind(a_pod("gone")),
            evict(victim, waiting),
            wait_for(waiting, "keine Räume", "n1"),
        )
        assert bound(told) == ["web"]
        assert failures(told) == ['running Bind plugin "DefaultBinder": pods "gone" not found']
        assert doing.server.pods["default/web"]["metadata"]["labels"] == {"a": "b"}
        assert doing.server.deleted == ["default/victim"]
        status = doing.server.pods["default/waiting"]["status"]
        assert status["nominatedNodeName"] == "n1"
        assert status["conditions"][0]["message"] == "keine Räume"
        reasons = sorted(event["reason"] for event in await doing.events())
        assert reasons == ["FailedScheduling", "Preempted", "Scheduled"]
        assert {MERGE, STRATEGIC} <= set(kinds)


async def test_a_lease_over_http() -> None:
    leases = LeaseServer()

    async def answer(request: web.Request) -> web.Response:
        asked = Request(request.method, request.path, body=await request.read())
        found = leases.carry_out(asked)
        body = json.dumps(json.loads(await found.read())).encode()
        return web.Response(body=body, status=found.status, content_type="application/json")

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        started = asyncio.Event()
        elector = LeaderElector(Client(transport, retries=0), SETTINGS, "me")
        running = asyncio.ensure_future(elector.run(started.set, lambda: None))
        await asyncio.wait_for(started.wait(), 30.0)
        assert elector.leads()
        assert leases.spec["holderIdentity"] == "me"
        await elector.release()
        assert leases.spec["holderIdentity"] == ""
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
