"""Client certificates and front proxies: who is believed to be whom, on a real server."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import ClientSession

from mooring.errors import ConfigError, Forbidden
from mooring.kube.resources import CONFIG_MAPS
from mooring.web.access import Answer, Credentials, Verdict
from mooring.web.identities import issued_by
from mooring.web.lookup import PLACE, Lookup, published
from mooring.web.server import Serving
from web.shown import get
from web.test_serving import running, server, unverified

PROXIED = {
    "X-Remote-User": "jane",
    "X-Remote-Uid": "7",
    "X-Remote-Group": "ops",
    "X-Remote-Extra-Scopes%2fa": "view",
}
JANE = Credentials(user="jane", uid="7", groups=("ops",), extra=(("scopes/a", ("view",)),))


def pem(ca: trustme.CA) -> str:
    return ca.cert_pem.bytes().decode()


def config_map(clients: trustme.CA, proxies: trustme.CA, **more: str) -> dict[str, str]:
    return {
        "client-ca-file": pem(clients),
        "requestheader-client-ca-file": pem(proxies),
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    } | more


class Cluster:
    """An API server with that ConfigMap."""

    def __init__(self, data: dict[str, str] | None) -> None:
        self.data = data

    async def get(self, resource: Any, key: str) -> bytes:
        assert (resource, key) == (CONFIG_MAPS, PLACE)
        if self.data is None:
            raise Forbidden(403, "no")
        return json.dumps({"data": self.data}).encode()


class Seen(list[Credentials]):
    async def __call__(self, who: Credentials, verb: str, path: str) -> Verdict:
        self.append(who)
        return Verdict(Answer.ALLOWED)


def showing(ca: trustme.CA, name: str, group: str = "") -> ssl.SSLContext:
    context = unverified()
    words = {"organization_name": group} if group else {}
    ca.issue_cert("client.invalid", common_name=name or None, **words).configure_cert(context)
    return context


@asynccontextmanager
async def looked_up(seen: Seen, cluster: Cluster) -> AsyncIterator[ClientSession]:
    lookup = Lookup(cluster, tolerate=False)
    serving: Serving = server(seen, lookup=lookup)
    async with running(serving, unverified()) as session:
        yield session


async def test_what_the_cluster_trusts_is_trusted() -> None:
    clients, proxies = trustme.CA(), trustme.CA()
    seen = Seen()
    async with looked_up(seen, Cluster(config_map(clients, proxies))) as session:
        admin = showing(clients, "admin", "system:masters")
        assert (await get(session, "/metrics", ssl=admin))[0] == 200
        await get(session, "/metrics", ssl=showing(proxies, "front-proxy-client"), headers=PROXIED)
        await get(session, "/metrics", ssl=admin, headers=PROXIED)  # who is no proxy speaks for itself
        await get(session, "/metrics", headers=PROXIED)  # and who shows nothing is nobody
        await get(session, "/metrics", ssl=showing(proxies, "someone-else"), headers=PROXIED)
        await get(session, "/metrics", ssl=showing(proxies, "front-proxy-client"))  # speaks for nobody
        await get(
            session, "/metrics", ssl=showing(clients, ""), headers={"Authorization": "Bearer t"}
        )  # no name: the token counts
    assert seen == [
        Credentials(user="admin", groups=("system:masters",)),
        JANE,
        Credentials(user="admin", groups=("system:masters",)),
        Credentials(),
        Credentials(),
        Credentials(),
        Credentials(token="t"),
    ]


async def test_authorities_that_change_while_it_runs() -> None:
    old, new, proxies = trustme.CA(), trustme.CA(), trustme.CA()
    cluster, seen = Cluster(config_map(old, proxies)), Seen()
    again = asyncio.Event()
    looked = asyncio.Event()

    async def sleep(seconds: float) -> None:
        looked.set()
        await again.wait()
        again.clear()

    lookup = Lookup(cluster, sleep=sleep)
    async with running(server(seen, lookup=lookup), unverified()) as session:
        await looked.wait()
        await get(session, "/metrics", ssl=showing(old, "jane"))
        cluster.data = config_map(new, proxies)
        looked.clear()
        again.set()
        await looked.wait()
        await get(session, "/metrics", ssl=showing(new, "joe"))
        cluster.data = None  # what was read last holds
        looked.clear()
        again.set()
        await looked.wait()
        await get(session, "/metrics", ssl=showing(new, "joe"))
    assert [each.user for each in seen] == ["jane", "joe", "joe"]


async def test_a_lookup_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    half = config_map(trustme.CA(), trustme.CA(), **{"requestheader-allowed-names": "{"})
    for data in (None, {"client-ca-file": "no"}, {"requestheader-client-ca-file": "no"}, half):
        with pytest.raises(ConfigError, match="extension-apiserver-authentication cannot be read"):
            await server(lookup=Lookup(Cluster(data), tolerate=False)).start()
    turns = 0
    ended = asyncio.Event()

    async def sleep(seconds: float) -> None:
        nonlocal turns
        turns += 1
        if turns == 3:
            ended.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(Lookup(Cluster(None), sleep=sleep).run())
    await ended.wait()
    task.cancel()
    (line,) = caplog.records  # once, not every minute
    assert "client certificates are not accepted" in line.getMessage()


async def test_files_go_before_the_cluster(tmp_path: Path) -> None:
    mine, proxies, others = trustme.CA(), trustme.CA(), trustme.CA()
    mine.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    lookup = Lookup(Cluster(config_map(others, proxies)), client_ca=tmp_path / "ca.crt", tolerate=False)
    await lookup.first()
    assert lookup.authorities.clients == mine.cert_pem.bytes()
    assert lookup.authorities.proxy.authorities == proxies.cert_pem.bytes()
    for text in ("", "no certificate"):
        (tmp_path / "ca.crt").write_text(text)
        with pytest.raises(ConfigError, match="the authority of clients cannot be read"):
            Lookup(None, client_ca=tmp_path / "ca.crt")


def test_an_empty_config_map_trusts_nobody() -> None:
    assert published({}).all() == b""
    nulls = config_map(trustme.CA(), trustme.CA(), **{"requestheader-username-headers": "null"})
    assert published(nulls).proxy.username_headers == ()


def test_a_name_is_not_a_signature() -> None:
    """Two authorities of the same name: it is the key that counts."""
    one = trustme.CA(organization_name="x", organization_unit_name="y")
    other = trustme.CA(organization_name="x", organization_unit_name="y")
    der = ssl.PEM_cert_to_DER_cert(one.issue_cert("a").cert_chain_pems[0].bytes().decode())
    both = other.cert_pem.bytes() + one.cert_pem.bytes()
    assert issued_by(der, one.cert_pem.bytes())
    assert issued_by(der, both)
    assert not issued_by(der, other.cert_pem.bytes())
    assert not issued_by(der, b"")
