"""Making room: why, then gone, the last victim last; and what happens when one of them stays."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from kube.doing import Doing, a_pod, evict, wait_for
from kube.played_server import LOST, UNHEARD, refusal
from kube.virtual_time import in_virtual_time
from mooring.engine.decisions import Evict
from mooring.engine.events import BindFailed, EvictFailed
from mooring.kube.perform.evictions import PAUSE_S
from mooring.model.objects import Pod

BIG = a_pod("big", "uid-big")


def victims(doing: Doing, *names: str) -> list[Pod]:
    pods = [a_pod(name) for name in names]
    for each in pods:
        doing.server.holds(each)
    return pods


def test_a_victim_is_told_why_and_deleted() -> None:
    async def run() -> None:
        doing = Doing()
        (victim,) = victims(doing, "v")
        assert await doing.do(evict(victim, BIG)) == []
        (patch, status, body), (delete, path, options) = doing.server.writes()
        assert (patch, status) == ("PATCH", "/api/v1/namespaces/default/pods/v/status")
        assert (delete, path) == ("DELETE", "/api/v1/namespaces/default/pods/v")
        (condition,) = body["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("DisruptionTarget", "True")
        assert condition["reason"] == "PreemptionByScheduler"
        assert condition["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
        assert options["preconditions"] == {"uid": "uid-v"}
        assert "gracePeriodSeconds" not in options
        (event,) = await doing.events()
        assert (event["type"], event["reason"], event["action"]) == ("Normal", "Preempted", "Preempting")
        assert event["note"] == "Preempted by pod uid-big on node n1"
        assert event["regarding"]["name"] == "v"
        assert event["related"]["uid"] == "uid-big"
        assert event["reportingController"] == "default-scheduler"

    in_virtual_time(run())


def test_a_victim_that_only_waited_is_not_touched() -> None:
    """It has lost its place at permit: what is left to do is to say so."""

    async def run() -> None:
        doing = Doing()
        (victim,) = victims(doing, "v")
        lost = msgspec.structs.replace(evict(victim, BIG), in_memory=True)
        assert await doing.do(lost) == []
        assert doing.server.writes() == []
        (event,) = await doing.events()
        assert event["note"] == "Preempted by pod uid-big on node n1 (in kube-scheduler memory)."

    in_virtual_time(run())


def test_the_last_victim_goes_when_the_others_have_gone() -> None:
    async def run() -> None:
        doing = Doing()
        doing.server.delay = lambda: 1.0
        doing.server.fails(UNHEARD, method="DELETE", path="pods/a", times=3)
        pods = victims(doing, "a", "b", "c")
        assert await doing.do(*(evict(each, BIG) for each in pods), wait_for(BIG)) == []
        assert doing.server.deleted == ["default/b", "default/a", "default/c"]
        methods = [(method, path.split("/")[6]) for method, path, _ in doing.server.writes()]
        before = methods[: methods.index(("PATCH", "c"))]
        assert {("DELETE", "a"), ("DELETE", "b")} <= set(before)

    in_virtual_time(run())


def test_when_one_stays_the_last_one_is_spared() -> None:
    async def run() -> None:
        doing = Doing()
        a, b, c = victims(doing, "a", "b", "c")
        doing.server.fails(refusal(403, "not yours"), method="DELETE", path="pods/a")
        told = await doing.do(*(evict(each, BIG) for each in (a, b, c)))
        assert told == [
            EvictFailed(a, BIG.key, "not yours"),
            EvictFailed(c, BIG.key, "another pod that was to make room with it stays"),
        ]
        assert doing.server.deleted == ["default/b"]
        assert [event["regarding"]["name"] for event in await doing.events()] == ["b"]

    in_virtual_time(run())


def test_a_condition_that_cannot_be_written_keeps_the_pod() -> None:
    async def run() -> None:
        doing = Doing()
        (victim,) = victims(doing, "v")
        doing.server.fails(refusal(403, "no"), method="PATCH")
        assert await doing.do(evict(victim, BIG)) == [EvictFailed(victim, BIG.key, "no")]
        assert doing.server.deleted == []

    in_virtual_time(run())


def test_a_refusal_is_logged_and_told_after_a_pause(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever hears of it tries again at once: without a pause, as fast as the server can refuse."""

    async def run() -> None:
        doing = Doing()
        (victim,) = victims(doing, "v")
        doing.server.fails(refusal(403, "not yours"), method="DELETE")
        began = asyncio.get_running_loop().time()
        assert await doing.do(evict(victim, BIG)) == [EvictFailed(victim, BIG.key, "not yours")]
        assert asyncio.get_running_loop().time() - began >= PAUSE_S

    in_virtual_time(run())
    assert "evicting default/v to make room for default/big: not yours" in caplog.text


def test_gone_is_as_good_as_evicted() -> None:
    async def run() -> None:
        doing = Doing()
        victims(doing, "again")
        gone, other = a_pod("gone"), a_pod("again", "old-uid")
        assert await doing.do(evict(gone, BIG), evict(other, BIG)) == []
        assert doing.server.deleted == []

    in_virtual_time(run())


def test_an_eviction_is_asked_for_until_there_is_an_answer() -> None:
    async def run() -> None:
        doing = Doing()
        a, b = victims(doing, "a", "b")
        doing.server.fails(UNHEARD, method="DELETE", path="pods/a", times=2)
        doing.server.fails(LOST, method="DELETE", path="pods/b")
        assert await doing.do(evict(a, BIG), evict(b, BIG)) == []
        assert doing.server.deleted == ["default/a", "default/b"]

    in_virtual_time(run())


def test_a_pod_on_its_way_out_is_left_to_go() -> None:
    async def run() -> None:
        doing = Doing()
        (victim,) = victims(doing, "v")
        meta = msgspec.structs.replace(victim.metadata, deletion_timestamp="2024-01-01T00:00:00Z")
        assert await doing.do(evict(msgspec.structs.replace(victim, metadata=meta), BIG)) == []
        assert doing.server.writes() == []
        assert await doing.events() == []

    in_virtual_time(run())


def test_groups_do_not_wait_for_each_other() -> None:
    async def run() -> None:
        doing = Doing()
        a, b = victims(doing, "a", "b")
        doing.server.fails(refusal(403, "no"), method="DELETE", path="pods/a")
        told = await doing.do(evict(a, BIG), evict(b, a_pod("tall")))
        assert told == [EvictFailed(a, BIG.key, "no")]
        assert doing.server.deleted == ["default/b"]

    in_virtual_time(run())


def own(pod: Pod) -> Evict:
    """Evicted for a reason of its own."""
    return Evict(pod, "", "QuotaExceeded", "the quota team-a is over its runtime", node="n1")


def test_a_pod_that_goes_for_a_reason_of_its_own_says_so() -> None:
    async def run() -> None:
        doing = Doing()
        (pod,) = victims(doing, "v")
        assert await doing.do(own(pod)) == []
        (_, _, body), (delete, *_) = doing.server.writes()
        (condition,) = body["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "QuotaExceeded")
        assert condition["message"] == "the quota team-a is over its runtime"
        assert delete == "DELETE"
        (event,) = await doing.events()
        assert (event["reason"], event["action"]) == ("QuotaExceeded", "Evicting")
        assert event["note"] == "the quota team-a is over its runtime"
        assert event.get("related") is None
        assert event["reportingController"] == "default-scheduler"

    in_virtual_time(run())


def test_pods_that_go_for_reasons_of_their_own_do_not_wait_for_each_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        doing = Doing()
        a, b, c = victims(doing, "a", "b", "c")
        doing.server.fails(refusal(403, "not yours"), method="DELETE", path="pods/a")
        assert await doing.do(own(a), own(b), own(c)) == [EvictFailed(a, "", "not yours")]
        assert sorted(doing.server.deleted) == ["default/b", "default/c"]

    in_virtual_time(run())
    assert "evicting default/a: not yours" in caplog.text


def test_a_bind_that_is_called_off_for_a_reason_of_the_pods_own() -> None:
    async def run() -> None:
        doing = Doing(slots=1)
        doing.server.delay = lambda: 1.0
        busy, web = victims(doing, "busy", "web")
        doing.performer.perform(doing.bind(busy))
        doing.performer.perform(doing.bind(web))
        told = await doing.do(own(web))
        assert BindFailed(web, "n1", "the quota team-a is over its runtime") in told
        assert doing.server.deleted == []
        (event,) = [each for each in await doing.events() if each["reason"] != "Scheduled"]
        assert event["note"] == "the quota team-a is over its runtime"

    in_virtual_time(run())
