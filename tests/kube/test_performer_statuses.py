"""What is written about pods that wait: nothing twice, the newest only, and never after a bind."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kube.doing import Doing, a_pod, bound, wait_for
from kube.played_server import LOST, UNHEARD, UNSENT, refusal
from kube.virtual_time import in_virtual_time
from mooring.engine.decisions import Nominate, Refuse
from mooring.model.objects import Object, ObjectMeta, Pod, PodCondition, PodStatus

STATUS = "/api/v1/namespaces/default/pods/web/status"


def showing(pod: Pod, *conditions: PodCondition, nominated: str = "", version: str = "2") -> Pod:
    """The pod as informers show it later."""
    status = PodStatus(conditions=conditions, nominated_node_name=nominated)
    meta = msgspec.structs.replace(pod.metadata, resource_version=version)
    return msgspec.structs.replace(pod, status=status, metadata=meta)


def unscheduled(message: str, status: str = "False", generation: int = 0) -> PodCondition:
    return PodCondition(
        type="PodScheduled",
        status=status,
        reason="Unschedulable",
        message=message,
        observed_generation=generation,
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.5)


async def written(doing: Doing, *decisions: Any) -> list[Any]:
    """The bodies written for decisions made one after the other."""
    before = len(doing.server.writes())
    for decision in decisions:
        await doing.do(decision)
    return [body for _, _, body in doing.server.writes()[before:]]


def test_objects_that_cannot_be_taken_in_say_so() -> None:
    async def run() -> None:
        doing = Doing()
        meta = ObjectMeta(name="n", uid="u-n")
        node = Object(api_version="v1", kind="Node", metadata=meta, data={})
        await doing.do(Refuse(node, "cannot be taken in: cpu -4", "default-scheduler"))
        (event,) = await doing.events()
        assert (event["type"], event["reason"], event["note"]) == (
            "Warning", "NotTakenIn", "cannot be taken in: cpu -4"
        )  # fmt: skip
        assert event["regarding"]["kind"] == "Node"
        assert event["regarding"]["uid"] == "u-n"
        assert event["metadata"]["namespace"] == "default"

    in_virtual_time(run())


def test_what_nobody_foresaw_costs_one_decision(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        doing = Doing()
        record = doing.recorder.record

        def fails_for_web(*about: Any, **more: Any) -> None:
            if about[3].name == "web":
                raise RuntimeError("of all things")
            record(*about, **more)

        monkeypatch.setattr(doing.recorder, "record", fails_for_web)
        await doing.do(wait_for(a_pod("web")), wait_for(a_pod("other")))
        assert len(doing.server.writes()) == 2
        assert [event["regarding"]["name"] for event in await doing.events()] == ["other"]

    in_virtual_time(run())
    assert "beginning to carry out Wait of default/web" in caplog.text


def test_why_a_pod_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        doing = Doing()
        doing.performer._statuses._now = lambda: 1_700_000_000.5
        web = a_pod("web", generation=3)
        doing.server.holds(web)
        assert await doing.do(wait_for(web, "no room", "n1")) == []
        ((method, path, body),) = doing.server.writes()
        assert (method, path) == ("PATCH", STATUS)
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "no room",
            "lastProbeTime": None,
            "lastTransitionTime": "2023-11-14T22:13:20Z",
            "observedGeneration": 3,
        }
        status = {"conditions": [condition], "nominatedNodeName": "n1"}
        assert body == {"metadata": {"uid": "uid-web"}, "status": status}
        (event,) = await doing.events()
        assert (event["type"], event["reason"], event["action"], event["note"]) == (
            "Warning",
            "FailedScheduling",
            "Scheduling",
            "no room",
        )

    in_virtual_time(run())


def test_what_is_there_is_not_written_again() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        assert await written(doing, wait_for(showing(web, unscheduled("no room")), "no room")) == []
        nominated = showing(web, unscheduled("no room"), nominated="n1")
        assert await written(doing, wait_for(nominated, "no room", "n1")) == []
        assert await written(doing, wait_for(showing(web, unscheduled("no room")), "no room", "")) == []
        (body,) = await written(doing, wait_for(nominated, "no room", ""))
        assert body["status"] == {"nominatedNodeName": None}

    in_virtual_time(run())


def test_a_new_message_does_not_move_the_moment_of_transition() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        (body,) = await written(doing, wait_for(showing(web, unscheduled("no room")), "no cpu"))
        (condition,) = body["status"]["conditions"]
        assert "lastTransitionTime" not in condition
        other = showing(web, unscheduled("no cpu", status="True"), version="3")
        (body,) = await written(doing, wait_for(other, "no cpu"))
        assert "lastTransitionTime" in body["status"]["conditions"][0]

    in_virtual_time(run())


def test_what_was_written_counts_until_the_pod_shows_something_else() -> None:
    async def run() -> None:
        doing = Doing()
        web = showing(a_pod("web"), version="1")
        doing.server.holds(web)
        first, again = await written(doing, wait_for(web, "a")), await written(doing, wait_for(web, "a"))
        assert (len(first), again) == (1, [])
        (body,) = await written(doing, wait_for(web, "b"))
        assert "lastTransitionTime" not in body["status"]["conditions"][0]
        # Somebody took the condition away; a version later the pod is believed again.
        assert len(await written(doing, wait_for(showing(web, version="2"), "b"))) == 1

    in_virtual_time(run())


def test_another_generation_is_a_difference() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web", generation=2)
        doing.server.holds(web)
        assert len(await written(doing, wait_for(showing(web, unscheduled("a", generation=1)), "a"))) == 1
        assert await written(doing, wait_for(showing(web, unscheduled("a", generation=2)), "a")) == []

    in_virtual_time(run())


def test_what_was_not_sent_yet_goes_with_what_is_newer() -> None:
    async def run() -> None:
        doing = Doing(slots=1)
        doing.server.delay = lambda: 1.0
        web, other = a_pod("web"), a_pod("other")
        doing.server.holds(web)
        doing.server.holds(other)
        await doing.do(
            wait_for(other),
            wait_for(web, "first", "n1"),
            wait_for(web, "second"),
            Nominate(web, ""),
            wait_for(web, "third"),
        )
        bodies = [body for _, path, body in doing.server.writes() if path == STATUS]
        assert [each["message"] for each in bodies[0]["status"]["conditions"]] == ["third"]
        assert len(bodies) == 1
        assert "nominatedNodeName" not in bodies[0]["status"]  # it is not there in the first place

    in_virtual_time(run())


def test_writes_about_one_pod_never_overtake_each_other() -> None:
    async def run() -> None:
        doing = Doing()
        delays = iter([5.0, 0.0, 0.0])
        doing.server.delay = lambda: next(delays, 0.0)
        web = a_pod("web")
        doing.server.holds(web)
        doing.performer.perform(wait_for(web, "one"))
        await asyncio.sleep(1.0)
        assert await doing.do(doing.bind(web)) != []
        assert [method for method, *_ in doing.server.writes()] == ["PATCH", "POST"]

    in_virtual_time(run())


def test_a_bind_makes_a_status_moot_and_goes_ahead_of_others() -> None:
    async def run() -> None:
        doing = Doing(slots=1, tasks=1)
        doing.server.delay = lambda: 1.0
        pods = [a_pod(name) for name in ("busy", "x", "y", "web")]
        for each in pods:
            doing.server.holds(each)
        for each in pods:
            doing.performer.perform(wait_for(each))
        await doing.do(doing.bind(pods[-1]))
        paths = [path.rsplit("/pods/")[1] for _, path, _ in doing.server.writes()]
        assert paths == ["busy/status", "web/binding", "x/status", "y/status"]

    in_virtual_time(run())


@pytest.mark.parametrize(("node", "sent"), [("n1", ["PATCH", "POST"]), ("n2", ["POST"])])
def test_where_a_pod_is_expected_to_run_is_written_before_it_is_bound(node: str, sent: list[str]) -> None:
    """A nomination to another node is moot."""

    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.performer.perform(Nominate(web, node))
        await doing.do(doing.bind(web))
        assert [method for method, *_ in doing.server.writes()] == sent

    in_virtual_time(run())


@pytest.mark.parametrize(
    "fault", [refusal(500, "hm"), refusal(503, "hm"), refusal(409, "changed"), LOST, UNHEARD]
)
def test_a_status_is_tried_again_when_that_may_help(fault: Any) -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(fault, method="PATCH", times=3)
        await doing.do(wait_for(web))
        assert len(doing.server.writes()) == 4
        assert doing.server.pods["default/web"]["status"]["conditions"][0]["message"] == "no room"

    in_virtual_time(run())


@pytest.mark.parametrize("fault", [refusal(404, "gone"), refusal(403, "no"), refusal(422, "no")])
def test_a_status_is_given_up_when_it_cannot_help(fault: Any) -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(fault, method="PATCH", times=3)
        await doing.do(wait_for(web))
        assert len(doing.server.writes()) == 1

    in_virtual_time(run())


def test_the_next_pod_of_the_same_name_is_left_alone() -> None:
    async def run() -> None:
        doing = Doing()
        doing.server.holds(a_pod("web", "new"))
        await doing.do(wait_for(a_pod("web", "old")))
        assert len(doing.server.writes()) == 1
        assert doing.server.pods["default/web"]["status"] == {}

    in_virtual_time(run())


def test_trying_again_ends_when_something_newer_comes() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.delay = lambda: 1.0
        doing.server.fails(refusal(500, "hm"), method="PATCH", times=9)
        doing.performer.perform(wait_for(web))
        await asyncio.sleep(0.5)
        await doing.do(doing.bind(web))
        assert bound(doing.told) == ["web"]
        assert [method for method, *_ in doing.server.writes()] == ["PATCH", "POST"]

    in_virtual_time(run())


def test_binding_is_asked_for_while_nothing_gets_through() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(UNSENT, method="PATCH", times=3)  # the client tries that again by itself
        await doing.do(wait_for(web))
        assert len(doing.server.writes()) == 4

    in_virtual_time(run())
