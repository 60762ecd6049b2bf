"""The fence: who does not lead any more reads, and writes nothing."""

from __future__ import annotations

import asyncio

import pytest

from kube.doing import Doing, a_pod, failures
from kube.played_server import PlayedServer, refusal
from kube.virtual_time import in_virtual_time
from mooring.errors import ApiError
from mooring.kube.client import Client
from mooring.kube.http.write_fence import Fenced, NotLeading
from mooring.kube.perform.performer import KubePerformer
from mooring.kube.resources import PODS


def test_nothing_is_written_by_who_does_not_lead() -> None:
    async def run() -> None:
        server, leading = PlayedServer(), True
        server.holds(a_pod("web"))
        client = Client(Fenced(server, lambda: leading))
        await client.patch(PODS, "default/web", b"{}")
        leading = False
        for write in (
            client.patch(PODS, "default/web", b"{}", retry=True),
            client.create(PODS, "default", b"{}", name="web", sub="binding"),
            client.delete(PODS, "default/web", retry=True),
        ):
            with pytest.raises(NotLeading):
                await write
        assert len(server.asked) == 1
        await client.get(PODS, "default/web")

    in_virtual_time(run())


def test_a_retry_is_not_sent_either() -> None:
    async def run() -> None:
        server, leading = PlayedServer(), True
        server.holds(a_pod("web"))
        server.fails(refusal(503, "busy"))
        asking = asyncio.ensure_future(
            Client(Fenced(server, lambda: leading)).patch(PODS, "default/web", b"{}", retry=True)
        )
        await asyncio.sleep(0.01)
        leading = False
        with pytest.raises(ApiError, match="no longer leads"):
            await asking
        assert len(server.asked) == 1

    in_virtual_time(run())


def test_binds_behind_the_fence_fail() -> None:
    async def run() -> None:
        doing = Doing()
        client = Client(Fenced(doing.server, lambda: False))
        performer = KubePerformer(
            client, doing.told.append, recorder=doing.recorder, binding_state=doing.binding_state
        )
        doing.engine.attach(performer.api)
        performer.perform(doing.bind(a_pod("web")))
        await performer.drain(10.0)
        assert failures(doing.told) == [
            'running Bind plugin "DefaultBinder": this scheduler no longer leads, so nothing is written'
        ]
        assert doing.server.asked == []

    in_virtual_time(run())
