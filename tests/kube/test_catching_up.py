"""Being sure: all that had happened when it was asked for is told when it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kube.test_informer import ADD, CHANGE, DELETE, Following, _raise
from kube.virtual_time import in_virtual_time
from kube.watched_server import PODS, Cut, Refused
from mooring.kube.decode.pods import PodDecoder
from mooring.kube.watch import freshness, informer

FORBIDDEN = Refused(403, "pods is forbidden", "Forbidden")
ELSEWHERE = "/api/v1/nodes"


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer, "FEW", 4)


def following(pods: int, work: Callable[[Following], Coroutine[Any, Any, None]]) -> None:
    """Does something with an informer that knows so many pods, and whose watch says nothing of itself."""

    async def run() -> None:
        made = Following()
        made.server.bookmarks = False
        for number in range(pods):
            made.pod(f"p{number}")
        await made.caught_up()
        made.server.put(ELSEWHERE, "n")  # versions go on without pods
        try:
            await work(made)
        finally:
            await made.stop()

    in_virtual_time(run())


def is_list(query: dict[str, str]) -> bool:
    return "watch" not in query


def lists(made: Following) -> list[str | None]:
    return [each.get("limit") for each in made.asked if is_list(each)]


def test_few_are_listed_at_once_and_the_watch_goes_on() -> None:
    async def work(made: Following) -> None:
        asked = len(made.asked)
        began = asyncio.get_running_loop().time()
        await made.informer.catch_up()
        assert asyncio.get_running_loop().time() == began
        assert [is_list(each) for each in made.asked[asked:]] == [True]
        assert made.told == []

    following(4, work)


def test_of_few_what_the_list_shows_is_heard_from_the_watch() -> None:
    async def work(made: Following) -> None:
        asked = len(made.asked)
        made.pod("late")
        made.drop("p0")
        await made.informer.catch_up()
        assert sorted(made.told) == [(ADD, "late", "1"), (DELETE, "p0", "1")]
        assert [is_list(each) for each in made.asked[asked:]] == [True]

    following(4, work)


@pytest.mark.parametrize("is_gone", [False, True])
def test_what_a_watch_that_lags_has_not_told_is_listed(is_gone: bool) -> None:
    """The list shows a change, or lacks a pod, of which the watch says nothing in time."""

    async def work(made: Following) -> None:
        if is_gone:
            made.drop("p0")
        else:
            made.pod("p0", "2")
        made.server.log.pop()
        await made.informer.catch_up()
        assert made.told == [(DELETE, "p0", "1") if is_gone else (CHANGE, "p0", "2")]
        assert lists(made) == ["2000", "2000", "2000"]

    following(2, work)


def test_what_a_list_shows_unchanged_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of what is listed anew has not changed."""
    read: list[str] = []
    decode = PodDecoder.__call__

    def noted(self: PodDecoder, raw: Any) -> Any:
        found = decode(self, raw)
        read.append(found.name)
        return found

    monkeypatch.setattr(PodDecoder, "__call__", noted)

    async def work(made: Following) -> None:
        read.clear()
        made.pod("p0", "2")
        made.pod("p2")
        made.server.log.clear()
        await made.informer.catch_up()
        assert made.told == [(CHANGE, "p0", "2"), (ADD, "p2", "1")]
        assert read == ["p0", "p2"]

    following(2, work)


def test_of_many_events_that_are_on_their_way_are_waited_for() -> None:
    async def work(made: Following) -> None:
        catching_up = asyncio.ensure_future(made.informer.catch_up())
        await asyncio.sleep(0)
        assert not catching_up.done()
        made.pod("p0", "2")
        await catching_up
        assert made.told == [(CHANGE, "p0", "2")]
        assert lists(made) == ["2000", "1"]

    following(5, work)


def test_if_there_are_no_events_many_are_watched_shortly() -> None:
    async def work(made: Following) -> None:
        await made.informer.catch_up()
        assert lists(made) == ["2000", "1"]
        assert made.asked[-1]["timeoutSeconds"] == "3"
        assert made.informer.down_since is None

    following(5, work)


def test_a_server_whose_short_watch_says_nothing_is_listed() -> None:
    async def work(made: Following) -> None:
        made.plan.answers = [lambda: None, _raise(Refused(503, "busy"))]  # the version, then the watch
        made.awake = asyncio.Event()
        await made.informer.catch_up()
        assert lists(made) == ["2000", "1", "2000"]

    following(5, work)


@pytest.mark.parametrize("pods", [2, 5])
def test_a_server_that_was_restored_from_a_backup_is_listed(pods: int) -> None:
    """Its versions are lower than those that were told, and what was made since is not there."""

    async def work(made: Following) -> None:
        made.server.objects[PODS].popitem()
        made.server.version = 2
        made.server.log.clear()
        await made.informer.catch_up()
        assert made.told == [(DELETE, f"p{pods - 1}", "1")]

    following(pods, work)


@pytest.mark.parametrize("pods", [2, 5])
def test_versions_that_are_no_numbers_have_no_order(pods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(made: Following) -> None:
        monkeypatch.setattr(freshness, "order_of", lambda version: freshness.NO_ORDER)
        await made.informer.catch_up()
        assert len(lists(made)) == 3

    following(pods, work)


def test_what_cannot_be_read_is_waited_for() -> None:
    async def work(made: Following) -> None:
        made.plan.answers = [_raise(FORBIDDEN)] * 3
        made.awake = asyncio.Event()
        catching_up = asyncio.ensure_future(made.informer.catch_up())
        await asyncio.sleep(100.0)
        assert not catching_up.done()
        made.awake.set()
        await catching_up

    following(1, work)


def test_what_is_not_installed_keeps_nobody_waiting() -> None:
    async def work(made: Following) -> None:
        made.awake = asyncio.Event()
        del made.server.objects[PODS]
        made.plan.lines = [_raise(Cut())]
        made.server.wake()
        await made.until(lambda: made.slept)
        await made.informer.catch_up()

    following(0, work)


def test_who_waits_for_a_server_that_was_away_asks_at_once() -> None:
    """A standby in its back-off that is told to lead does not sleep on."""

    async def work(made: Following) -> None:
        made.awake = asyncio.Event()
        made.plan.lines = [_raise(Cut())]
        made.server.wake()
        await made.until(lambda: made.slept)
        made.pod("p0", "2")
        await made.informer.catch_up()
        assert made.told == [(CHANGE, "p0", "2")]

    following(1, work)


def test_a_list_that_began_before_is_not_new_enough() -> None:
    async def work(made: Following) -> None:
        made.plan.lines = [_raise(Refused(410, "too old", "Expired"))]
        held = asyncio.Event()
        made.server.wake()
        ask = made.informer._client.list_pages

        async def slowly(*words: Any, **more: Any) -> Any:
            pages = [page async for page in ask(*words, **more)]  # as of now
            await held.wait()
            for page in pages:
                yield page

        made.informer._client.list_pages = slowly  # type: ignore[method-assign]
        await made.until(lambda: made.informer._is_listing)
        await asyncio.sleep(0.01)
        made.pod("p0", "2")
        catching_up = asyncio.ensure_future(made.informer.catch_up())
        await asyncio.sleep(0.01)
        held.set()
        await catching_up
        assert made.told[-1] == (CHANGE, "p0", "2")

    following(1, work)
