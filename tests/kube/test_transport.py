"""Requests to a real server on loopback: what is sent, TLS, and what happens when there is no answer."""

from __future__ import annotations

import asyncio
import random

import pytest
from aiohttp import web

from kube.serving import ask, ask_long, connected, say_ok, serving
from mooring.errors import Unreachable
from mooring.kube.access.access import Access, Secret, User
from mooring.kube.access.credentials import Credential, FixedCredentials
from mooring.kube.http.bandwidth import TELLING, Line
from mooring.kube.http.headers import APPLICATION_JSON, Headers
from mooring.kube.http.transport import Request

OK = (200, b'{"ok":true}')
BOTH = pytest.mark.parametrize("asking", [ask, ask_long], ids=["short", "long"])


@BOTH
async def test_what_is_asked_arrives(asking) -> None:
    async with serving(say_ok) as server, connected(Access(server=server.url)) as transport:
        assert await asking(transport, "/api/v1/pods", query=(("a", "x=y,z!=1"), ("limit", "5"))) == OK
    (got,) = server.received
    assert (got.method, got.path, got.query) == ("GET", "/api/v1/pods", "a=x%3Dy%2Cz%21%3D1&limit=5")
    assert got.headers["accept"] == "application/json"
    assert got.headers["user-agent"].startswith("mooring/")
    assert "authorization" not in got.headers


async def test_a_body_goes_with_its_type() -> None:
    async with serving(say_ok) as server, connected(Access(server=server.url)) as transport:
        request = Request("PATCH", "/x", body=b"[1]", content_type="application/json-patch+json")
        assert (await transport.ask(request)).status == 200
    (got,) = server.received
    assert (got.method, got.body) == ("PATCH", b"[1]")
    assert got.headers["content-type"] == "application/json-patch+json"
    assert got.headers["content-length"] == "3"


@BOTH
async def test_a_server_may_be_under_a_path(asking) -> None:
    async with (
        serving(say_ok) as server,
        connected(Access(server=f"{server.url}/k8s/clusters/c-1")) as transport,
    ):
        await asking(transport, "/api/v1/pods")
    assert server.received[0].path == "/k8s/clusters/c-1/api/v1/pods"


@BOTH
async def test_headers_for_someone_else(asking) -> None:
    user = User(impersonation=(("Impersonate-User", "ann"), ("Impersonate-Group", "a")))
    async with serving(say_ok) as server, connected(Access(server=server.url, user=user)) as transport:
        await asking(transport)
    assert server.received[0].headers["impersonate-user"] == "ann"


@BOTH
async def test_a_password_is_sent_as_basic(asking) -> None:
    user = User(username="ann", password=Secret(b"pass:word"))
    async with serving(say_ok) as server, connected(Access(server=server.url, user=user)) as transport:
        await asking(transport)
    assert server.authorizations == ["Basic YW5uOnBhc3M6d29yZA=="]


async def test_connections_are_kept() -> None:
    async with serving(say_ok) as server, connected(Access(server=server.url)) as transport:
        for _ in range(5):
            assert await ask(transport) == OK
    assert len(server.peers) == 1


def test_long_answers_are_compressed_unless_the_kubeconfig_says_no() -> None:
    access = Access(server="https://api.example:6443")
    assert _encoding(access, compress=True) == "gzip"
    assert _encoding(access, compress=False) == "identity"
    assert (
        _encoding(Access(server="https://api.example:6443", compression=False), compress=True) == "identity"
    )


def _encoding(access: Access, *, compress: bool) -> str:
    return Headers(access, Credential()).fields(APPLICATION_JSON, APPLICATION_JSON, compress=compress)[
        "Accept-Encoding"
    ]


async def test_a_compressed_answer_is_read() -> None:
    async def answer(_request: web.Request) -> web.Response:
        response = web.Response(body=b"x" * 10_000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        assert await ask_long(transport) == (200, b"x" * 10_000)


@pytest.mark.parametrize(("seconds", "packs"), [(0.001, False), (60.0, True)], ids=["thick", "thin"])
async def test_packing_is_up_to_how_thick_the_line_is(
    seconds: float, packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer tells, whatever the address of the server."""
    body = bytes(random.Random(7).randbytes(2 * TELLING))

    async def answer(request: web.Request) -> web.Response:
        response = web.Response(body=body)
        if "gzip" in request.headers["Accept-Encoding"]:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    carried = Line.carried

    def timed(line: Line, size: int, _seconds: float, *, packed: bool) -> None:
        carried(line, size, seconds, packed=packed)

    monkeypatch.setattr(Line, "carried", timed)
    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        for _ in range(2):
            assert await ask_long(transport) == (200, body)
    encodings = [got.headers["accept-encoding"] for got in server.received]
    assert encodings == ["gzip", "gzip" if packs else "identity"]


def test_a_line_that_changes() -> None:
    line = Line()
    line.carried(100_000, 0.001, packed=True)
    assert not line.packs
    line.carried(1000, 10.0, packed=False)  # too short to tell
    assert not line.packs
    line.carried(1_000_000, 4.0, packed=False)
    assert line.packs


# No answer


@BOTH
async def test_a_refused_connection_was_never_a_request(asking, unused_tcp_port: int) -> None:
    async with connected(Access(server=f"http://127.0.0.1:{unused_tcp_port}")) as transport:
        with pytest.raises(Unreachable) as caught:
            await asking(transport, "/api/v1/pods")
    assert (caught.value.code, caught.value.sent) == (0, False)
    assert f'Get "http://127.0.0.1:{unused_tcp_port}/api/v1/pods": ' in str(caught.value)
    assert "connection refused" in str(caught.value).lower() or "Connect call failed" in str(caught.value)


@BOTH
async def test_a_name_nobody_has(asking) -> None:
    async with connected(Access(server="http://nobody.invalid:6443")) as transport:
        with pytest.raises(Unreachable) as caught:
            await asking(transport)
    assert not caught.value.sent


@BOTH
async def test_a_server_that_never_answers(asking) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/slow":
            await asyncio.Event().wait()
        return await say_ok(request)

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        await asking(transport)  # so that there is a connection
        with pytest.raises(Unreachable) as caught:
            await asking(transport, "/slow", timeout=0.01)
    assert caught.value.sent


@BOTH
async def test_a_server_that_hangs_up(asking) -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with serving(answer) as server, connected(Access(server=server.url)) as transport:
        with pytest.raises(Unreachable) as caught:
            await asking(transport, method="POST", body=b"{}")
    assert caught.value.sent
    assert len(server.received) == 1


@BOTH
async def test_after_closing_it_can_ask_again(asking) -> None:
    async with serving(say_ok) as server, connected(Access(server=server.url)) as transport:
        await asking(transport)
        await transport.close()
        assert await asking(transport) == OK


def test_a_secret_is_not_printed() -> None:
    user = User(token=Secret(b"hidden"), password=Secret(b"hidden"), key=Secret(b"hidden"))
    shown = repr(Access(server="https://x", user=user)) + repr(FixedCredentials(user).current())
    assert "hidden" not in shown
