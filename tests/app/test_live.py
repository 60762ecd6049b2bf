"""A live scheduler from its start to its end, against a server of few words on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from app.small_server import NODES, PODS, SmallServer, node, pod
from mooring.app.driver import Clock
from mooring.app.live import LiveScheduler
from mooring.app.making import make_engine
from mooring.config.load import SchedulerConfig, default_config
from mooring.config.scheduler import LeaderElection
from mooring.kube.http.rate_limiter import Limiter
from mooring.plugins.catalogue import make_registry

NO_ELECTION = LeaderElection(leader_elect=False)
QUICK = LeaderElection(lease_duration=3, renew_deadline=1, retry_period=0.2)  # type: ignore[arg-type]


def make_live(server: SmallServer, election: LeaderElection, **settings: object) -> LiveScheduler:
    registry = make_registry()
    config: SchedulerConfig = default_config(registry)
    config = msgspec.structs.replace(config, leader_election=election, **settings)
    return LiveScheduler(make_engine(config, registry), server.access, config, clock=Clock())


@pytest.fixture
async def server() -> AsyncIterator[SmallServer]:
    async with SmallServer() as made:
        made.put(NODES, node("n"))
        yield made


async def test_pods_there_and_pods_to_come_are_bound(server: SmallServer) -> None:
    server.put(PODS, pod("early"))
    live = make_live(server, NO_ELECTION)
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    server.put(PODS, pod("late"))
    await server.until(lambda: len(server.bound) == 2)
    live.stop()
    assert await running == 0
    assert server.bound == [("early", "n"), ("late", "n")]
    live.engine.check()


async def test_pods_of_the_first_list_do_not_wait_for_what_follows_it(server: SmallServer) -> None:
    """Over a long line the answer to a watch takes as long as the list did. Ready is who hears of changes."""
    server.watches.clear()
    server.put(PODS, pod("early"))
    live = make_live(server, NO_ELECTION)
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    assert live.is_caught_up
    assert not live.is_in_sync
    server.watches.set()
    await live.informers.synced()
    assert live.is_in_sync
    live.stop()
    assert await running == 0


async def test_events_are_written_before_it_ends(server: SmallServer) -> None:
    server.put(PODS, pod("one"))
    live = make_live(server, NO_ELECTION)
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    live.stop()
    assert await running == 0
    assert [event["reason"] for event in server.events] == ["Scheduled"]


async def test_the_lease_is_given_back_at_the_end(server: SmallServer) -> None:
    server.put(PODS, pod("one"))
    live = make_live(server, LeaderElection())
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    assert server.lease is not None
    assert live.elector is not None
    assert server.lease["spec"]["holderIdentity"] == live.elector.identity
    live.stop()
    assert await running == 0
    assert server.lease["spec"]["holderIdentity"] == ""


async def test_without_the_lease_nothing_is_bound(server: SmallServer) -> None:
    other = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": "x"}
    server.lease = {"metadata": {"name": "kube-scheduler", "resourceVersion": "1"}, "spec": other}
    server.put(PODS, pod("one"))
    live = make_live(server, LeaderElection())
    running = asyncio.create_task(live.run())
    await live.informers.synced()
    await live.driver.caught_up()
    assert len(live.engine.queue) == 1
    live.stop()
    assert await running == 0
    assert server.bound == []


async def test_who_cannot_renew_writes_nothing_until_it_can(server: SmallServer) -> None:
    server.put(PODS, pod("one"))
    live = make_live(server, QUICK)
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    server.lease_works = False
    while not live.driver.is_paused:
        await asyncio.sleep(0.01)
    assert not live.leads()
    server.put(PODS, pod("two"))
    await live.driver.caught_up()
    assert [name for name, _ in server.bound] == ["one"]
    server.lease_works = True
    await server.until(lambda: len(server.bound) == 2)
    live.stop()
    assert await running == 0
    live.engine.check()


async def test_who_has_lost_the_lease_ends_with_1_and_writes_nothing(server: SmallServer) -> None:
    server.put(PODS, pod("one"))
    live = make_live(server, QUICK)
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    assert server.lease is not None
    server.lease["spec"]["holderIdentity"] = "usurper"
    server.lease["metadata"]["resourceVersion"] = "changed"
    written = len(server.events)
    assert await running == 1
    assert not live.leads()
    server.put(PODS, pod("two"))
    assert [name for name, _ in server.bound] == ["one"]
    assert not [event["note"] for event in server.events[written:] if "leading" in event["note"]]


async def test_what_is_not_sent_yet_is_left_to_who_leads_next(
    server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits until all that is decided is carried out, at one write a second."""
    for number in range(30):
        server.put(PODS, pod(f"p{number}"))
    limiters = iter([Limiter(), Limiter(qps=1, burst=1)])  # the second is for writing
    monkeypatch.setattr(LiveScheduler, "_limiter", lambda self: next(limiters, Limiter()))
    live = make_live(server, LeaderElection())
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    live.stop()
    assert await running == 0
    assert len(server.bound) < 5
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == ""


async def test_a_bind_that_is_answered_late_is_told_before_another_may_lead(server: SmallServer) -> None:
    server.binds.clear()
    server.put(PODS, pod("one"))
    live = make_live(server, LeaderElection())
    running = asyncio.create_task(live.run())
    await server.until(lambda: server.bound)
    live.stop()
    while live.may_write():
        await asyncio.sleep(0)
    server.binds.set()
    assert await running == 0
    assert [event["reason"] for event in server.events if event["reason"] != "LeaderElection"] == [
        "Scheduled"
    ]


@pytest.mark.parametrize("delayed", [False, True])
async def test_a_replica_that_waits_follows_the_cluster_unless_told_not_to(
    server: SmallServer, delayed: bool
) -> None:
    other = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": "x"}
    server.lease = {"metadata": {"name": "kube-scheduler", "resourceVersion": "1"}, "spec": other}
    live = make_live(server, QUICK, delay_cache_until_active=delayed)
    running = asyncio.create_task(live.run())
    if not delayed:
        await live.informers.synced()
        await live.driver.caught_up()
    assert len(live.engine.cluster.nodes) == (0 if delayed else 1)
    server.lease = None
    live.stop()
    assert await running == 0


async def test_who_becomes_leader_knows_what_the_last_one_gave_away(server: SmallServer) -> None:
    """Its watch has told it nothing of it: what it has listed is older than the lease."""
    other = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": "x"}
    server.lease = {"metadata": {"name": "kube-scheduler", "resourceVersion": "1"}, "spec": other}
    server.put(PODS, pod("waits", cpu="8"))
    live = make_live(server, QUICK)
    running = asyncio.create_task(live.run())
    await live.informers.synced()
    await live.driver.caught_up()
    taken = pod("taken", cpu="8")
    taken["spec"]["nodeName"] = "n"
    server.put(PODS, taken, unheard=True)
    server.lease["spec"] = {**other, "holderIdentity": ""}
    await server.until(lambda: server.bound or "FailedScheduling" in {e["reason"] for e in server.events})
    assert server.bound == []
    live.stop()
    assert await running == 0
    live.engine.check()
