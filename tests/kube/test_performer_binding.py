"""Binding in a cluster: each bind is answered once, and rightly, whatever the API server does."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from kube.doing import Doing, a_pod, bound, evict, failures, wait_for
from kube.played_server import HANGS, LOST, UNHEARD, UNSENT, refusal
from kube.virtual_time import in_virtual_time
from mooring.engine.events import BindFailed, Bound
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import Status, error
from mooring.model.objects import Pod

ALREADY = (
    'running Bind plugin "DefaultBinder": Operation cannot be fulfilled on pods/binding "web": '
    'pod web is already assigned to node "n2"'
)


def test_a_pod_is_bound() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web", 'odd "uid"')
        doing.server.holds(web)
        assert await doing.do(doing.bind(web)) == [Bound(web, "n1")]
        assert doing.server.writes() == [
            (
                "POST",
                "/api/v1/namespaces/default/pods/web/binding",
                {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": "web", "namespace": "default", "uid": 'odd "uid"'},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
                },
            )
        ]
        (event,) = await doing.events()
        assert (event["type"], event["reason"], event["action"]) == ("Normal", "Scheduled", "Binding")
        assert event["note"] == "Successfully assigned default/web to n1"
        about = {"kind": "Pod", "namespace": "default", "name": "web", "uid": 'odd "uid"', "apiVersion": "v1"}
        assert event["regarding"] == about
        assert doing.performer.backlog == 0

    in_virtual_time(run())


def test_refusals_are_told_in_the_servers_words() -> None:
    async def run() -> None:
        doing = Doing()
        web, gone, new = a_pod("web"), a_pod("gone"), a_pod("new", "old-uid")
        doing.server.holds(web)
        doing.server.holds(a_pod("new", "new-uid"))
        doing.server.pods["default/web"]["spec"]["nodeName"] = "n2"
        told = await doing.do(*(doing.bind(each) for each in (web, gone, new)))
        assert set(failures(told)) == {
            ALREADY,
            'running Bind plugin "DefaultBinder": pods "gone" not found',
            'running Bind plugin "DefaultBinder": Precondition failed: UID in precondition: old-uid, '
            "UID in object meta: new-uid",
        }
        assert await doing.events() == []

    in_virtual_time(run())


@pytest.mark.parametrize("fault", [LOST, UNHEARD, UNSENT])
def test_without_an_answer_it_is_found_out_whether_the_pod_is_bound(fault: str) -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(fault, method="POST", path="/binding")
        doing.server.fails(UNHEARD, method="GET", times=20)  # nor is that answered for a while
        assert await doing.do(doing.bind(web)) == [Bound(web, "n1")]
        posts = len(doing.server.writes("/binding"))
        assert posts == (1 if fault == LOST else 2)

    in_virtual_time(run())


def test_a_bind_that_leaves_no_trace_is_sent_three_times_and_fails() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(UNHEARD, method="POST", path="/binding", times=3)
        told = await doing.do(doing.bind(web))
        assert failures(told) == ['running Bind plugin "DefaultBinder": no answer']
        assert len(doing.server.writes()) == 3

    in_virtual_time(run())


def test_the_third_of_three_is_looked_up_too() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(UNHEARD, method="POST", path="/binding", times=2)
        doing.server.fails(LOST, method="POST", path="/binding")
        assert await doing.do(doing.bind(web)) == [Bound(web, "n1")]

    in_virtual_time(run())


def test_an_error_of_the_server_is_looked_up_and_not_repeated() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(refusal(500, "etcdserver: request timed out"), method="POST", path="/binding")
        told = await doing.do(doing.bind(web))
        assert failures(told) == ['running Bind plugin "DefaultBinder": etcdserver: request timed out']
        assert [method for method, *_ in doing.server.asked] == ["POST", "GET"]

    in_virtual_time(run())


def test_bound_elsewhere_meanwhile() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.pods["default/web"]["spec"]["nodeName"] = "n2"
        doing.server.fails(UNHEARD, method="POST", path="/binding")
        told = await doing.do(doing.bind(web))
        message = 'running Bind plugin "DefaultBinder": pod web is already assigned to node "n2"'
        assert told == [BindFailed(web, "n1", message, elsewhere="n2")]
        assert doing.performer.api.elsewhere == {}

    in_virtual_time(run())


def test_what_plugins_want_written_goes_first_and_to_the_very_pod() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        patch = {"metadata": {"annotations": {"gpu": "0"}}}
        assert await doing.do(doing.bind(web, patch=patch)) == [Bound(web, "n1")]
        (_, path, body), (_, second, _) = doing.server.writes()
        assert (path, second) == (
            "/api/v1/namespaces/default/pods/web",
            "/api/v1/namespaces/default/pods/web/binding",
        )
        assert body == {"metadata": {"annotations": {"gpu": "0"}, "uid": web.uid}}
        assert patch == {"metadata": {"annotations": {"gpu": "0"}}}

    in_virtual_time(run())


class Slow(Plugin):
    """Takes a minute before a pod named slow is bound."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        assert self.handle.api is not None
        if pod.name.startswith("slow"):
            await self.handle.api.sleep(60.0)
        return error("no disk") if pod.name == "slow-bad" else None


def test_plugins_that_wait_keep_nobody_else_from_being_bound() -> None:
    async def run() -> None:
        doing = Doing([Slow], tasks=2)
        pods = [a_pod(name) for name in ("slow-1", "slow-2", "slow-bad", "a", "b")]
        for each in pods:
            doing.server.holds(each)
            doing.performer.perform(doing.bind(each))
        await asyncio.sleep(1.0)
        assert set(bound(doing.told)) == {"a", "b"}
        await doing.settled()
        assert set(bound(doing.told)[2:]) == {"slow-1", "slow-2"}
        assert failures(doing.told) == ['running PreBind plugin "Slow": no disk']

    in_virtual_time(run())


class Ending(Plugin):
    """Ends itself, in the way the pod is named after, before it is bound."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        if pod.name == "exits":
            sys.exit(3)
        if pod.name == "cancels":
            raise asyncio.CancelledError
        if pod.name == "waits":
            task = asyncio.create_task(asyncio.sleep(60.0))
            task.cancel()
            await task


def test_plugins_that_end_themselves_cost_their_pod_its_binding() -> None:
    async def run() -> None:
        doing = Doing([Ending])
        for name in ("exits", "cancels", "waits", "a"):
            doing.server.holds(each := a_pod(name))
            doing.performer.perform(doing.bind(each))
        await doing.settled()
        assert bound(doing.told) == ["a"]
        text = 'running PreBind plugin "Ending": '
        assert sorted(failures(doing.told)) == [
            f"{text}CancelledError",
            f"{text}CancelledError",
            f"{text}SystemExit: 3",
        ]

    in_virtual_time(run())


class Forever(Plugin):
    """Waits for what never comes."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        if pod.name == "forever":
            await asyncio.get_running_loop().create_future()


def test_a_plugin_that_waits_for_ever_gives_the_place_back_in_the_end() -> None:
    async def run() -> None:
        doing = Doing([Forever])
        for name in ("forever", "a"):
            doing.server.holds(each := a_pod(name))
            doing.performer.perform(doing.bind(each))
        await doing.settled()
        assert bound(doing.told) == ["a"]
        assert failures(doing.told) == [
            'running PreBind plugin "Forever": CancelledError: not done after 900 s'
        ]

    in_virtual_time(run())


def test_calls_in_flight_are_bounded_and_none_is_forgotten() -> None:
    async def run() -> None:
        doing = Doing(slots=7)
        doing.server.delay = lambda: 0.01
        pods = [a_pod(f"p{number}") for number in range(100)]
        for each in pods:
            doing.server.holds(each)
        told = await doing.do(*map(doing.bind, pods))
        assert sorted(bound(told)) == sorted(each.name for each in pods)
        assert doing.server.most_in_flight == 7

    in_virtual_time(run())


def test_a_pod_says_so_whose_plugins_take_long_before_it_is_bound() -> None:
    async def run() -> None:
        doing = Doing([Slow])
        slow, quick = a_pod("slow"), a_pod("quick")
        for each in (slow, quick):
            doing.server.holds(each)
        told = await doing.do(doing.bind(slow), doing.bind(quick))
        assert sorted(bound(told)) == ["quick", "slow"]
        writes = [
            (path.rpartition("/pods/")[2], body.get("status", {}).get("conditions"))
            for _, path, body in doing.server.writes()
        ]
        (said,) = [conditions[0] for path, conditions in writes if path == "slow/status"]
        words = "has a place on node n1 and waits for what is to be done before it is bound, by Slow"
        assert (said["status"], said["reason"], said["message"]) == ("False", "WaitingAtPreBind", words)
        paths = [path for path, _ in writes]
        assert paths.index("slow/status") < paths.index("slow/binding")
        assert "quick/status" not in paths
        notes = [(event["reason"], event["note"]) for event in await doing.events()]
        assert ("WaitingAtPreBind", words) in notes

    in_virtual_time(run())


def test_a_victim_that_is_not_bound_yet_loses_its_binding_and_lives() -> None:
    async def run() -> None:
        doing = Doing([Slow])
        victim, preemptor = a_pod("slow-victim"), a_pod("big")
        doing.server.holds(victim)
        doing.performer.perform(doing.bind(victim))
        await asyncio.sleep(1.0)
        told = await doing.do(evict(victim, preemptor))
        assert told == [BindFailed(victim, "n1", "preempted")]
        assert [method for method, _, _ in doing.server.writes()] == ["PATCH"]  # that it waits
        _, event = await doing.events()
        assert event["note"] == "Preempted by pod uid-big on node n1 (in kube-scheduler memory)."
        assert await doing.do(doing.bind(victim)) == [*told[:1], Bound(victim, "n1")]

    in_virtual_time(run())


def test_a_victim_whose_binding_had_no_turn_yet() -> None:
    async def run() -> None:
        doing = Doing([Slow])
        victim = a_pod("victim")
        doing.server.holds(victim)
        told = await doing.do(doing.bind(victim), evict(victim, a_pod("big")))
        assert told == [BindFailed(victim, "n1", "preempted")]
        assert doing.server.writes() == []

    in_virtual_time(run())


def test_a_victim_that_is_being_bound_is_bound_and_deleted() -> None:
    async def run() -> None:
        doing = Doing()
        victim = a_pod("victim")
        doing.server.holds(victim)
        doing.server.delay = lambda: 1.0
        doing.performer.perform(doing.bind(victim))
        await asyncio.sleep(0.5)
        assert await doing.do(evict(victim, a_pod("big"))) == [Bound(victim, "n1")]
        assert [method for method, *_ in doing.server.writes()] == ["POST", "PATCH", "DELETE"]

    in_virtual_time(run())


class Stubborn(Plugin):
    """Does not let itself be stopped."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        try:
            await asyncio.sleep(60.0)
        except asyncio.CancelledError:
            return


def test_a_binding_that_goes_on_all_the_same_ends_in_an_eviction() -> None:
    async def run() -> None:
        doing = Doing([Stubborn])
        victim = a_pod("victim")
        doing.server.holds(victim)
        doing.performer.perform(doing.bind(victim))
        await asyncio.sleep(1.0)
        assert await doing.do(evict(victim, a_pod("big"))) == [Bound(victim, "n1")]
        assert doing.server.deleted == ["default/victim"]

    in_virtual_time(run())


def test_draining_finishes_what_can_be_finished() -> None:
    async def run() -> None:
        doing = Doing(slots=1)
        doing.server.delay = lambda: 1.0
        first, second, third = pods = [a_pod(name) for name in "abc"]
        for each in pods:
            doing.server.holds(each)
        doing.performer.perform(doing.bind(first))
        doing.performer.perform(doing.bind(second))
        draining = asyncio.ensure_future(doing.performer.drain(10.0))
        await asyncio.sleep(0)
        doing.performer.perform(doing.bind(third))
        left = await draining
        assert bound(doing.told) == ["a", "b"]
        assert failures(doing.told) == ["the scheduler is shutting down"]
        assert (left.given_back, left.unknown) == (1, ())

    in_virtual_time(run())


def test_draining_gives_back_what_was_not_sent_and_names_what_is_not_known() -> None:
    async def run() -> None:
        doing = Doing([Slow], slots=1)
        doing.server.fails(HANGS, path="/binding")
        for name in ("hanging", "waiting", "slow-one"):
            doing.server.holds(a_pod(name))
            doing.performer.perform(doing.bind(a_pod(name)))
            await asyncio.sleep(0.1)
        doing.performer.perform(doing.bind(a_pod("late")))
        left = await doing.performer.drain(5.0)
        assert left.unknown == ("default/hanging",)
        assert left.given_back == 3
        assert {event.pod.name for event in doing.told} == {"waiting", "slow-one", "late"}
        assert len(doing.server.asked) == 1

    in_virtual_time(run())


def test_halting_sends_nothing_more_and_tells_nothing() -> None:
    async def run() -> None:
        doing = Doing([Slow], slots=1)
        doing.server.delay = lambda: 1.0
        pods = [a_pod(name) for name in ("a", "b", "slow-c", "d")]
        for each in pods:
            doing.server.holds(each)
            doing.performer.perform(doing.bind(each))
        doing.performer.perform(wait_for(a_pod("e")))
        await asyncio.sleep(0.5)
        sent = list(doing.server.asked)
        assert len(sent) == 1
        doing.performer.halt()
        doing.performer.perform(doing.bind(a_pod("f")))
        await doing.performer.drain(100.0)
        await asyncio.sleep(100.0)
        assert doing.server.writes() == [each for each in sent if "/events" not in each[1]]
        assert doing.told == []

    in_virtual_time(run())


def test_what_is_wrong_in_mooring_itself_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("surprise")

    async def run() -> None:
        doing = Doing()
        monkeypatch.setattr("mooring.kube.perform.performer.run_binding", broken)
        assert failures(await doing.do(doing.bind(a_pod("web")))) == ["RuntimeError: surprise"]

    in_virtual_time(run())
