"""A real server on the loopback interface, over TLS."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import ClientConnectorError, ClientError, ClientSession, TCPConnector

from engine.stage import BUILT_IN, config
from mooring.errors import ConfigError
from mooring.logs.decisions import DecisionLog
from mooring.web.access import Answer, Credentials, Verdict
from mooring.web.certificates import certificate_lifetime, kept_pair, self_signed
from mooring.web.lookup import Lookup
from mooring.web.server import Serving, ServingSettings, Shown, certificate_names
from mooring.web.tls import LOOK_EVERY_S, TlsSettings
from web.shown import allow, get, metered


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def server(
    authorize: Any = allow, clock: Any = None, port: int | None = None, lookup: Any = None, **tls: Any
) -> Serving:
    stage, meter = metered()
    shown = Shown(
        engine=stage.engine, meter=meter, config=config(BUILT_IN)[0], decisions=DecisionLog(stage.engine)
    )
    chosen = ServingSettings(
        bind_address="127.0.0.1", port=free_port() if port is None else port, tls=TlsSettings(**tls)
    )
    more = {"clock": clock} if clock else {}
    return Serving(chosen, shown, authorize=authorize, lookup=lookup, **more)


@asynccontextmanager
async def running(serving: Serving, trust: ssl.SSLContext) -> AsyncIterator[ClientSession]:
    await serving.start()
    try:
        url = f"https://127.0.0.1:{serving.port}"
        async with ClientSession(url, connector=TCPConnector(ssl=trust, force_close=True)) as session:
            yield session
    finally:
        await serving.stop()


def trusting(pem: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=pem.decode())


def unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def written(pair: trustme.LeafCert, folder: Path) -> tuple[Path, Path]:
    cert, key = folder / "tls.crt", folder / "tls.key"
    cert.write_bytes(pair.cert_chain_pems[0].bytes())
    key.write_bytes(pair.private_key_pem.bytes())
    return cert, key


async def test_a_certificate_of_our_own_stays_in_memory(tmp_path: Path) -> None:
    async with running(server(), unverified()) as session:
        assert await get(session, "/healthz") == (200, "ok")
        assert (await get(session, "/metrics"))[0] == 200
    assert list(tmp_path.iterdir()) == []


async def test_a_certificate_kept_in_a_folder_is_used_again(tmp_path: Path) -> None:
    for _ in range(2):
        serving = server(cert_dir=tmp_path / "certs")
        await serving.start()
        await serving.stop()
        cert = (tmp_path / "certs" / "kube-scheduler.crt").read_bytes()
    key = tmp_path / "certs" / "kube-scheduler.key"
    assert key.stat().st_mode & 0o777 == 0o600
    async with running(server(cert_dir=tmp_path / "certs"), trusting(cert)) as session:
        assert await get(session, "/healthz") == (200, "ok")  # the very certificate, and its names are right


async def test_certificates_from_files_are_renewed_while_it_runs(tmp_path: Path) -> None:
    old, new = trustme.CA(), trustme.CA()
    cert, key = written(old.issue_cert("127.0.0.1"), tmp_path)
    moment = [0.0]
    serving = server(cert_file=cert, key_file=key, clock=lambda: moment[0])
    trusts_old, trusts_new = unverified(), ssl.create_default_context()
    new.configure_trust(trusts_new)
    async with running(serving, trusts_old) as session:
        assert await get(session, "/healthz") == (200, "ok")
        written(new.issue_cert("127.0.0.1"), tmp_path)
        for path in (cert, key):
            os.utime(path, (1e9, 1e9))
        moment[0] += LOOK_EVERY_S
        assert await get(session, "/healthz") == (200, "ok")  # whoever asks has the files looked at
        assert await get(session, "/healthz", ssl=trusts_new) == (200, "ok")


async def test_half_a_pair_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="go together"):
        await server(cert_file=tmp_path / "tls.crt").start()


async def test_files_that_are_no_certificate(tmp_path: Path) -> None:
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    with pytest.raises(ConfigError, match="cannot be used"):
        await server(cert_file=cert, key_file=key).start()
    cert.write_text("no")
    key.write_text("no")
    with pytest.raises(ConfigError, match="cannot be used"):
        await server(cert_file=cert, key_file=key).start()


async def test_clients_may_show_a_certificate(tmp_path: Path) -> None:
    ca, other = trustme.CA(), trustme.CA()
    ca_file = tmp_path / "ca.crt"
    ca.cert_pem.write_to_path(str(ca_file))
    seen: list[Credentials] = []

    async def authorize(who: Credentials, verb: str, path: str) -> Verdict:
        seen.append(who)
        return Verdict(Answer.ALLOWED)

    shows = unverified()
    ca.issue_cert("127.0.0.1", common_name="jane", organization_name="ops").configure_cert(shows)
    async with running(server(authorize, lookup=Lookup(None, client_ca=ca_file)), shows) as session:
        assert (await get(session, "/metrics"))[0] == 200
        assert (await get(session, "/metrics", ssl=unverified()))[0] == 200  # a token will do as well
        stranger = unverified()
        other.issue_cert("127.0.0.1", common_name="eve").configure_cert(stranger)
        with pytest.raises((ClientError, OSError)):
            await get(session, "/metrics", ssl=stranger)
    assert seen == [Credentials(user="jane", groups=("ops",)), Credentials()]


async def test_port_zero_serves_nothing() -> None:
    serving = server(port=0)
    await serving.start()
    await serving.stop()
    assert serving.port == 0


async def test_it_listens_no_more_when_it_is_stopped() -> None:
    serving = server()
    async with running(serving, unverified()) as session:
        await serving.stop()
        with pytest.raises(ClientConnectorError):
            await get(session, "/healthz")


async def test_a_port_that_is_taken() -> None:
    first = server()
    async with running(first, unverified()):
        with pytest.raises(ConfigError, match="cannot listen on port"):
            await server(port=first.port).start()


def test_names_of_a_certificate() -> None:
    assert certificate_names("0.0.0.0")[1:] == ["localhost", "127.0.0.1"]
    assert certificate_names("10.0.0.7")[-1] == "10.0.0.7"


def test_a_kept_certificate_that_runs_out_is_made_anew(tmp_path: Path) -> None:
    cert, _ = kept_pair(tmp_path, ["a"])
    first = cert.read_bytes()
    assert kept_pair(tmp_path, ["a"])[0].read_bytes() == first
    begins, ends = certificate_lifetime(first)
    assert (ends - begins).days == 365
    kept_pair(tmp_path, ["a"], now=ends)
    assert cert.read_bytes() != first


def test_every_certificate_is_another() -> None:
    assert self_signed(["a"]) != self_signed(["a"])
