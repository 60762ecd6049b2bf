"""One informer, one kind, and the ways things go wrong."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable

import msgspec
import pytest

from kube.watched_server import EXPIRED, PODS, Cut, Fate, Refused, Say, WatchedServer, Write
from mooring.kube.client import FIRST_PAGE, Client
from mooring.kube.contact import SETTLING_S, Contact
from mooring.kube.decode import list_pages as lists
from mooring.kube.decode.decoders import Decoders
from mooring.kube.http.backoff import Backoff, Pace
from mooring.kube.http.transport import Request
from mooring.kube.resources import PODS as POD_RESOURCE
from mooring.kube.watch.engine_events import same_pod
from mooring.kube.watch.informer import ABSENT_SECONDS, Informer, always_different
from mooring.model.objects import Pod

ADD, CHANGE, DELETE = "add", "change", "delete"


class Plan(Fate):
    """Does one planned thing after the other, each before an answer or before a line."""

    def __init__(self) -> None:
        self.answers: list[Callable[[], None]] = []
        self.lines: list[Callable[[], None]] = []

    def before_answer(self, server: WatchedServer, request: Request) -> None:
        if self.answers:
            self.answers.pop(0)()

    def before_line(self, server: WatchedServer, path: str, said: Write | None) -> None:
        if self.lines:
            self.lines.pop(0)()


class Following:
    """An informer at work on a server; `told` is what it says, `slept` how long it waits."""

    def __init__(self, same: Callable[[Pod, Pod], bool] = same_pod) -> None:
        self.plan = Plan()
        self.server = WatchedServer(self.plan)
        self.told: list[tuple[str, str, str]] = []
        self.slept: list[float] = []
        self.awake: asyncio.Event | None = None  # when set, sleeping lasts until it is
        self.now = 1000.0 - SETTLING_S
        self.contact = Contact(lambda: self.now)
        self.now = 1000.0
        client, decode = Client(self.server, retries=0, random=lambda: 0.0), Decoders().pod
        self.informer: Informer[Pod] = Informer(
            client,
            POD_RESOURCE,
            decode,
            self._hear,
            read_list=decode.read_list,
            same=same,
            backoff=Backoff(Pace(initial=1.0, jitter=0.0), clock=lambda: 0.0),
            returning=Backoff(Pace(initial=0.1, jitter=0.0), clock=lambda: 0.0),
            contact=self.contact,
            clock=lambda: self.now,
            sleep=self._sleep,
        )
        self._task: asyncio.Task[None] | None = None

    def pod(self, name: str, version: str = "1", phase: str = "Running") -> None:
        self.server.put(PODS, name, "default", metadata={"labels": {"v": version}}, status={"phase": phase})

    def drop(self, name: str) -> None:
        self.server.delete(PODS, name, "default")

    async def caught_up(self) -> list[tuple[str, str, str]]:
        """Works until a watch has nothing more to say; returns what was told on the way."""
        self.server.quiet.clear()
        if self._task is None:
            self._task = asyncio.create_task(self.informer.run())
        self.server.wake()
        quiet = asyncio.create_task(self.server.quiet.wait())
        await asyncio.wait((quiet, self._task), return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            self._task.result()
        told, self.told = self.told, []
        return told

    async def until(self, condition: Callable[[], object]) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self.informer.run())
        for _ in range(1000):
            if condition():
                return
            await asyncio.sleep(0)
        raise AssertionError("it never happens")

    async def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @property
    def asked(self) -> list[dict[str, str]]:
        return [dict(request.query) for request in self.server.asked]

    def _hear(self, old: Pod | None, new: Pod | None) -> None:
        what = ADD if old is None else DELETE if new is None else CHANGE
        told = new or old
        assert told is not None
        self.told.append((what, told.name, told.labels.get("v", "")))

    async def _sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(seconds)
            if self.awake is not None:
                await self.awake.wait()
        await asyncio.sleep(0)


@pytest.fixture
async def following():  # type: ignore[no-untyped-def]
    made = Following()
    yield made
    await made.stop()


async def test_lists_and_then_watches_from_there(following: Following) -> None:
    following.pod("a")
    assert await following.caught_up() == [(ADD, "a", "1")]
    assert following.informer.synced.is_set()
    lists, watch = following.asked
    assert lists == {"limit": str(FIRST_PAGE)}
    assert (watch["watch"], watch["resourceVersion"]) == ("true", "2")
    assert watch["allowWatchBookmarks"] == "true"
    following.pod("b")
    following.pod("a", "2")
    following.drop("b")
    assert await following.caught_up() == [(ADD, "b", "1"), (CHANGE, "a", "2"), (DELETE, "b", "1")]
    assert len(following.asked) == 2


async def test_goes_on_where_a_watch_was_cut(following: Following) -> None:
    following.pod("a")
    await following.caught_up()
    following.pod("a", "2")
    following.plan.lines = [lambda: None, _raise(Cut())]
    assert await following.caught_up() == [(CHANGE, "a", "2")]
    assert [each["resourceVersion"] for each in following.asked[1:]] == ["2", "3"]
    assert following.slept == []  # something was heard: no reason to hesitate


async def test_goes_on_from_a_bookmark(following: Following) -> None:
    """A watch that heard nothing but a bookmark does not ask for what the server has forgotten."""
    following.pod("a")
    await following.caught_up()
    following.server.version = 70
    await following.caught_up()
    following.server.compact()
    following.plan.lines = [_raise(Cut())]
    assert await following.caught_up() == []
    assert [each.get("resourceVersion") for each in following.asked] == [None, "2", "70"]


async def test_what_was_missed_is_told_as_differences(following: Following) -> None:
    """Gone first: a name that is used again must be free when it comes."""
    for name in ("same", "changed", "gone", "again"):
        following.pod(name)
    await following.caught_up()
    following.plan.lines = [_raise(Cut()), lambda: None]

    def meanwhile() -> None:
        following.pod("changed", "2")
        following.drop("gone")
        following.drop("again")
        following.pod("again", "2")
        following.pod("new")
        following.server.compact()

    following.plan.answers = [meanwhile]
    told = await following.caught_up()
    assert told == [
        (DELETE, "gone", "1"),
        (DELETE, "again", "1"),
        (CHANGE, "changed", "2"),
        (ADD, "again", "2"),
        (ADD, "new", "1"),
    ]


async def test_a_list_whose_pages_expire_starts_over(following: Following) -> None:
    for number in range(FIRST_PAGE + 1):
        following.pod(f"p{number}")
    following.plan.answers = [lambda: None, _compacting(following)]
    told = await following.caught_up()
    assert sorted(name for _, name, _ in told) == sorted(f"p{number}" for number in range(FIRST_PAGE + 1))
    assert {what for what, _, _ in told} == {ADD}
    assert [bool(each.get("continue")) for each in following.asked] == [False, True, False, True, False]


async def test_an_event_told_twice_counts_once(following: Following) -> None:
    following.pod("a")
    await following.caught_up()
    following.pod("a", "2")
    again = following.server.objects[PODS]["default/a"]
    following.plan.lines = [lambda: None, _raise(Say("MODIFIED", again)), _raise(Say("ADDED", again))]
    assert await following.caught_up() == [(CHANGE, "a", "2")]
    following.drop("a")
    following.plan.lines = [lambda: None, _raise(Say("DELETED", again))]
    assert await following.caught_up() == [(DELETE, "a", "2")]


async def test_a_version_told_twice_counts_once_where_every_version_counts() -> None:
    following = Following(same=always_different)
    following.pod("a")
    assert await following.caught_up() == [(ADD, "a", "1")]
    again = following.server.objects[PODS]["default/a"]
    following.plan.lines = [_raise(Say("MODIFIED", again))]
    assert await following.caught_up() == []
    following.pod("a")
    assert await following.caught_up() == [(CHANGE, "a", "1")]
    await following.stop()


async def test_an_object_that_takes_over_a_name_comes_after_the_other_went(following: Following) -> None:
    """Even if the server does not say so."""
    following.pod("a")
    await following.caught_up()
    meta = {"name": "a", "namespace": "default", "uid": "other", "resourceVersion": "9"}
    following.plan.lines = [_raise(Say("ADDED", {"metadata": meta}))]
    assert await following.caught_up() == [(DELETE, "a", "1"), (ADD, "a", "")]
    gone = {"name": "a", "namespace": "default", "uid": "uid-1", "resourceVersion": "10"}
    following.plan.lines = [_raise(Say("DELETED", {"metadata": gone}))]
    assert await following.caught_up() == []  # that was the other


async def test_what_makes_no_difference_is_not_told(following: Following) -> None:
    following.pod("a")
    await following.caught_up()
    status = {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [{"name": "x", "ready": True}]}
    following.server.put(PODS, "a", "default", metadata={"labels": {"v": "1"}}, status=status)
    assert await following.caught_up() == []
    following.pod("a", "2")
    assert await following.caught_up() == [(CHANGE, "a", "2")]


async def test_a_finished_pod_is_gone(following: Following) -> None:
    following.pod("a")
    await following.caught_up()
    following.pod("a", phase="Succeeded")
    assert await following.caught_up() == [(DELETE, "a", "1")]


async def test_a_kind_that_is_not_installed_is_empty_and_asked_for_again(following: Following) -> None:
    del following.server.objects[PODS]
    following.awake = asyncio.Event()
    await following.until(lambda: following.slept)
    assert following.informer.synced.is_set()
    assert following.slept == [ABSENT_SECONDS]
    following.pod("a")
    following.awake.set()
    assert await following.caught_up() == [(ADD, "a", "1")]


async def test_a_kind_that_is_removed_takes_its_objects_with_it(following: Following) -> None:
    """Not at the first word: a server that has just started may not know all its kinds yet."""
    following.pod("a")
    await following.caught_up()
    table = following.server.objects[PODS]
    for _ in range(2):
        following.awake, following.slept = asyncio.Event(), []
        following.plan.lines = [_raise(Refused(404, "the server could not find the requested resource"))]
        del following.server.objects[PODS]
        following.server.wake()
        await following.until(lambda: following.slept == [ABSENT_SECONDS])
        following.server.objects[PODS] = table
        following.awake.set()
        assert await following.caught_up() == []  # it was only slow
    following.plan.lines = [_raise(Refused(404, "the server could not find the requested resource"))]
    del following.server.objects[PODS]
    following.server.wake()
    await following.until(lambda: following.told)
    assert following.told == [(DELETE, "a", "1")]
    following.server.objects[PODS] = {}
    await following.caught_up()


async def test_a_server_restored_from_a_backup_is_listed_anew(following: Following) -> None:
    """Its versions have gone back: it never reaches the one that was known."""
    following.pod("one")
    assert await following.caught_up() == [(ADD, "one", "1")]

    def too_large() -> None:
        raise Refused(504, "Too large resource version: 9, current: 2", "Timeout")

    def cut() -> None:
        raise Cut

    following.plan.lines = [cut]
    following.plan.answers = [too_large]
    following.pod("two")
    assert await following.caught_up() == [(ADD, "two", "1")]
    assert ["watch" in query for query in following.asked] == [False, True, True, False, True]


async def test_what_the_server_has_forgotten_is_listed_at_once(following: Following) -> None:
    following.pod("a")
    await following.caught_up()
    following.pod("a", "2")
    following.plan.lines = [lambda: None, _raise(EXPIRED)]
    assert await following.caught_up() == [(CHANGE, "a", "2")]
    assert following.slept == []
    assert [each.get("resourceVersion") for each in following.asked] == [None, "2", None, "3"]


async def test_a_refusal_is_logged_once_in_the_words_of_the_server(
    following: Following, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    words = 'pods is forbidden: User "moor" cannot list resource "pods" at the cluster scope'
    following.plan.answers = [_raise(Refused(403, words, "Forbidden"))] * 3
    following.pod("a")
    assert not following.informer.synced.is_set()
    assert await following.caught_up() == [(ADD, "a", "1")]
    assert following.slept == [1.0, 2.0, 4.0]
    said = [record.getMessage() for record in caplog.records]
    assert said == [f"cannot follow pods: {words}", "following pods again"]


async def test_what_may_be_listed_and_not_watched_is_not_in_sync(
    following: Following, caplog: pytest.LogCaptureFixture
) -> None:
    words = 'pods is forbidden: User "moor" cannot watch resource "pods" at the cluster scope'
    following.pod("a")
    following.awake = asyncio.Event()
    following.plan.answers = [lambda: None, _raise(Refused(403, words, "Forbidden"))]
    await following.until(lambda: following.slept)
    assert f"cannot follow pods: {words}" in caplog.text
    assert following.told == [(ADD, "a", "1")]
    assert not following.informer.synced.is_set()
    following.awake.set()
    await following.caught_up()
    assert following.informer.synced.is_set()


async def test_waits_grow_until_something_is_heard(following: Following) -> None:
    following.pod("a")
    refused = _raise(Refused(500, "etcdserver: leader changed"))
    following.plan.answers = [refused, refused, lambda: None, refused]
    await following.caught_up()
    assert following.slept == [0.1, 0.2, 0.4]
    following.pod("a", "2")
    await following.caught_up()
    following.plan.lines = [_raise(Cut())]
    following.plan.answers = [refused]
    await following.caught_up()
    assert following.slept == [0.1, 0.2, 0.4, 0.1]


async def test_a_server_that_has_just_come_back_is_asked_often_whatever_it_refuses(
    following: Following,
) -> None:
    """It has not read its roles yet. Long after that, a refusal is meant."""
    words = 'pods is forbidden: User "moor" cannot watch resource "pods" at the cluster scope'
    refused = _raise(Refused(403, words, "Forbidden"))
    following.pod("a")
    following.plan.answers = [_raise(Refused(503, "starting")), refused, refused]
    await following.caught_up()
    assert following.slept == [0.1, 0.2, 0.4]
    following.now += SETTLING_S
    following.plan.lines, following.plan.answers = [_raise(Cut())], [refused, refused]
    following.slept = []
    following.pod("a", "2")
    await following.caught_up()
    assert following.slept[-2:] == [1.0, 2.0]


async def test_a_kind_that_a_server_does_not_know_yet_is_asked_for_soon(following: Following) -> None:
    following.pod("a")
    await following.caught_up()
    missing = _raise(Refused(404, "the server could not find the requested resource", "NotFound"))
    following.plan.lines = [_raise(Cut())]
    following.plan.answers = [_raise(Refused(503, "starting"))] + [missing] * 4
    assert await following.caught_up() == []
    assert ABSENT_SECONDS not in following.slept


async def test_who_waits_goes_on_when_anybody_gets_an_answer(following: Following) -> None:
    following.awake = asyncio.Event()  # nobody wakes up by himself
    following.plan.answers = [_raise(Refused(503, "starting"))]
    await following.until(lambda: following.slept)
    following.pod("a")
    following.contact.worked()
    assert await following.caught_up() == [(ADD, "a", "1")]


async def test_it_says_since_when_it_is_not_followed(following: Following) -> None:
    assert following.informer.down_since == 1000.0
    following.pod("a")
    await following.caught_up()
    assert following.informer.down_since is None
    following.now, following.awake = 1010.0, asyncio.Event()
    following.plan.lines, following.plan.answers = [_raise(Cut())], [_raise(Refused(503, "away"))]
    following.server.wake()
    await following.until(lambda: following.slept)
    following.now = 1020.0
    assert following.informer.down_since == 1010.0
    following.awake.set()
    await following.caught_up()
    assert following.informer.down_since is None


async def test_a_watch_that_ends_without_a_word_is_not_asked_for_in_a_hurry(following: Following) -> None:
    following.plan.lines = [_raise(Cut())] * 3
    await following.caught_up()
    assert following.slept == [0.1, 0.2, 0.4]


async def test_a_server_that_forgets_at_once_is_not_listed_in_a_hurry(following: Following) -> None:
    following.plan.lines = [_raise(EXPIRED)] * 3
    await following.caught_up()
    assert following.slept == [1.0, 2.0, 4.0]


async def test_the_server_says_how_long_to_wait(following: Following) -> None:
    slow = Refused(429, "too many requests")
    slow.body = lambda: {  # type: ignore[method-assign]
        "kind": "Status", "code": 429, "message": "too many requests", "details": {"retryAfterSeconds": 7}
    }  # fmt: skip
    following.plan.answers = [_raise(slow)]
    await following.caught_up()
    assert following.slept == [7.0]


async def test_who_is_told_when_to_come_back_is_not_hurried(following: Following) -> None:
    slow = Refused(429, "too many requests")
    slow.body = lambda: {  # type: ignore[method-assign]
        "kind": "Status", "code": 429, "message": "too many requests", "details": {"retryAfterSeconds": 7}
    }  # fmt: skip
    following.awake = asyncio.Event()
    following.plan.answers = [_raise(slow)]
    await following.until(lambda: following.slept)
    asked = len(following.asked)
    following.now += SETTLING_S
    following.contact.worked()
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(following.asked) == asked
    following.awake.set()
    await following.until(lambda: len(following.asked) > asked)


async def test_a_pod_that_cannot_be_read_is_told_as_one(following: Following) -> None:
    """It may have a place, which is not free for others: who takes it in has to know."""
    following.pod("good")
    following.server.put(PODS, "odd", "default", spec={"priority": "high"}, status={})
    assert await following.caught_up() == [(ADD, "good", "1"), (ADD, "odd", "")]
    following.server.put(PODS, "good", "default", spec={"priority": "high"}, status={})
    following.pod("other")
    assert await following.caught_up() == [(CHANGE, "good", ""), (ADD, "other", "1")]
    assert following.server.version == 5
    following.server.compact()
    following.plan.lines = [_raise(EXPIRED)]
    assert await following.caught_up() == []


async def test_what_cannot_be_read_of_a_long_page_spoils_nothing_else(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PIECE", 300)  # bytes: two or three of these pods
    for name in "abcdefgh":
        following.pod(name)
    await following.caught_up()
    following.server.put(PODS, "c", "default", spec={"priority": "high"}, status={})
    following.server.put(PODS, "i", "default", spec={"priority": "high"}, status={})
    following.pod("j")
    following.drop("f")
    following.server.compact()
    following.plan.lines = [_raise(EXPIRED)]
    changes = [(DELETE, "f", "1"), (CHANGE, "c", ""), (ADD, "i", ""), (ADD, "j", "1")]
    assert await following.caught_up() == changes


async def test_an_event_nobody_can_read_ends_the_watch(following: Following) -> None:
    following.pod("a")
    await following.caught_up()
    following.plan.lines = [_raise(Say("ADDED", {"metadata": {"name": 3}}))]
    await following.caught_up()
    assert following.slept == [0.1]


def _raise(error: Exception) -> Callable[[], None]:
    def happen() -> None:
        raise error

    return happen


def _compacting(following: Following) -> Callable[[], None]:
    def happen() -> None:
        following.server.compact()

    return happen


async def test_what_is_nested_too_deeply_spoils_nothing_else(following: Following) -> None:
    """Deeper than Python follows, and no deeper than an API server takes: it costs that object alone."""
    deep = msgspec.Raw(b'{"a":' * 9_000 + b"1" + b"}" * 9_000)
    following.pod("good")
    following.server.put(PODS, "deep", "default", spec={"unknown": deep}, status={})
    assert await following.caught_up() == [(ADD, "good", "1"), (ADD, "deep", "")]
    following.server.put(PODS, "deeper", "default", spec={"unknown": deep}, status={})
    following.pod("other")
    assert await following.caught_up() == [(ADD, "deeper", ""), (ADD, "other", "1")]
    assert sys.getrecursionlimit() < 9_000
