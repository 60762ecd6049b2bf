"""All informers together, up to the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kube.watched_server import PODS, Fate, Refused, WatchedServer
from mooring.engine.engine import Engine
from mooring.engine.events import Event, NodeAdded, ObjectAdded, ObjectChanged, PodAdded
from mooring.errors import ConfigError
from mooring.kube.client import Client
from mooring.kube.discovery import parse
from mooring.kube.http.transport import Request
from mooring.kube.resources import BY_KIND, REPLICA_SETS
from mooring.kube.watch.followed_kinds import kinds_read
from mooring.kube.watch.informers import UNFINISHED, Informers
from mooring.plugins.catalogue import plans_with

NODES, SERVICES, REPLICAS = "/api/v1/nodes", "/api/v1/services", REPLICA_SETS.path()
GANGS, GROUP = "/apis/x.io/v1/gangs", "/apis/x.io/v1"
GANG = {"name": "gangs", "kind": "Gang", "namespaced": True}


class Listening:
    """Informers at work; `told` is what the engine hears."""

    def __init__(self, *kinds: str, fate: Fate | None = None, tell: Callable[[Event], None] | None = None):
        self.server = WatchedServer(fate)
        self.told: list[Event] = []
        self.slept: list[float] = []
        self.awake = asyncio.Event()
        self.informers = Informers(
            Client(self.server, retries=0, random=lambda: 0.0),
            kinds,
            tell or self.told.append,
            absent_seconds=11.0,
            sleep=self._sleep,
        )
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Listening:
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def start(self) -> None:
        self._task = asyncio.create_task(self.informers.run())

    async def synced(self) -> None:
        if self._task is None:
            self.start()
        async with asyncio.timeout(10):  # only a test that fails waits that long
            await self.informers.synced()

    async def until(self, condition: Callable[[], object]) -> None:
        for _ in range(1000):
            if condition():
                return
            await asyncio.sleep(0)
        raise AssertionError("it never happens")

    def objects(self) -> list[tuple[str, str]]:
        return [(e.object.kind, e.object.key) for e in self.told if isinstance(e, ObjectAdded)]

    async def _sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(seconds)
            await self.awake.wait()
        await asyncio.sleep(0)


async def test_nodes_come_before_pods() -> None:
    async with Listening("Pod", "Node", "Service") as listening:
        server = listening.server
        server.put(PODS, "p", "default", spec={"nodeName": "n"})
        server.put(NODES, "n")
        server.put(SERVICES, "s", "default", spec={"selector": {"app": "web"}})
        assert not listening.informers.is_synced
        await listening.synced()
        assert listening.informers.is_synced
        kinds = [type(each) for each in listening.told]
        assert kinds.index(NodeAdded) < kinds.index(PodAdded)
        assert listening.informers.counts == {"Pod": 1, "Node": 1, "Service": 1}


async def test_finished_pods_are_not_asked_for() -> None:
    async with Listening("Pod", "Node") as listening:
        listening.server.objects[NODES] = {}
        await listening.synced()
        await asyncio.sleep(0)
        asked = [dict(r.query) for r in listening.server.asked if r.path == PODS]
        assert dict(UNFINISHED)["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"
        assert {each["fieldSelector"] for each in asked} == {dict(UNFINISHED)["fieldSelector"]}


async def test_a_kind_that_comes_later_is_picked_up() -> None:
    async with Listening("Node", "x.io/v1/gangs") as listening:
        server = listening.server
        server.objects[NODES] = {}
        await listening.synced()  # nobody waits for what is not installed
        assert listening.slept == [11.0]
        server.resources[GROUP] = [GANG, {"name": "gangs/status", "kind": "Gang", "namespaced": True}]
        server.put(GANGS, "g", "default", spec={"minMember": 3})
        listening.awake.set()
        await listening.until(listening.objects)
        assert listening.objects() == [("Gang", "default/g")]
        [gang] = [e.object for e in listening.told if isinstance(e, ObjectAdded)]
        assert (gang.api_version, gang.data["spec"]) == ("x.io/v1", {"minMember": 3})


@pytest.mark.parametrize("name", ["x.io/v1/gangs", "x.io/v1/Gang"])
async def test_a_kind_goes_by_its_plural_or_its_name(name: str) -> None:
    async with Listening(name) as listening:
        listening.server.resources[GROUP] = [GANG]
        listening.server.put(GANGS, "g", "default")
        await listening.synced()
        assert listening.objects() == [("Gang", "default/g")]


async def test_a_group_without_the_kind_is_asked_again() -> None:
    async with Listening("x.io/v1/gangs") as listening:
        listening.server.resources[GROUP] = [{"name": "others", "kind": "Other", "namespaced": False}]
        await listening.synced()
        assert listening.slept == [11.0]


async def test_who_may_not_look_is_told_in_the_words_of_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Forbidding(Fate):
        def before_answer(self, server: WatchedServer, request: Request) -> None:
            raise Refused(403, "forbidden: no", "Forbidden")

    async with Listening("x.io/v1/gangs", fate=Forbidding()) as listening:
        listening.start()
        listening.awake.set()
        await listening.until(lambda: len(listening.slept) > 3)
        assert not listening.informers.is_synced
        assert caplog.text.count("forbidden: no") == 1


async def test_what_anybody_wants_whole_is_whole() -> None:
    found = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}}
    for kinds, kept in (
        (["ReplicaSet"], {"selector": found["selector"]}),
        (["ReplicaSet", "apps/v1/replicasets"], found),
        (["apps/v1/ReplicaSet"], found),
    ):
        async with Listening(*kinds) as listening:
            listening.server.put(REPLICAS, "r", "default", spec=found)
            await listening.synced()
            [told] = listening.told
            assert isinstance(told, ObjectAdded)
            assert told.object.data["spec"] == kept


async def test_what_makes_no_difference_does_not_reach_the_engine() -> None:
    claims = "/api/v1/persistentvolumeclaims"
    async with Listening("Node", "Pod", "ReplicaSet", "PersistentVolumeClaim") as listening:
        server = listening.server

        def write(beat: int) -> None:
            ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": str(beat)}
            server.put(NODES, "n", status={"conditions": [ready]})
            started = {"type": "Ready", "status": "True" if beat else "False"}
            server.put(PODS, "p", "default", spec={}, status={"phase": "Running", "conditions": [started]})
            server.put(REPLICAS, "r", "default", spec={"replicas": beat}, status={"replicas": beat})
            server.put(claims, "c", "default", spec={})

        write(0)
        await listening.synced()
        listening.told.clear()
        for beat in (1, 2):
            write(beat)
        await listening.until(lambda: len(listening.told) == 2)
        server.put(NODES, "last")
        await listening.until(lambda: len(listening.told) == 3)
        # Whoever writes a claim names the version it saw: that has to be the newest.
        told = [type(each) for each in listening.told]
        assert told == [ObjectChanged, ObjectChanged, NodeAdded]


async def test_more_kinds_can_be_followed_later() -> None:
    async with Listening("Node") as listening:
        listening.server.objects[NODES] = {}
        listening.server.put(SERVICES, "s", "default")
        await listening.synced()
        await listening.informers.add(["Service", "Node"])
        assert listening.objects() == [("Service", "default/s")]
        assert listening.informers.counts == {"Node": 0, "Service": 1}


@pytest.mark.parametrize("name", ["Gang", "a/b/c/d", "x.io//gangs", ""])
def test_a_kind_nobody_can_find_is_a_mistake(name: str) -> None:
    with pytest.raises(ConfigError, match="nor of the form group/version/plural"):
        parse(name)


def test_kinds_of_kubernetes_need_no_asking() -> None:
    assert parse("v1/services").built_in == BY_KIND["Service"]
    assert parse("apps/v1/ReplicaSet").built_in == REPLICA_SETS
    assert parse("x.io/v1/gangs").built_in is None


async def test_the_engine_knows_the_cluster() -> None:
    plans, registry = plans_with((), {}, {})
    engine = Engine(plans, registry)

    def tell(event: Event) -> None:
        engine.handle(event, 0.0)

    async with Listening(*kinds_read(engine), tell=tell) as listening:
        server = listening.server
        for number in range(3):
            room = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
            server.put(NODES, f"n{number}", status=room)
        for number in range(6):
            server.put(PODS, f"p{number}", "default", **_pod(f"n{number % 3}"))
        server.put(PODS, "waiting", "default", **_pod(""))
        server.put(PODS, "done", "default", **_pod("n0", "Succeeded"))
        await listening.synced()
        engine.check()
        assert len(engine.cluster.pods) == 6
        assert len(engine.queue) == 1
        assert engine.view.node("n0").requested("cpu") == 1000
        server.put(PODS, "p0", "default", status={"phase": "Failed"})
        server.put(PODS, "waiting", "default", **_pod("n1"))
        await listening.until(lambda: not len(engine.queue))
        assert engine.view.node("n0").requested("cpu") == 500
        assert engine.view.node("n1").requested("cpu") == 1500
        engine.check()


def _pod(node: str, phase: str = "Running") -> dict[str, Any]:
    container = {"name": "x", "resources": {"requests": {"cpu": "500m"}}}
    spec = {"nodeName": node, "schedulerName": "default-scheduler", "containers": [container]}
    return {"spec": spec, "status": {"phase": phase}}
