"""One leader: how it becomes one, stays one, and stops being one."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from kube.lease_server import SETTINGS, Candidate, LeaseServer
from kube.virtual_time import in_virtual_time
from mooring.config.durations import Duration
from mooring.kube.lease.lease import Stuck, clock, new_identity
from mooring.kube.record.event_series import Reference


def test_the_first_one_makes_the_lease_and_leads() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(0.1)
        assert a.words == ["started"]
        assert a.elector.leads()
        assert server.lease is not None
        assert server.lease["metadata"]["name"] == "kube-scheduler"
        assert server.spec == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2023-11-14T22:13:20.250000Z",
            "renewTime": "2023-11-14T22:13:20.250000Z",
            "leaseTransitions": 0,
        }
        await a.die()

    in_virtual_time(run())


def test_a_leader_renews_by_one_write_and_keeps_what_is_not_its_own() -> None:
    async def run() -> None:
        server = LeaseServer()
        times = iter(range(1_700_000_000, 1_800_000_000))
        a = Candidate(server, "a", now=lambda: float(next(times)))
        await asyncio.sleep(0.1)
        assert server.lease is not None
        server.lease["spec"]["strategy"] = "OldestEmulationVersion"
        server.change()  # so that the quick way does not work once
        await asyncio.sleep(20.0)
        assert server.asked.count(("a", "GET")) == 2  # at the start, and after the change
        assert server.spec["strategy"] == "OldestEmulationVersion"
        assert server.spec["acquireTime"] == "2023-11-14T22:13:20.000000Z"
        assert server.spec["renewTime"] > server.spec["acquireTime"]
        assert server.spec["leaseTransitions"] == 0
        assert 8 <= server.asked.count(("a", "PUT")) <= 12
        await a.die()

    in_virtual_time(run())


def test_a_dead_leader_is_followed_when_its_lease_was_seen_unchanged_long_enough() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(0.1)
        b = Candidate(server, "b", offset=5_000.0, now=lambda: 9e9)  # whatever its clocks show
        await asyncio.sleep(30.0)
        assert b.words == []
        assert (a.elector.leader, b.elector.leader) == ("a", "a")
        renewed = server.spec["renewTime"]
        died = asyncio.get_running_loop().time()
        await a.die()
        await asyncio.sleep(30.0)
        assert b.words == ["started"]
        assert 13.0 <= b.said[0][1] - died <= 20.0
        assert server.spec["leaseTransitions"] == 1
        assert server.spec["renewTime"] != renewed
        await b.die()

    in_virtual_time(run())


def test_times_in_the_lease_are_not_believed() -> None:
    async def run() -> None:
        server = LeaseServer()
        server.lease = {"metadata": {"name": "kube-scheduler", "resourceVersion": "0"}, "spec": {}}
        server.change(holderIdentity="x", leaseDurationSeconds=15, renewTime="2001-01-01T00:00:00.000000Z")
        b = Candidate(server, "b")
        await asyncio.sleep(14.0)
        assert b.words == []
        await asyncio.sleep(6.0)
        assert b.words == ["started"]
        await b.die()

    in_virtual_time(run())


def test_the_time_of_a_dead_leader_passes_while_another_gets_ready() -> None:
    async def run() -> None:
        server = LeaseServer()
        server.change(holderIdentity="x", leaseDurationSeconds=15)
        ready = asyncio.Event()
        b = Candidate(server, "b", is_ready=ready.is_set)
        await asyncio.sleep(20.0)
        assert b.words == []
        assert server.spec["holderIdentity"] == "x"
        ready.set()
        await asyncio.sleep(1.0)
        assert b.words == ["started"]
        await b.die()

    in_virtual_time(run())


def test_who_is_not_ready_makes_no_lease() -> None:
    async def run() -> None:
        server = LeaseServer()
        b = Candidate(server, "b", is_ready=lambda: False)
        await asyncio.sleep(20.0)
        assert server.lease is None
        await b.die()

    in_virtual_time(run())


def test_the_lease_says_how_long_it_is_good_for() -> None:
    async def run() -> None:
        server = LeaseServer()
        server.change(holderIdentity="x", leaseDurationSeconds=60)
        b = Candidate(server, "b")
        await asyncio.sleep(58.0)
        assert b.words == []
        await asyncio.sleep(5.0)
        assert b.words == ["started"]
        await b.die()

    in_virtual_time(run())


def test_who_cannot_renew_stops_at_the_deadline_and_not_later() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(1.0)
        a.line.there = lambda: 1000.0  # from now on everything hangs
        await asyncio.sleep(60.0)
        (_, started), (doubts, moment) = a.said
        assert doubts == "doubts"
        assert moment - started <= 10.0
        assert not a.elector.leads()
        await a.die()

    in_virtual_time(run())


def test_who_cannot_reach_the_server_stops_too() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(7.0)  # renewed at 6
        a.line.is_cut = True
        await asyncio.sleep(60.0)
        assert a.words == ["started", "doubts"]
        assert 15.9 <= a.said[1][1] - a.said[0][1] <= 16.1
        assert not a.elector.overdue(20.0)  # it knows, and waits
        await a.die()

    in_virtual_time(run())


def test_who_gets_its_answers_late_counts_from_when_it_asked() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(0.1)
        b = Candidate(server, "b")
        a.line.back = lambda: 4.5
        await asyncio.sleep(6.5)  # renewed at 2, and told so at 6.5
        a.line.is_cut = True
        for _ in range(200):
            await asyncio.sleep(0.1)
            assert not (a.elector.leads() and b.elector.leads())
        assert b.elector.leads()
        a.line.is_cut = False
        await a.task
        assert a.words == ["started", "doubts", "stopped"]
        await b.die()

    in_virtual_time(run())


def test_a_short_outage_is_survived() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        for _ in range(10):
            await asyncio.sleep(5.0)
            a.line.is_cut = True
            await asyncio.sleep(5.0)
            a.line.is_cut = False
        assert a.words == ["started"]
        await a.die()

    in_virtual_time(run())


def test_one_hanging_request_is_cut_and_tried_again() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(1.0)
        delays = iter([1000.0])
        a.line.there = lambda: next(delays, 0.0)
        await asyncio.sleep(60.0)
        assert a.words == ["started"]
        await a.die()

    in_virtual_time(run())


def test_who_sees_another_name_in_the_lease_stops_at_once() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(1.0)
        server.change(holderIdentity="usurper")
        await asyncio.wait_for(a.task, 60.0)
        assert a.said[1][1] - a.said[0][1] <= 2.1
        assert server.spec["holderIdentity"] == "usurper"

    in_virtual_time(run())


def test_a_deleted_lease_is_made_again_by_its_holder_only() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(0.1)
        b = Candidate(server, "b")
        await asyncio.sleep(3.95)
        server.lease = None  # b looks next, and then a renews
        for _ in range(60):
            await asyncio.sleep(0.5)
            assert a.elector.leads()
            assert not b.elector.leads()
        assert server.spec["holderIdentity"] == "a"
        server.lease = None
        await a.die()
        await asyncio.sleep(20.0)
        assert b.words == ["started"]
        await b.die()

    in_virtual_time(run())


def test_giving_the_lease_back_lets_another_lead_soon() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(0.1)
        b = Candidate(server, "b")
        await asyncio.sleep(5.0)
        await a.elector.release()
        assert not a.elector.leads()
        assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)
        await asyncio.sleep(3.0)
        assert b.words == ["started"]
        await a.task
        assert a.words == ["started"]  # it was not lost
        assert server.spec["leaseTransitions"] >= 1
        await b.die()

    in_virtual_time(run())


def test_a_renewal_under_way_does_not_take_back_what_is_given_back() -> None:
    async def run(at: float) -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(0.5)
        a.line.there = a.line.back = lambda: 0.4
        await asyncio.sleep(at)
        await a.elector.release()
        await asyncio.wait_for(a.task, 60.0)
        await asyncio.sleep(5.0)
        assert server.spec["holderIdentity"] == ""
        assert not a.elector.leads()
        assert a.words == ["started"]

    for tenths in range(10, 40):
        in_virtual_time(run(tenths / 10))


def test_who_does_not_hold_it_gives_nothing_back() -> None:
    async def run() -> None:
        server = LeaseServer()
        server.change(holderIdentity="x", leaseDurationSeconds=60)
        b = Candidate(server, "b")
        await asyncio.sleep(5.0)
        await b.elector.release()
        assert server.spec["holderIdentity"] == "x"
        await b.die()

    in_virtual_time(run())


def test_a_process_that_was_stopped_knows_at_once_that_it_no_longer_leads() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(1.0)
        loop: Any = asyncio.get_running_loop()
        loop.now += 60.0  # nothing ran meanwhile
        assert not a.elector.leads()
        server.change(holderIdentity="b")
        await a.task
        assert a.words == ["started", "doubts", "stopped"]

    in_virtual_time(run())


async def one_that_is_refused() -> tuple[LeaseServer, Candidate]:
    """It leads, and has not been allowed to renew for longer than it may go on so."""
    server = LeaseServer()
    a = Candidate(server, "a")
    await asyncio.sleep(5)
    server.forbids_writes = True
    await asyncio.sleep(SETTINGS.renew_deadline + 1)
    assert a.words == ["started", "doubts"]
    return server, a


def test_who_may_not_renew_any_more_ends_after_a_lease_s_time() -> None:
    async def life() -> None:
        _, a = await one_that_is_refused()
        await asyncio.sleep(SETTINGS.lease_duration)
        assert a.words == ["started", "doubts", "stopped"]

    in_virtual_time(life())


def test_who_is_refused_for_a_while_leads_on() -> None:
    async def life() -> None:
        server, a = await one_that_is_refused()
        server.forbids_writes = False
        await asyncio.sleep(SETTINGS.lease_duration)
        assert a.words == ["started", "doubts", "started"]
        await a.die()

    in_virtual_time(life())


def test_who_was_cut_off_leads_on_if_nobody_else_had_the_lease() -> None:
    """At once when the server answers: nobody has to wait until a lease runs out."""

    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(1.0)
        a.line.is_cut = True
        await asyncio.sleep(100.0)
        assert not a.elector.leads()
        a.line.is_cut = False
        await asyncio.sleep(0.5)
        assert a.words == ["started", "doubts", "started"]
        assert a.elector.leads()
        assert server.spec["leaseTransitions"] == 0
        await asyncio.sleep(60.0)
        assert a.elector.leads()
        await a.die()

    in_virtual_time(run())


@pytest.mark.parametrize("holder", ["b", "", None])
def test_who_was_cut_off_ends_if_anybody_else_may_have_had_the_lease(holder: str | None) -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(1.0)
        a.line.is_cut = True
        await asyncio.sleep(20.0)
        if holder is None:
            server.lease = None
        else:
            server.change(holderIdentity=holder)
        a.line.is_cut = False
        await a.task
        assert a.words == ["started", "doubts", "stopped"]
        assert not a.elector.leads()

    in_virtual_time(run())


def test_a_leader_that_hangs_is_overdue() -> None:
    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        assert not a.elector.overdue(20.0)
        await asyncio.sleep(1.0)
        loop: Any = asyncio.get_running_loop()
        loop.now += 34.0
        assert not a.elector.overdue(20.0)
        loop.now += 3.0
        assert a.elector.overdue(20.0)
        await a.die()

    in_virtual_time(run())


def test_those_who_wait_do_not_ask_in_step() -> None:
    async def run() -> None:
        server = LeaseServer()
        server.change(holderIdentity="x", leaseDurationSeconds=1000)
        chances = iter([0.0, 1.0, 0.8])
        b = Candidate(server, "b", random=lambda: next(chances, 0.0))
        moments = await looks_at(server, seconds=1.0)
        waits = [round(later - earlier, 2) for earlier, later in pairwise(moments)]
        assert waits == [0.25, 0.3, 0.29, 0.25]
        await b.die()

    in_virtual_time(run())


async def looks_at(server: LeaseServer, *, seconds: float) -> list[float]:
    """The moments within so many seconds at which something was asked."""
    loop, moments = asyncio.get_running_loop(), []
    end = loop.time() + seconds + 0.1
    while loop.time() < end:
        before = len(server.asked)
        await asyncio.sleep(0.01)
        if len(server.asked) > before:
            moments.append(loop.time())
    return moments


def test_a_lease_that_runs_out_is_taken_at_that_very_moment() -> None:
    async def run() -> None:
        server = LeaseServer()
        server.change(holderIdentity="x", leaseDurationSeconds=1)
        b = Candidate(server, "b", random=lambda: 1.0)  # looks at 0, 0.3, 0.6, 0.9
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(2.0)
        assert 1.0 <= b.said[0][1] - began <= 1.01
        await b.die()

    in_virtual_time(run())


def test_a_renewal_that_failed_is_tried_again_soon() -> None:
    """A server that is away for nearly as long as the lease lasts is asked in the last moment as well."""

    async def run() -> None:
        server = LeaseServer()
        a = Candidate(server, "a")
        await asyncio.sleep(2.5)  # renewed at 2
        a.line.is_cut = True
        await asyncio.sleep(9.2)
        a.line.is_cut = False  # at 11.7: it gives up at 12
        await asyncio.sleep(20.0)
        assert a.words == ["started"]
        await a.die()

    in_virtual_time(run())


def test_what_is_wrong_with_the_lease_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        b = Candidate(LeaseServer(), "b")
        b.line.is_cut = True
        await asyncio.sleep(60.0)
        assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1
        await b.die()

    in_virtual_time(run())


def test_who_is_stuck_gives_the_lease_up_and_says_on_what() -> None:
    async def run() -> None:
        server, stuck = LeaseServer(), [""]
        a = Candidate(server, "a", stuck=lambda: stuck[0])
        await asyncio.sleep(10.0)
        assert a.words == ["started"]
        stuck[0] = "filter of Endless, for the pod default/web"
        with pytest.raises(Stuck, match="Endless, for the pod default/web"):
            await a.task
        assert not a.elector.leads()
        assert server.spec["holderIdentity"] == ""

    in_virtual_time(run())


def test_a_leader_is_announced() -> None:
    async def run() -> None:
        server = LeaseServer()
        said: list[tuple[Reference, str]] = []
        heard: list[str] = []
        a = Candidate(server, "a", announce=lambda *what: said.append(what), on_new_leader=heard.append)
        await asyncio.sleep(1.0)
        lease = Reference("Lease", "kube-system", "kube-scheduler", "lease-uid", "coordination.k8s.io/v1")
        assert said == [(lease, "a became leader")]
        assert heard == ["a"]
        await a.die()

    in_virtual_time(run())


def test_parts_of_seconds_are_not_cut_off_a_lease() -> None:
    async def run() -> None:
        server = LeaseServer()
        settings = msgspec.structs.replace(
            SETTINGS, lease_duration=Duration(1.5), renew_deadline=Duration(1.2)
        )
        a = Candidate(server, "a", settings=settings)
        await asyncio.sleep(0.1)
        assert server.spec["leaseDurationSeconds"] == 2
        await a.die()

    in_virtual_time(run())


def test_identities_and_clock() -> None:
    assert new_identity() != new_identity()
    assert "_" in new_identity()
    assert clock() <= clock()
