"""Versions, cipher suites and certificates by name, on a real server."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from mooring.errors import ConfigError
from mooring.web.ciphers import OF_TLS_13, SUITES, restrict
from mooring.web.tls import Pair
from web.test_serving import server, written

ECDSA = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


def client(**settings: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for name, value in settings.items():
        setattr(context, name, value)
    return context


async def shaken(port: int, context: ssl.SSLContext, name: str = "x") -> ssl.SSLObject:
    """The connection after its handshake; ssl.SSLError or ConnectionError without one."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    writer.close()
    found: ssl.SSLObject = writer.get_extra_info("ssl_object")
    return found


async def test_a_least_version() -> None:
    made = server(least_version=ssl.TLSVersion.TLSv1_3)
    await made.start()
    assert (await shaken(made.port, client())).version() == "TLSv1.3"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await shaken(made.port, client(maximum_version=ssl.TLSVersion.TLSv1_2))
    await made.stop()


async def test_cipher_suites_by_go_s_names() -> None:
    made = server(cipher_suites=(ECDSA,))
    await made.start()
    older = client(maximum_version=ssl.TLSVersion.TLSv1_2)
    assert ((await shaken(made.port, older)).cipher() or ("",))[0] == SUITES[ECDSA]
    assert (await shaken(made.port, client())).version() == "TLSv1.3"  # those are always on
    older.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await shaken(made.port, older)
    await made.stop()


async def test_suites_of_the_newest_version_alone() -> None:
    made = server(cipher_suites=OF_TLS_13)
    await made.start()
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await shaken(made.port, client(maximum_version=ssl.TLSVersion.TLSv1_2))
    await made.stop()


def test_every_suite_that_is_safe_is_one_of_openssl_s() -> None:
    for name in SUITES:
        if "RC4" not in name and "3DES" not in name:
            restrict(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.TLSVersion.TLSv1_2, (name,))


async def test_suites_nobody_speaks_any_more() -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        await server(cipher_suites=("TLS_RSA_WITH_RC4_128_SHA",)).start()


async def test_a_certificate_for_a_name(tmp_path: Path) -> None:
    ca = trustme.CA()
    pairs = []
    for folder, names in (("a", ("*.a.example",)), ("b", ())):
        (tmp_path / folder).mkdir()
        pair = written(ca.issue_cert(f"{folder}.example"), tmp_path / folder)
        pairs.append(Pair(*pair, names))
    made = server(by_name=tuple(pairs))
    await made.start()
    asked = {"www.a.example": "a.example", "B.EXAMPLE": "b.example", "c.example": None}
    for name, shown in asked.items():
        der = (await shaken(made.port, client(), name)).getpeercert(True)
        assert der is not None
        is_ours = any(
            ssl.PEM_cert_to_DER_cert((tmp_path / folder / "tls.crt").read_text()) == der
            for folder in ("a", "b")
            if shown == f"{folder}.example"
        )
        assert is_ours is (shown is not None)
    await made.stop()
