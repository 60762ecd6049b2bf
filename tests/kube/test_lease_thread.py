"""A lease that is kept aside: whatever the rest of the process is at."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from kube.lease_server import LeaseServer, Line
from mooring.config.durations import Duration
from mooring.config.scheduler import LeaderElection
from mooring.kube.client import Client
from mooring.kube.lease.lease import LeaderElector
from mooring.kube.lease.lease_thread import LeaseThread

QUICK = LeaderElection(lease_duration=Duration(2), renew_deadline=Duration(1), retry_period=Duration(0.02))
PATIENCE_S = 30.0  # what does not happen within that does not happen


class Kept:
    """A lease and the thread that keeps it."""

    def __init__(self, stuck: Callable[[], str] = lambda: "") -> None:
        self.server = LeaseServer()
        self.line = Line(self.server, "a")
        self.elector = LeaderElector(Client(self.line, retries=0), QUICK, "a", stuck=stuck)
        self.started, self.stopped = asyncio.Event(), asyncio.Event()
        self.ended = threading.Event()
        self.is_closed = False
        self.thread = LeaseThread(self.elector, self._close, end=self.ended.set)
        self.thread.start(self.started.set, self.stopped.set, lambda: None)

    async def _close(self) -> None:
        self.is_closed = True

    def renewals(self) -> int:
        return self.server.asked.count(("a", "PUT"))


async def test_it_is_renewed_while_everything_else_computes() -> None:
    kept = Kept()
    await kept.started.wait()
    before, end = kept.renewals(), time.monotonic() + PATIENCE_S
    while kept.renewals() < before + 5 and time.monotonic() < end:
        pass  # a policy at work: this loop gets no turn
    assert kept.renewals() >= before + 5
    assert kept.elector.leads()
    await kept.thread.close()
    assert kept.is_closed
    assert not kept.stopped.is_set()


async def test_it_is_given_back_from_another_thread() -> None:
    kept = Kept()
    await kept.started.wait()
    await kept.thread.release()
    assert not kept.elector.leads()
    assert kept.server.spec["holderIdentity"] == ""
    await kept.thread.close()


async def test_who_gave_it_back_does_not_take_part_any_more() -> None:
    kept = Kept()
    other = LeaseThread(kept.elector, kept._close)
    await other.release()
    other.start(lambda: None, lambda: None, lambda: None)
    await other.close()
    await kept.thread.close()


async def test_that_it_is_lost_is_said_where_the_thread_was_started() -> None:
    kept = Kept()
    await kept.started.wait()
    kept.server.change(holderIdentity="usurper")
    await kept.stopped.wait()
    assert not kept.elector.leads()
    await kept.thread.close()
    assert kept.server.spec["holderIdentity"] == "usurper"


async def test_who_is_stuck_ends_though_nobody_else_gets_a_turn(caplog: pytest.LogCaptureFixture) -> None:
    stuck = [""]
    kept = Kept(lambda: stuck[0])
    await kept.started.wait()
    stuck[0] = "filter of Endless, for the pod default/web"
    assert kept.ended.wait(PATIENCE_S)  # without a turn of this loop
    assert kept.server.spec["holderIdentity"] == ""
    assert "filter of Endless, for the pod default/web" in caplog.text
    await kept.thread.close()


async def test_an_election_that_fails_in_an_unforeseen_way_stops_leading() -> None:
    kept = Kept(lambda: str(1 // 0))
    await kept.stopped.wait()
    await kept.thread.close()


class Resigning:
    """An election that ends as soon as its lease is being given back."""

    def __init__(self) -> None:
        self.resigned = asyncio.Event()
        self.is_given_back = False

    async def run(self, on_started: Callable[[], None], *more: Callable[[], None]) -> None:
        on_started()
        await self.resigned.wait()

    async def release(self) -> None:
        self.resigned.set()
        for _ in range(10):  # the server takes its time
            await asyncio.sleep(0)
        self.is_given_back = True


async def test_giving_back_is_done_before_the_thread_ends() -> None:
    elector, started = Resigning(), asyncio.Event()

    async def close() -> None:
        assert elector.is_given_back

    thread = LeaseThread(elector, close)  # type: ignore[arg-type]
    thread.start(started.set, lambda: None, lambda: None)
    await started.wait()
    await thread.release()
    assert elector.is_given_back
