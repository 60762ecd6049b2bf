"""Events: what is written, when the same is told again, and that nobody waits for them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mooring.kube.record.recorder as recorder_module
from kube.doing import a_pod
from kube.played_server import HANGS, LOST, UNHEARD, PlayedServer, refusal
from kube.virtual_time import in_virtual_time
from mooring.kube.client import Client
from mooring.kube.http.call_slots import BINDING, Slots
from mooring.kube.record.event_series import NOTE_BYTES, Reference, cut_short, event_name
from mooring.kube.record.recorder import PATIENCE_S, Recorder

START_NS = 1_700_000_000_123_456_789


class Recording:
    """A recorder whose time is the loop's."""

    def __init__(self, **options: Any) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.server = PlayedServer()
        self.slots = Slots()
        self.recorder = Recorder(
            Client(self.server, random=lambda: 0.0),
            "host",
            slots=self.slots,
            now_ns=lambda: START_NS + int((loop.time() - began) * 1e9),
            clock=loop.time,
            **options,
        )

    def say(self, note: str = "no room", name: str = "web") -> None:
        self.recorder.record(
            "Warning", "FailedScheduling", "Scheduling", a_pod(name), note, controller="mine"
        )

    def praise(self, name: str = "web") -> None:
        self.recorder.record("Normal", "Scheduled", "Binding", a_pod(name), "bound", controller="mine")

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.server.events


def test_what_an_event_says() -> None:
    async def run() -> None:
        recording = Recording()
        by = a_pod("big", resource_version="7")
        recording.recorder.record(
            "Normal", "Preempted", "Preempting", a_pod("web"), "gone", controller="mine", related=by
        )
        await asyncio.sleep(1.0)
        assert recording.events == [
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": f"web.{START_NS:x}", "namespace": "default"},
                "eventTime": "2023-11-14T22:13:20.123456Z",
                "type": "Normal",
                "reason": "Preempted",
                "action": "Preempting",
                "note": "gone",
                "reportingController": "mine",
                "reportingInstance": "mine-host",
                "regarding": {
                    "kind": "Pod",
                    "namespace": "default",
                    "name": "web",
                    "uid": "uid-web",
                    "apiVersion": "v1",
                },
                "related": {
                    "kind": "Pod",
                    "namespace": "default",
                    "name": "big",
                    "uid": "uid-big",
                    "apiVersion": "v1",
                    "resourceVersion": "7",
                },
            }
        ]
        ((method, path, _),) = recording.server.asked
        assert (method, path) == ("POST", "/apis/events.k8s.io/v1/namespaces/default/events")

    in_virtual_time(run())


def test_objects_without_a_namespace() -> None:
    async def run() -> None:
        recording = Recording()
        node = Reference("Node", name="n1", uid="n1-uid")
        recording.recorder.record("Normal", "Odd", "Looking", node, "hm", controller="mine")
        await asyncio.sleep(1.0)
        assert recording.events[0]["metadata"]["namespace"] == "default"
        assert "namespace" not in recording.events[0]["regarding"]

    in_virtual_time(run())


def test_the_same_again_becomes_a_series() -> None:
    async def run() -> None:
        recording = Recording()
        keeping = asyncio.ensure_future(recording.recorder.run())
        for _ in range(5):
            recording.say()
            await asyncio.sleep(1.0)
        methods = [method for method, *_ in recording.server.asked]
        assert methods == ["POST", "PATCH"]  # the first time again; from then on it is only counted
        (event,) = recording.events
        assert event["series"] == {"count": 2, "lastObservedTime": "2023-11-14T22:13:21.123456Z"}
        await asyncio.sleep(10 * 60.0)
        assert event["series"] == {"count": 5, "lastObservedTime": "2023-11-14T22:13:24.123456Z"}
        assert len(recording.server.asked) == 3
        recording.say()  # the series is over: this is news
        await asyncio.sleep(1.0)
        assert len(recording.events) == 2
        keeping.cancel()

    in_virtual_time(run())


def test_a_series_that_goes_on_is_written_every_half_hour() -> None:
    async def run() -> None:
        recording = Recording()
        keeping = asyncio.ensure_future(recording.recorder.run())
        for _ in range(130):
            recording.say()
            await asyncio.sleep(60.0)
        (event,) = recording.events
        patches = [body for method, _, body in recording.server.asked if method == "PATCH"]
        assert len(patches) == 5
        assert 100 < event["series"]["count"] <= 130
        keeping.cancel()

    in_virtual_time(run())


def test_another_note_or_pod_is_another_event() -> None:
    async def run() -> None:
        recording = Recording()
        for note, name in (("a", "x"), ("b", "x"), ("a", "y"), ("a", "x")):
            recording.say(note, name)
            await asyncio.sleep(1.0)
        assert [(event["note"], event["regarding"]["name"]) for event in recording.events] == [
            ("a", "x"),
            ("b", "x"),
            ("a", "y"),
        ]

    in_virtual_time(run())


def test_told_again_before_it_is_sent_is_one_write() -> None:
    async def run() -> None:
        recording = Recording()
        for _ in range(3):
            recording.say()
        await asyncio.sleep(1.0)
        assert len(recording.server.asked) == 1
        assert recording.events[0]["series"]["count"] == 3

    in_virtual_time(run())


def test_a_series_whose_event_has_expired_is_made_again() -> None:
    async def run() -> None:
        recording = Recording()
        recording.say()
        await asyncio.sleep(1.0)
        recording.server.events.clear()
        recording.say()
        await asyncio.sleep(1.0)
        assert [event["series"]["count"] for event in recording.events] == [2]

    in_virtual_time(run())


def test_events_wait_while_pods_are_bound_but_not_for_long() -> None:
    async def run() -> None:
        recording = Recording()
        assert recording.slots.take_now(BINDING)
        recording.praise("first")
        await asyncio.sleep(4.0)
        assert recording.events == []
        recording.slots.give(BINDING)
        await asyncio.sleep(0.1)
        assert len(recording.events) == 1
        assert recording.slots.take_now(BINDING)
        recording.praise("second")
        await asyncio.sleep(PATIENCE_S + 0.1)
        assert len(recording.events) == 2

    in_virtual_time(run())


def test_what_a_pod_waits_for_is_told_within_a_second_of_binding_without_end() -> None:
    """It passes the Events of pods that are bound, however many there are and however long they wait yet."""

    async def run() -> None:
        recording = Recording()
        assert recording.slots.take_now(BINDING)
        for number in range(100):
            recording.praise(f"bound-{number}")
        await asyncio.sleep(4.0)
        assert recording.events == []
        recording.say(name="waits")
        await asyncio.sleep(1.0)
        assert [event["regarding"]["name"] for event in recording.events] == ["waits"]
        recording.slots.give(BINDING)
        await asyncio.sleep(0.1)
        assert len(recording.events) == 101

    in_virtual_time(run())


def test_events_of_bound_pods_are_dropped_before_warnings() -> None:
    async def run() -> None:
        recording = Recording(queued=3)
        assert recording.slots.take_now(BINDING)
        recording.say(name="waits")
        for number in range(4):
            recording.praise(f"bound-{number}")
        recording.slots.give(BINDING)
        await asyncio.sleep(0.1)
        assert [one["regarding"]["name"] for one in recording.events] == ["waits", "bound-2", "bound-3"]
        assert recording.recorder.dropped == 2

    in_virtual_time(run())


def test_too_many_events_drop_the_oldest_and_are_counted() -> None:
    async def run() -> None:
        recording = Recording(queued=10)
        assert recording.slots.take_now(BINDING)
        for number in range(15):
            recording.say(name=f"p{number}")
        assert recording.recorder.dropped == 5
        recording.slots.give(BINDING)
        await asyncio.sleep(1.0)
        names = [event["regarding"]["name"] for event in recording.events]
        assert sorted(names) == sorted(f"p{number}" for number in range(5, 15))

    in_virtual_time(run())


def test_one_object_cannot_fill_the_cluster() -> None:
    async def run() -> None:
        recording = Recording()
        for number in range(40):
            recording.say(f"note {number}")
        recording.say(name="other")
        await asyncio.sleep(1.0)
        assert len(recording.events) == 25 + 1
        assert recording.recorder.dropped == 15
        await asyncio.sleep(601.0)
        for number in range(5):
            recording.say(f"later {number}")
        await asyncio.sleep(1.0)
        assert len(recording.events) == 25 + 1 + 2

    in_virtual_time(run())


@pytest.mark.parametrize(
    "fault",
    [
        refusal(403, "forbidden: unable to create new content in namespace x because it is being terminated"),
        refusal(422, "no"),
    ],
)
def test_what_the_server_does_not_want_is_dropped(fault: Any) -> None:
    async def run() -> None:
        recording = Recording()
        recording.server.fails(fault)
        recording.say()
        recording.say(name="other")
        await asyncio.sleep(1.0)
        assert [event["regarding"]["name"] for event in recording.events] == ["other"]
        assert recording.recorder.dropped == 1

    in_virtual_time(run())


def test_what_nobody_foresaw_costs_one_event(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    encode = recorder_module._encode

    def fails_for_web(event: Any) -> bytes:
        if event.regarding.name == "web":
            raise RuntimeError("of all things")
        return encode(event)

    monkeypatch.setattr(recorder_module, "_encode", fails_for_web)

    async def run() -> None:
        recording = Recording(senders=1)
        for name in ("web", "other"):
            recording.say(name=name)
        await asyncio.sleep(1.0)
        assert [event["regarding"]["name"] for event in recording.events] == ["other"]
        assert recording.recorder.dropped == 1

    in_virtual_time(run())
    assert "recording Event FailedScheduling about web" in caplog.text


def test_a_note_that_is_no_text_is_recorded_all_the_same() -> None:
    async def run() -> None:
        recording = Recording()
        recording.say("caf\udce9")
        recording.say("z" * 5_000_000)
        await asyncio.sleep(1.0)
        assert [event["note"] for event in recording.events] == ["caf\ufffd", "z" * 1020 + " ..."]
        assert max(len(part) for key in recording.recorder._memory._told._young for part in key) <= NOTE_BYTES

    in_virtual_time(run())


def test_without_an_answer_it_is_tried_for_two_minutes() -> None:
    async def run() -> None:
        recording = Recording()
        recording.server.fails(UNHEARD, times=20)
        recording.say()
        await asyncio.sleep(150.0)
        assert len(recording.events) == 1

    in_virtual_time(run())


def test_an_answer_that_gets_lost_is_not_told_twice() -> None:
    async def run() -> None:
        recording = Recording()
        recording.server.fails(LOST)
        recording.server.fails(refusal(409, "exists", "AlreadyExists"))
        recording.say()
        await asyncio.sleep(1.0)
        assert len(recording.events) == 1
        assert recording.recorder.dropped == 0

    in_virtual_time(run())


def test_flushing_sends_what_is_left_in_time() -> None:
    async def run() -> None:
        recording = Recording()
        assert recording.slots.take_now(BINDING)
        recording.say("said twice")
        await asyncio.sleep(6.0)
        for _ in range(4):
            recording.say("said twice")
            await asyncio.sleep(6.0)
        recording.say("new")
        assert await recording.recorder.flush(1.0) == 0
        assert [event["note"] for event in recording.events] == ["said twice", "new"]
        assert recording.events[0]["series"]["count"] == 5

    in_virtual_time(run())


def test_flushing_waits_for_all_that_were_held_back() -> None:
    """Also for those whose sending only begins when the first of them is let go."""

    async def run() -> None:
        recording = Recording()
        recording.server.delay = lambda: 0.1 if len(recording.server.asked) == 1 else 0.9
        await recording.slots.take(BINDING)
        for number in range(20):
            recording.praise(name=f"pod-{number}")
        await asyncio.sleep(1.0)
        assert recording.events == []
        assert await recording.recorder.flush(10.0) == 0
        assert len(recording.events) == 20
        assert recording.server.most_in_flight > 10

    in_virtual_time(run())


def test_all_are_sent_when_binding_pauses_and_goes_on() -> None:
    async def run() -> None:
        recording = Recording()
        recording.server.delay = lambda: 0.1
        for turn in range(20):
            await recording.slots.take(BINDING)
            for number in range(10):
                recording.say(name=f"pod-{turn}-{number}")
            await asyncio.sleep(0.05)
            recording.slots.give(BINDING)
            await asyncio.sleep(0.05)
        await asyncio.sleep(2.0)
        assert len({event["regarding"]["name"] for event in recording.events}) == 200

    in_virtual_time(run())


def test_few_are_called_when_binding_goes_on_at_once() -> None:
    """Between two binds there is often nobody who binds, for no time at all."""

    async def run() -> None:
        recording, pauses = Recording(), 50
        await recording.slots.take(BINDING)
        for number in range(500):
            recording.say(name=f"pod-{number}")
        made = count_tasks()
        for _ in range(pauses):
            await asyncio.sleep(0.001)
            recording.slots.give(BINDING)
            assert recording.slots.take_now(BINDING)
        await asyncio.sleep(0.001)
        assert len(made) < 10 * pauses
        recording.slots.give(BINDING)
        await asyncio.sleep(10.0)
        assert len(recording.events) == 500

    in_virtual_time(run())


def count_tasks() -> list[str]:
    """Gets an entry for each task that is made from now on."""
    made: list[str] = []

    def make(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
        made.append(str(work))
        return asyncio.Task(work, loop=loop, **more)

    asyncio.get_running_loop().set_task_factory(make)
    return made


def test_flushing_gives_up_in_time() -> None:
    async def run() -> None:
        recording = Recording(senders=2)
        recording.server.fails(HANGS, times=3)
        for number in range(5):
            recording.say(name=f"p{number}")
        before = asyncio.get_running_loop().time()
        assert await recording.recorder.flush(3.0) == 5
        assert asyncio.get_running_loop().time() - before == pytest.approx(3.0)

    in_virtual_time(run())


def test_notes_are_cut_by_bytes_and_between_characters() -> None:
    assert cut_short("a" * 1024) == "a" * 1024
    assert cut_short("a" * 1025) == "a" * 1020 + " ..."
    for letters in ("é" * 600, "漢" * 400, "a" + "é" * 600):
        cut = cut_short(letters)
        assert len(cut.encode()) <= NOTE_BYTES
        assert len(cut.encode()) > NOTE_BYTES - 8
        assert letters.startswith(cut.removesuffix(" ..."))
        assert cut.endswith(" ...")


def test_names_are_no_longer_than_names_may_be() -> None:
    assert event_name("web", 0xABC) == "web.abc"
    name = event_name("x" * 253, START_NS)
    assert len(name) == 253
    assert name.endswith(f".{START_NS:x}")
