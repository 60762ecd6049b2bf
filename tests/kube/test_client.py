"""The calls of the client: what goes out, what comes back, and what is tried again."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kube.scripted import Answer, Script, Sleep, drain, refusal
from mooring.errors import ApiError, Conflict, Gone, NotFound, TooManyRequests, Unreachable
from mooring.kube.client import JSON, LIST_IDLE, MERGE, STRATEGIC, Client
from mooring.kube.http.backoff import Pace
from mooring.kube.http.rate_limiter import Limiter
from mooring.kube.http.transport import Request
from mooring.kube.resources import LEASES, NODES, PODS

PACE = Pace(initial=1.0, factor=2.0, cap=8.0, jitter=0.0)
REFUSED = Unreachable(0, "connection refused", sent=False)
CUT = Unreachable(0, "EOF")


def client(script: Script, sleep: Sleep | None = None, **more: Any) -> Client:
    return Client(script, backoff=PACE, sleep=sleep or Sleep(), random=lambda: 0.5, **more)


async def test_get() -> None:
    script = Script(Answer(200, b'{"a":1}'))
    assert await client(script).get(PODS, "a/b") == b'{"a":1}'
    assert script.asked == [Request("GET", "/api/v1/namespaces/a/pods/b")]


async def test_get_a_subresource() -> None:
    script = Script(Answer())
    await client(script).get(NODES, "n", sub="status")
    assert script.asked[0].path == "/api/v1/nodes/n/status"


async def test_create() -> None:
    script = Script(Answer(201))
    await client(script).create(LEASES, "kube-system", b"{}")
    assert script.asked == [
        Request("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", body=b"{}")
    ]


async def test_create_a_binding() -> None:
    script = Script(Answer(201))
    await client(script).create(PODS, "a", b"{}", name="b", sub="binding")
    assert script.asked[0].path == "/api/v1/namespaces/a/pods/b/binding"


async def test_replace() -> None:
    script = Script(Answer(200, b"new"))
    assert await client(script).replace(PODS, "a/b", b"{}", sub="status") == b"new"
    assert script.asked == [Request("PUT", "/api/v1/namespaces/a/pods/b/status", body=b"{}")]


@pytest.mark.parametrize(
    ("how", "content_type"),
    [
        (STRATEGIC, "application/strategic-merge-patch+json"),
        (MERGE, "application/merge-patch+json"),
        (JSON, "application/json-patch+json"),
    ],
)
async def test_patch(how: str, content_type: str) -> None:
    script = Script(Answer())
    await client(script).patch(PODS, "a/b", b"{}", how=how, sub="status")
    (asked,) = script.asked
    assert (asked.method, asked.path) == ("PATCH", "/api/v1/namespaces/a/pods/b/status")
    assert (asked.content_type, asked.body) == (content_type, b"{}")


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ({}, {}),
        ({"uid": "u-1"}, {"preconditions": {"uid": "u-1"}}),
        ({"grace_seconds": 0}, {"gracePeriodSeconds": 0}),
    ],
)
async def test_delete(options: dict[str, Any], body: dict[str, Any]) -> None:
    script = Script(Answer())
    await client(script).delete(PODS, "a/b", **options)
    (asked,) = script.asked
    assert (asked.method, asked.path) == ("DELETE", "/api/v1/namespaces/a/pods/b")
    assert json.loads(asked.body) == {"apiVersion": "v1", "kind": "DeleteOptions", **body}


async def test_its_timeout_is_that_of_every_request() -> None:
    script = Script(*(Answer() for _ in range(5)))
    asking = client(script, timeout=5.0)
    await asking.get(PODS, "a/b")
    await asking.create(PODS, "a", b"")
    await asking.replace(PODS, "a/b", b"")
    await asking.patch(PODS, "a/b", b"")
    await asking.delete(PODS, "a/b")
    assert [request.timeout for request in script.asked] == [5.0] * 5


# Errors and retries


async def test_the_servers_words_are_kept() -> None:
    script = Script(refusal(409, "Conflict", 'pod b is already assigned to node "n"'))
    with pytest.raises(Conflict, match='pod b is already assigned to node "n"'):
        await client(script).create(PODS, "a", b"{}", name="b", sub="binding")


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422])
async def test_a_plain_no_is_not_tried_again(code: int) -> None:
    script, sleep = Script(refusal(code)), Sleep()
    with pytest.raises(ApiError):
        await client(script, sleep).get(PODS, "a/b")
    assert sleep.slept == []


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_whoever_is_told_when_to_come_back_does(code: int) -> None:
    """A server that says so has done nothing, so this goes for writes as well."""
    script, sleep = Script(refusal(code, Retry_After="7"), refusal(code, Retry_After="1"), Answer()), Sleep()
    await client(script, sleep).create(PODS, "a", b"{}")
    assert sleep.slept == [7.0, 2.0]  # its own back-off is the least it waits


@pytest.mark.parametrize("failure", [refusal(500), refusal(503), refusal(429), CUT])
async def test_reading_is_tried_again(failure: Any) -> None:
    script, sleep = Script(failure, failure, Answer(200, b"x")), Sleep()
    assert await client(script, sleep).get(PODS, "a/b") == b"x"
    assert sleep.slept == [1.0, 2.0]


@pytest.mark.parametrize("failure", [refusal(500), refusal(504), CUT])
async def test_a_write_that_may_have_happened_is_not_tried_again(failure: Any) -> None:
    script, sleep = Script(failure, Answer()), Sleep()
    with pytest.raises(ApiError):
        await client(script, sleep).create(PODS, "a", b"{}")
    assert sleep.slept == []


@pytest.mark.parametrize("failure", [refusal(500), refusal(429), CUT])
async def test_a_write_is_tried_again_for_who_says_so(failure: Any) -> None:
    script = Script(failure, Answer(200, b"x"))
    assert await client(script).patch(PODS, "a/b", b"{}", retry=True) == b"x"


async def test_an_answer_cut_off_in_the_middle_of_a_write_is_not_tried_again() -> None:
    script = Script(Answer(201, then=CUT), Answer())
    with pytest.raises(Unreachable):
        await client(script).create(PODS, "a", b"{}")
    assert len(script.asked) == 1


async def test_a_write_that_never_left_is_tried_again() -> None:
    script = Script(REFUSED, Answer(201, b"x"))
    assert await client(script).create(PODS, "a", b"{}") == b"x"


async def test_not_for_ever() -> None:
    script, sleep = Script(*[CUT] * 4), Sleep()
    with pytest.raises(Unreachable):
        await client(script, sleep, retries=3).get(PODS, "a/b")
    assert sleep.slept == [1.0, 2.0, 4.0]


async def test_never_for_who_wants_it_so() -> None:
    script, sleep = Script(refusal(429, Retry_After="1")), Sleep()
    with pytest.raises(TooManyRequests) as caught:
        await client(script, sleep, retries=0).get(PODS, "a/b")
    assert (sleep.slept, caught.value.retry_after) == ([], 1.0)


async def test_every_try_takes_its_turn() -> None:
    turns = Sleep()
    limiter = Limiter(1.0, 1, clock=lambda: 0.0, sleep=turns)
    script = Script(CUT, Answer())
    await client(script, limiter=limiter).get(PODS, "a/b")
    assert turns.slept == [1.0]


# Lists


def page(names: str, token: str = "", version: str = "7") -> Answer:
    items = [{"metadata": {"name": name}} for name in names]
    return Answer(
        200, {"kind": "PodList", "metadata": {"resourceVersion": version, "continue": token}, "items": items}
    )


def names(items: list[Any]) -> str:
    return "".join(json.loads(bytes(item))["metadata"]["name"] for item in items)


async def test_a_list_comes_in_pages() -> None:
    script = Script(page("ab", "t1"), page("cd", "t2", "8"), page("e"))
    query = (("fieldSelector", "status.phase!=Failed"),)
    pages = [found async for found in client(script).list_pages(PODS, query=query, limit=2)]
    assert [names(found.items) for found in pages] == ["ab", "cd", "e"]
    assert {found.resource_version for found in pages} == {"7"}  # that of the first: the list is as of then
    assert [asked.query for asked in script.asked] == [
        (*query, ("limit", "2")),
        (*query, ("limit", "2"), ("continue", "t1")),
        (*query, ("limit", "2"), ("continue", "t2")),
    ]
    assert all(asked.compress for asked in script.asked)


async def test_pages_of_a_far_server_grow() -> None:
    """Each costs a round trip."""
    script = Script(*(page("a", f"t{number}") for number in range(4)), page("b"))
    ticks = iter(range(0, 1000, 1))  # a second between any two looks at the clock
    far = Client(script, clock=lambda: float(next(ticks)))
    async for _ in far.list_pages(PODS):
        pass
    assert [dict(asked.query)["limit"] for asked in script.asked] == ["2000", "8000", "8000", "8000", "8000"]


async def test_the_next_page_is_asked_for_while_one_is_read() -> None:
    script = Script(page("a", "t1"), page("b"))
    pages = client(script).list_pages(PODS)
    assert names((await anext(pages)).items) == "a"
    assert len(script.asked) == 1  # whoever wants no more costs no more
    reading = asyncio.ensure_future(anext(pages))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(script.asked) == 2
    assert names((await reading).items) == "b"
    await pages.aclose()


async def test_a_page_that_nobody_waits_for_any_more() -> None:
    script = Script(page("a", "t1"), refusal(404))
    pages = client(script).list_pages(PODS)
    await anext(pages)
    with pytest.raises(NotFound):
        await anext(pages)


async def test_silence_of_a_list_is_borne_for_longer_each_time() -> None:
    script = Script(CUT, CUT, page("a"))
    async for _ in client(script).list_pages(PODS):
        pass
    assert [(asked.idle, asked.fresh) for asked in script.asked] == [
        (LIST_IDLE, False),
        (2 * LIST_IDLE, True),
        (4 * LIST_IDLE, True),
    ]


async def test_a_moment_is_named_on_the_first_page_only() -> None:
    """The server refuses a continue token together with a resource version."""
    script = Script(page("a", "t1"), page("b"))
    query = (("resourceVersion", "0"), ("resourceVersionMatch", "NotOlderThan"), ("labelSelector", "a=b"))
    async for _ in client(script).list_pages(PODS, query=query, limit=1):
        pass
    assert script.asked[0].query == (*query, ("limit", "1"))
    assert script.asked[1].query == (("labelSelector", "a=b"), ("limit", "1"), ("continue", "t1"))


@pytest.mark.parametrize(
    "body", [b'{"metadata":{"resourceVersion":"7"},"items":null}', b'{"metadata":{"resourceVersion":"7"}}']
)
async def test_a_list_of_nothing(body: bytes) -> None:
    pages = [found async for found in client(Script(Answer(200, body))).list_pages(PODS)]
    assert [(found.items, found.resource_version) for found in pages] == [([], "7")]


async def test_a_list_that_takes_too_long_is_gone() -> None:
    """Nothing is given twice: the caller starts over by itself."""
    expired = refusal(410, "Expired", "The provided continue parameter is too old")
    pages, error = await drain(client(Script(page("ab", "t1"), expired)).list_pages(PODS))
    assert [names(found.items) for found in pages] == ["ab"]
    assert type(error) is Gone
    assert "too old" in str(error)


async def test_a_page_is_tried_again_where_it_failed() -> None:
    script = Script(page("ab", "t1"), CUT, refusal(503), page("c"))
    pages = [names(found.items) async for found in client(script).list_pages(PODS)]
    assert pages == ["ab", "c"]


async def test_a_list_that_is_none() -> None:
    with pytest.raises(Unreachable, match="cannot be read"):
        async for _ in client(Script(Answer(200, b"<html>"))).list_pages(PODS):
            pass


async def test_a_kind_the_server_does_not_have() -> None:
    with pytest.raises(NotFound):
        async for _ in client(Script(refusal(404))).list_pages(PODS):
            pass


async def test_a_list_of_one_namespace() -> None:
    script = Script(page("a"))
    async for _ in client(script).list_pages(PODS, namespace="x"):
        pass
    assert script.asked[0].path == "/api/v1/namespaces/x/pods"
