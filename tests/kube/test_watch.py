"""Watches: by a script, and over a real connection that is cut in every way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from kube.scripted import Answer, Script, drain, each, lines, refusal
from kube.serving import connected, serving
from mooring.errors import ApiError, Gone, TooManyRequests, Unauthorized, Unreachable
from mooring.kube.access.access import Access
from mooring.kube.client import BUSY_EVENTS, BUSY_IDLE, QUIET_MORE, QUIET_SECONDS, Client, WatchEvent
from mooring.kube.resources import PODS

ADDED = {"type": "ADDED", "object": {"metadata": {"name": "a"}}}
BOOKMARK = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
EXPIRED = {
    "type": "ERROR",
    "object": {
        "kind": "Status",
        "code": 410,
        "reason": "Expired",
        "message": "too old resource version: 1 (9)",
    },
}


def client(transport: Any) -> Client:
    return Client(transport, random=lambda: 0.5)


async def events(asking: Client, version: str = "1", **more: Any) -> list[Any]:
    return [plain(event) async for event in each(asking.watch(PODS, version, **more))]


def plain(event: WatchEvent) -> dict[str, Any]:
    return {"type": event.type, "object": json.loads(bytes(event.object))}


# By a script


async def test_what_is_asked() -> None:
    script = Script(Answer(200, b""))
    await events(client(script), "7", query=(("labelSelector", "a=b"),))
    (asked,) = script.asked
    assert (asked.method, asked.path, asked.timeout) == ("GET", "/api/v1/pods", None)
    assert (asked.idle, asked.silence_ends, asked.fresh) == (QUIET_SECONDS + QUIET_MORE, False, False)
    assert asked.query == (
        ("labelSelector", "a=b"),
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", "7"),
        ("timeoutSeconds", "11"),
    )


async def test_the_time_can_be_given() -> None:
    script = Script(Answer(200, b""))
    await events(client(script), timeout_seconds=60)
    assert ("timeoutSeconds", "60") in script.asked[0].query


async def test_silence_is_never_borne_for_long() -> None:
    """A watch of which the server has nothing to tell ends by itself, within less than 15 s."""
    for chance in (0.0, 0.5, 0.999):
        script = Script(Answer(200, b""))
        await events(Client(script, random=lambda chance=chance: chance))
        (asked,) = script.asked
        seconds = int(dict(asked.query)["timeoutSeconds"])
        assert asked.idle is not None
        assert 2.0 < seconds < asked.idle < 14.0


async def test_where_much_happens_a_watch_is_long_and_silence_ends_it() -> None:
    script = Script(Answer(200, lines([ADDED] * BUSY_EVENTS)), Answer(200, b""), Answer(200, b""))
    watching = client(script)
    for _ in range(3):
        await events(watching)
    assert [dict(asked.query)["timeoutSeconds"] for asked in script.asked] == ["11", "450", "11"]
    assert [asked.silence_ends for asked in script.asked] == [False, True, False]
    assert script.asked[1].idle == BUSY_IDLE


async def test_after_a_connection_that_failed_a_fresh_one_is_used() -> None:
    script = Script(Answer(200, b"", then=Unreachable(0, "silence")), Answer(200, b""), Answer(200, b""))
    watching = client(script)
    with pytest.raises(Unreachable):
        await events(watching)
    for _ in range(2):
        await events(watching)
    assert [asked.fresh for asked in script.asked] == [False, True, False]


async def test_events_come_as_they_are() -> None:
    script = Script(Answer(200, lines([ADDED, BOOKMARK])))
    assert await events(client(script)) == [ADDED, BOOKMARK]


async def test_an_error_event_is_raised_after_what_came_before() -> None:
    script = Script(Answer(200, lines([ADDED, EXPIRED, ADDED])))
    seen, error = await drain(each(client(script).watch(PODS, "1")))
    assert [event.type for event in seen] == ["ADDED"]
    assert type(error) is Gone
    assert str(error) == "too old resource version: 1 (9)"
    assert script.open == 0


async def test_an_error_event_of_another_kind() -> None:
    said = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcd event received"}
    script = Script(Answer(200, lines([{"type": "ERROR", "object": said}])))
    with pytest.raises(ApiError, match="etcd event received"):
        await events(client(script))


@pytest.mark.parametrize("text", [b'{"type":"ADDED","obj', b"<html>", b'{"type":"ADDED"}', b"[]"])
async def test_a_line_that_cannot_be_read(text: bytes) -> None:
    with pytest.raises(Unreachable, match="cut short"):
        await events(client(Script(Answer(200, text))))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(401, "Unauthorized"), Unauthorized),
        (refusal(410, "Expired"), Gone),
        (refusal(429, "TooManyRequests", Retry_After="1"), TooManyRequests),
        (Unreachable(0, "refused", sent=False), Unreachable),
    ],
)
async def test_a_watch_that_is_refused_is_for_the_caller_to_try_again(
    answer: Any, kind: type[ApiError]
) -> None:
    script = Script(answer)
    with pytest.raises(kind):
        await events(client(script))
    assert len(script.asked) == 1


async def test_whoever_stops_early_gives_the_connection_back() -> None:
    script = Script(Answer(200, lines([ADDED, ADDED])))
    watch = client(script).watch(PODS, "1")
    assert [event.type for event in await anext(watch)] == ["ADDED", "ADDED"]
    await watch.aclose()  # type: ignore[attr-defined]
    assert script.open == 0


# Over a connection

Streaming = Callable[[web.StreamResponse, web.Request], Awaitable[None]]


async def watched(stream: Streaming) -> tuple[list[Any], Exception | None]:
    """The events of a watch that a server answers in its own way, and how it ended."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await stream(response, request)
        return response

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        seen, error = await drain(each(client(transport).watch(PODS, "1")))
    return [plain(event) for event in seen], error


async def test_an_orderly_end() -> None:
    async def stream(response: web.StreamResponse, _request: web.Request) -> None:
        await response.write(lines([ADDED, BOOKMARK]))

    assert await watched(stream) == ([ADDED, BOOKMARK], None)


async def test_events_are_put_together_however_they_are_cut() -> None:
    async def stream(response: web.StreamResponse, _request: web.Request) -> None:
        for byte in lines([ADDED, BOOKMARK, ADDED]):
            await response.write(bytes([byte]))

    assert await watched(stream) == ([ADDED, BOOKMARK, ADDED], None)


async def test_a_very_long_line() -> None:
    big = {"type": "MODIFIED", "object": {"data": "x" * 3_000_000}}

    async def stream(response: web.StreamResponse, _request: web.Request) -> None:
        await response.write(lines([ADDED, big, BOOKMARK]))

    assert await watched(stream) == ([ADDED, big, BOOKMARK], None)


async def test_the_last_line_may_lack_its_end() -> None:
    async def stream(response: web.StreamResponse, _request: web.Request) -> None:
        await response.write(lines([ADDED, BOOKMARK])[:-1])

    assert await watched(stream) == ([ADDED, BOOKMARK], None)


async def test_an_end_in_the_middle_of_a_line() -> None:
    async def stream(response: web.StreamResponse, _request: web.Request) -> None:
        await response.write(lines([ADDED, BOOKMARK])[:-10])

    seen, error = await watched(stream)
    assert seen == [ADDED]
    assert isinstance(error, Unreachable)


async def test_a_reset_connection() -> None:
    async def stream(response: web.StreamResponse, request: web.Request) -> None:
        await response.write(lines([ADDED]))
        assert request.transport is not None
        await asyncio.sleep(0)
        request.transport.abort()

    seen, error = await watched(stream)
    assert seen in ([], [ADDED])
    assert isinstance(error, Unreachable)


async def test_silence_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.kube.client.QUIET_MORE", -QUIET_SECONDS + 0.01)

    async def stream(response: web.StreamResponse, _request: web.Request) -> None:
        await response.write(lines([ADDED]))
        await asyncio.Event().wait()

    _, error = await watched(stream)
    assert isinstance(error, Unreachable)


@pytest.mark.parametrize("more", [b"", b'{"type":"ADD'], ids=["between events", "in one"])
async def test_silence_where_much_happens(more: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch is over, and what was heard is heard. In the middle of an event it is cut short."""
    monkeypatch.setattr("mooring.kube.client.BUSY_IDLE", 0.01)
    monkeypatch.setattr("mooring.kube.client.BUSY_EVENTS", 0)

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(lines([ADDED]))
        if "timeoutSeconds=450" in request.query_string:
            await response.write(more)
            await asyncio.Event().wait()
        return response

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        watching = client(transport)
        assert await events(watching) == [ADDED]
        seen, error = await drain(each(watching.watch(PODS, "1")))
    assert [plain(event) for event in seen] == [ADDED]
    assert isinstance(error, Unreachable) == bool(more)


async def test_a_silent_watch_casts_doubt_on_other_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those for short requests too: a bind must not be the next to find out."""
    monkeypatch.setattr("mooring.kube.client.QUIET_MORE", -QUIET_SECONDS + 0.01)
    monkeypatch.setattr("mooring.kube.http.short_requests.LOOK_S", -1.0)  # all that rest have rested for long

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            await asyncio.Event().wait()
        return web.Response(body=b"{}")

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        asking = client(transport)
        await asking.get(PODS, "a/b")
        with pytest.raises(Unreachable):
            await events(asking)
        await asking.get(PODS, "a/b")
    assert len(server.peers) == 3


async def test_watches_follow_each_other_over_one_connection() -> None:
    """And take over that of their list: a connection costs two round trips."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.Response(body=b'{"metadata":{"resourceVersion":"7"},"items":[]}')
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(lines([BOOKMARK]))
        return response

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        watching = client(transport)
        assert [page.items async for page in watching.list_pages(PODS)] == [[]]
        for _ in range(3):
            assert await events(watching) == [BOOKMARK]
    assert len(server.peers) == 1


async def test_events_are_seen_as_soon_as_they_are_there() -> None:
    """Not only when the watch ends, or a buffer is full."""
    is_seen = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(lines([ADDED]))
        await is_seen.wait()
        await response.write(lines([BOOKMARK]))
        return response

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        watch = client(transport).watch(PODS, "1")
        assert [event.type for event in await anext(watch)] == ["ADDED"]
        is_seen.set()
        assert [event.type async for event in each(watch)] == ["BOOKMARK"]
