"""Requests that go through a proxy: the kubeconfig's, or that of the environment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from kube.serving import ask, ask_long, connected, pem, say_ok, server_tls, serving
from mooring.errors import Unreachable
from mooring.kube.access.access import Access
from mooring.kube.access.proxies import is_exempt, proxy_for

OK = (200, b'{"ok":true}')
BOTH = pytest.mark.parametrize("asking", [ask, ask_long], ids=["short", "long"])


class Proxy:
    """Passes on what it gets, to where CONNECT or the request line says, and keeps each head it saw."""

    def __init__(self, refusal: bytes = b"") -> None:
        self.heads: list[str] = []
        self.address = ""
        self._refusal = refusal

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        method, target, _ = head.decode().split(" ", 2)
        if self._refusal:
            writer.write(self._refusal)
            writer.close()
            return
        host, _, port = target.removeprefix("http://").partition("/")[0].rpartition(":")
        onward, back = await asyncio.open_connection(host, int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            back.write(head)
        await asyncio.gather(_pump(reader, back), _pump(onward, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    finally:
        writer.close()


@asynccontextmanager
async def proxying(proxy: Proxy) -> AsyncIterator[Proxy]:
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield proxy


@BOTH
async def test_https_goes_through_a_tunnel(asking) -> None:
    authority = trustme.CA()
    async with serving(say_ok, server_tls(authority)) as server, proxying(Proxy()) as proxy:
        url = f"http://ann:p%40ss@{proxy.address}"
        access = Access(server=server.url, authorities=pem(authority), proxy=url)
        async with connected(access) as transport:
            assert await asking(transport) == OK
    (head,) = proxy.heads
    assert head.startswith(f"CONNECT {server.url.removeprefix('https://')} ")
    assert "Proxy-Authorization: Basic YW5uOnBAc3M=" in head
    assert "proxy-authorization" not in server.received[0].headers


@BOTH
async def test_http_is_asked_of_the_proxy_itself(asking) -> None:
    async with serving(say_ok) as server, proxying(Proxy()) as proxy:
        access = Access(server=server.url, proxy=f"http://ann:pw@{proxy.address}")
        async with connected(access) as transport:
            assert await asking(transport, "/api/v1/pods") == OK
    (head,) = proxy.heads
    assert head.startswith(f"GET {server.url}/api/v1/pods ")
    assert head.count("Proxy-Authorization: Basic YW5uOnB3") == 1


@BOTH
async def test_a_proxy_that_says_no(asking) -> None:
    async with proxying(Proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")) as proxy:
        access = Access(server="https://127.0.0.1:1", proxy=f"http://{proxy.address}")
        async with connected(access) as transport:
            with pytest.raises(Unreachable, match="407") as caught:
                await asking(transport)
    assert not caught.value.sent


@BOTH
async def test_a_proxy_that_is_not_there(asking, unused_tcp_port: int) -> None:
    access = Access(server="https://127.0.0.1:1", proxy=f"http://127.0.0.1:{unused_tcp_port}")
    async with connected(access) as transport:
        with pytest.raises(Unreachable) as caught:
            await asking(transport)
    assert not caught.value.sent


@pytest.mark.parametrize(
    ("server", "env", "proxy"),
    [
        ("https://api.example", {}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("http://api.example", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other"}, "http://p:1"),
        ("https://localhost:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "p:3128"}, "http://p:3128"),
        ("https://api.example", {"HTTPS_PROXY": "ann:pw@p:3128"}, "http://ann:pw@p:3128"),
        ("https://api.example", {"HTTPS_PROXY": "https://p:1"}, "https://p:1"),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "https_proxy": "http://q:1"}, "http://p:1"),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a, 10.0.0.0/8"}, ""),
    ],
)
def test_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, server: str, env: dict[str, str], proxy: str
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(Access(server=server)) == proxy


@pytest.mark.parametrize(
    ("no_proxy", "host", "port", "exempt"),
    [
        ("10.0.0.0/8", "10.1.2.3", 6443, True),
        ("10.1.2.3/8", "10.9.9.9", 6443, True),  # bits of the host do not matter
        ("10.0.0.0/8", "11.1.2.3", 6443, False),
        ("10.0.0.0/8", "api.example", 6443, False),
        ("fd00::/8", "fd12::1", 6443, True),
        ("fd00::/8", "10.1.2.3", 6443, False),
        ("10.0.0.0/8", "::ffff:10.1.2.3", 6443, True),
        ("10.1.2.3", "10.1.2.3", 6443, True),
        ("10.1.2.3:6443", "10.1.2.3", 6443, True),
        ("10.1.2.3:443", "10.1.2.3", 6443, False),
        ("fd12::1", "fd12:0::1", 6443, True),
        ("[fd12::1]", "fd12::1", 6443, True),
        ("[fd12::1]:6443", "fd12::1", 6443, True),
        ("[fd12::1]:443", "fd12::1", 6443, False),
        ("example.com", "example.com", 443, True),
        ("example.com", "api.example.com", 443, True),
        ("example.com", "notexample.com", 443, False),
        (".example.com", "api.example.com", 443, True),
        (".example.com", "example.com", 443, False),
        ("*.example.com", "api.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("example.com:443", "api.example.com", 443, True),
        ("example.com:443", "api.example.com", 6443, False),
        ("EXAMPLE.com", "api.example.com", 443, True),
        ("other, *", "anything", 1, True),
        ("", "example.com", 443, False),
        (",, ,:443,/8,10.0.0.0/99,[,]:1,.", "example.com", 443, False),
    ],
)
def test_who_is_asked_without_a_proxy(no_proxy: str, host: str, port: int, exempt: bool) -> None:
    assert is_exempt(host, port, no_proxy) is exempt


@given(st.text(max_size=30), st.text(max_size=30))
def test_nothing_in_the_list_breaks_anything(host: str, no_proxy: str) -> None:
    assert is_exempt(host, 443, no_proxy) in (True, False)


def test_the_kubeconfigs_proxy_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://p:1")
    assert proxy_for(Access(server="https://127.0.0.1", proxy="http://q:2")) == "http://q:2"
