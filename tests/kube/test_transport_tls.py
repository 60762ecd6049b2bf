"""TLS to a real server on loopback, and credentials that change while requests go on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from kube.serving import ask, ask_long, connected, pem, say_ok, server_tls, serving
from mooring.errors import ConfigError, Unreachable
from mooring.kube.access.access import Access, Secret, User
from mooring.kube.access.credentials import FixedCredentials
from mooring.kube.http.transport import Request, Transport

OK = (200, b'{"ok":true}')
BOTH = pytest.mark.parametrize("asking", [ask, ask_long], ids=["short", "long"])


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def identity(issued: trustme.LeafCert) -> User:
    return User(
        certificate=Secret(b"".join(part.bytes() for part in issued.cert_chain_pems)),
        key=Secret(issued.private_key_pem.bytes()),
    )


# TLS


@BOTH
async def test_the_authority_of_the_kubeconfig_is_trusted(asking, authority: trustme.CA) -> None:
    async with (
        serving(say_ok, server_tls(authority)) as server,
        connected(Access(server=server.url, authorities=pem(authority))) as transport,
    ):
        assert await asking(transport) == OK


@BOTH
async def test_another_authority_is_not_trusted(asking, authority: trustme.CA) -> None:
    async with (
        serving(say_ok, server_tls(authority)) as server,
        connected(Access(server=server.url, authorities=pem(trustme.CA()))) as transport,
    ):
        with pytest.raises(Unreachable, match="certificate") as caught:
            await asking(transport)
    assert not caught.value.sent
    assert server.received == []


@BOTH
async def test_the_systems_authorities_do_not_know_the_server(asking, authority: trustme.CA) -> None:
    async with (
        serving(say_ok, server_tls(authority)) as server,
        connected(Access(server=server.url)) as transport,
    ):
        with pytest.raises(Unreachable, match="certificate"):
            await asking(transport)


@BOTH
async def test_a_certificate_for_another_name_is_not_trusted(asking, authority: trustme.CA) -> None:
    async with (
        serving(say_ok, server_tls(authority, "kubernetes.example")) as server,
        connected(Access(server=server.url, authorities=pem(authority))) as transport,
    ):
        with pytest.raises(Unreachable, match="127.0.0.1"):
            await asking(transport)


@BOTH
async def test_the_name_in_the_certificate_can_be_given(asking, authority: trustme.CA) -> None:
    tls = server_tls(authority, "kubernetes.example")
    seen: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: seen.append(name)
    async with serving(say_ok, tls) as server:
        access = Access(server=server.url, authorities=pem(authority), server_name="kubernetes.example")
        async with connected(access) as transport:
            assert await asking(transport) == OK
    assert seen == ["kubernetes.example"]


@BOTH
async def test_verification_can_be_left_out(asking, authority: trustme.CA) -> None:
    async with (
        serving(say_ok, server_tls(authority, "kubernetes.example")) as server,
        connected(Access(server=server.url, verify=False)) as transport,
    ):
        assert await asking(transport) == OK


@BOTH
async def test_a_certificate_of_ones_own_is_shown(asking, authority: trustme.CA) -> None:
    shown: list[object] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        shown.append(request.transport.get_extra_info("peercert"))
        return await say_ok(request)

    user = identity(authority.issue_cert("scheduler@example.org"))
    async with (
        serving(answer, server_tls(authority, clients=authority)) as server,
        connected(Access(server=server.url, authorities=pem(authority), user=user)) as transport,
    ):
        assert await asking(transport) == OK
    assert shown[0]["subjectAltName"] == (("email", "scheduler@example.org"),)  # type: ignore[index]


@BOTH
async def test_a_server_that_wants_a_certificate_turns_others_away(asking, authority: trustme.CA) -> None:
    async with (
        serving(say_ok, server_tls(authority, clients=authority)) as server,
        connected(Access(server=server.url, authorities=pem(authority))) as transport,
    ):
        with pytest.raises(Unreachable):
            await asking(transport)
    assert server.received == []


async def test_words_around_an_authority_do_no_harm(authority: trustme.CA) -> None:
    async with serving(say_ok, server_tls(authority)) as server:
        access = Access(server=server.url, authorities="größer\n".encode() + pem(authority))
        async with connected(access) as transport:
            assert await ask(transport) == OK


@pytest.mark.parametrize("authorities", [b"nonsense", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAA"])
def test_authorities_that_are_none(authorities: bytes) -> None:
    with pytest.raises(ConfigError, match="https://127.0.0.1:1: its certificates cannot be used"):
        Transport(Access(server="https://127.0.0.1:1", authorities=authorities))


def test_a_certificate_of_ones_own_that_is_none() -> None:
    user = User(certificate=Secret(b"nonsense"), key=Secret(b"nonsense"))
    with pytest.raises(ConfigError, match="its certificates cannot be used"):
        Transport(Access(server="https://127.0.0.1:1", user=user))


@pytest.mark.parametrize("token", [b"one\r\nImpersonate-User: root", "gr\u00fc\u00df".encode()])
def test_a_token_that_cannot_be_sent(token: bytes) -> None:
    with pytest.raises(
        ConfigError, match="what is to be sent as Authorization cannot stand in a header"
    ) as caught:
        Transport(Access(server="http://127.0.0.1:1", user=User(token=Secret(token))))
    assert "root" not in str(caught.value)


# Credentials that change


class Ticks:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@BOTH
async def test_a_token_file_is_read_again(asking, tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Ticks()
    file.write_text("one\n")
    credentials = FixedCredentials(User(token=Secret(b"", str(file))), period=10.0, clock=clock)
    async with (
        serving(say_ok) as server,
        connected(Access(server=server.url), credentials) as transport,
    ):
        await asking(transport)
        replace(file, "two")
        await asking(transport)
        clock.now = 10.0
        await asking(transport)
        file.unlink()
        clock.now = 20.0
        await asking(transport)
    assert server.authorizations == ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]


def replace(file: Path, text: str) -> None:
    """As the kubelet does: another file under the same name."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)


@BOTH
async def test_a_rejected_token_is_read_again_at_once(asking, tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.headers["Authorization"] != "Bearer two":
            return web.Response(status=401)
        return await say_ok(request)

    file = tmp_path / "token"
    file.write_text("one")
    credentials = FixedCredentials(User(token=Secret(b"", str(file))), clock=Ticks())
    async with (
        serving(answer) as server,
        connected(Access(server=server.url), credentials) as transport,
    ):
        replace(file, "two")
        assert await asking(transport, method="POST", body=b"{}") == OK
    assert server.authorizations == ["Bearer one", "Bearer two"]
    assert [each.body for each in server.received] == [b"{}", b"{}"]


@BOTH
async def test_a_401_is_passed_on_when_there_is_no_other_credential(asking) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=401, body=b"no")

    user = User(token=Secret(b"one"))
    async with serving(answer) as server, connected(Access(server=server.url, user=user)) as transport:
        assert await asking(transport) == (401, b"no")
    assert len(server.received) == 1


@BOTH
async def test_a_new_certificate_makes_new_connections(asking, authority: trustme.CA, tmp_path: Path) -> None:
    shown: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        shown.append(request.transport.get_extra_info("peercert")["subjectAltName"][0][1])
        return await say_ok(request)

    certificate, key, clock = tmp_path / "tls.crt", tmp_path / "tls.key", Ticks()

    def issue(name: str) -> trustme.LeafCert:
        return authority.issue_cert(name)

    def put(issued: trustme.LeafCert) -> None:
        replace(certificate, b"".join(part.bytes() for part in issued.cert_chain_pems).decode())
        replace(key, issued.private_key_pem.bytes().decode())

    put(issue("one@example.org"))
    user = User(certificate=Secret(b"", str(certificate)), key=Secret(b"", str(key)))
    credentials = FixedCredentials(user, period=10.0, clock=clock)
    async with serving(answer, server_tls(authority, clients=authority)) as server:
        access = Access(server=server.url, authorities=pem(authority))
        async with connected(access, credentials) as transport:
            await asking(transport)
            two = issue("two@example.org")
            replace(certificate, b"".join(part.bytes() for part in two.cert_chain_pems).decode())
            clock.now = 10.0
            await asking(transport)  # its key is still the old one, so it does not count yet
            put(two)
            clock.now = 20.0
            await asking(transport)
    assert shown == ["one@example.org", "one@example.org", "two@example.org"]


async def test_a_watch_goes_on_when_the_certificate_changes(authority: trustme.CA, tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path != "/watch":
            return await say_ok(request)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"1\n")
        await go_on.wait()
        await response.write(b"2\n")
        return response

    certificate, key, clock = tmp_path / "tls.crt", tmp_path / "tls.key", Ticks()
    for name in ("one", "two"):
        issued = authority.issue_cert(f"{name}@example.org")
        if name == "one":
            certificate.write_bytes(issued.cert_chain_pems[0].bytes())
            key.write_bytes(issued.private_key_pem.bytes())
    credentials = FixedCredentials(
        User(certificate=Secret(b"", str(certificate)), key=Secret(b"", str(key))), period=1.0, clock=clock
    )
    async with serving(answer, server_tls(authority, clients=authority)) as server:
        access = Access(server=server.url, authorities=pem(authority))
        async with connected(access, credentials) as transport:
            async with transport.follow(Request("GET", "/watch", timeout=None)) as watch:
                bursts = watch.bursts()
                assert await anext(bursts) == [b"1"]
                replace(certificate, issued.cert_chain_pems[0].bytes().decode())
                replace(key, issued.private_key_pem.bytes().decode())
                clock.now = 5.0
                assert await ask(transport) == OK
                go_on.set()
                assert [lines async for lines in bursts] == [[b"2"]]
            assert await ask(transport) == OK


def test_a_server_that_is_not_verified_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    for verify, server in (
        (True, "https://a"),
        (False, "http://b"),
        (False, "https://c"),
        (False, "https://c"),
    ):
        Transport(Access(server=server, verify=verify))
    assert [record.getMessage() for record in caplog.records] == [
        "insecure-skip-tls-verify is set: whoever answers at https://c is believed to be the API server, "
        "and is shown this scheduler's credentials"
    ]
