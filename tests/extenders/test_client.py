"""The HTTP client, against real servers on the loopback interface."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import tracemalloc
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import trustme

from engine.stage import pod
from extenders.server import Server, says, serving
from extenders.talk import extender
from mooring.config.durations import Duration
from mooring.config.scheduler import Extender, ExtenderTLS
from mooring.errors import ConfigError
from mooring.extender.client import (
    ROOM,
    ROOM_FOR_A_NODE,
    TIMES_THE_QUESTION,
    ExtenderClient,
    ExtenderError,
)
from mooring.extender.wire import ExtenderArgs, encode

ARGS = encode(ExtenderArgs(pod("p"), node_names=("a",)))


async def ask(asked: Extender, verb: str = "filter") -> Any:
    async with ExtenderClient([asked]) as client:
        return json.loads(await client.ask(0, verb, ARGS))


@pytest.mark.parametrize("slash", ["", "/"])
async def test_posts_json_to_the_verb(slash: str) -> None:
    with serving(says({"NodeNames": ["a"]})) as server:
        found = await ask(extender(url_prefix=f"{server.url}/prefix{slash}"))
    assert found == {"NodeNames": ["a"]}
    ((path, headers, body),) = server.asked
    assert path == "/prefix/filter"
    assert headers["Content-Type"] == "application/json"
    assert (set(body), body["NodeNames"]) == ({"Pod", "Nodes", "NodeNames"}, ["a"])


async def test_a_code_other_than_200() -> None:
    with (
        serving(says({}, 503)) as server,
        pytest.raises(
            ExtenderError, match=rf"^failed filter with extender at URL {server.url}/filter, code 503$"
        ),
    ):
        await ask(extender(url_prefix=server.url))


async def test_nothing_is_bound_for_who_does_not_lead() -> None:
    """Not even by an extender whose failure would not matter: reading goes on."""
    with serving(says({})) as server:
        binds = extender(url_prefix=server.url, bind_verb="bind", ignorable=True)
        async with ExtenderClient([binds], may_bind=lambda: False) as client:
            with pytest.raises(ExtenderError, match="no longer leads"):
                await client.bind(0, pod("p"), "a")
            assert server.asked == []
            await client.ask(0, "filter", ARGS)
    assert len(server.asked) == 1


@pytest.mark.parametrize("pressed", [bytes, gzip.compress], ids=["plain", "gzip"])
async def test_an_answer_is_no_longer_than_it_was_asked_for(pressed: Any) -> None:
    """However few bytes it comes in: what matters is what it is once it is inflated."""
    most = ROOM + 10 * ROOM_FOR_A_NODE + TIMES_THE_QUESTION * len(ARGS)
    answers = [pressed(b" " * most), pressed(b" " * (most + 1)), pressed(b" " * 100_000_000)]
    with serving(lambda path, body: (200, answers.pop(0))) as server:
        async with ExtenderClient([extender(url_prefix=server.url)]) as client:
            assert len(await client.ask(0, "filter", ARGS, nodes=10)) == most
            tracemalloc.start()
            for _ in range(2):
                with pytest.raises(ExtenderError) as failure:
                    await client.ask(0, "filter", ARGS, nodes=10)
                assert str(failure.value).startswith(
                    f"extender at URL {server.url}/filter answers with more than {most} bytes"
                )
            assert tracemalloc.get_traced_memory()[1] < 5 * most
            tracemalloc.stop()


async def test_answers_may_be_compressed() -> None:
    parts = b'{"NodeNames":', b'["a"]}'
    whole = gzip.compress(b"".join(parts))
    with serving(lambda path, body: (200, whole)) as server:
        assert await ask(extender(url_prefix=server.url)) == {"NodeNames": ["a"]}
    assert server.asked[0][1]["Accept-Encoding"] == "gzip"
    with serving(lambda path, body: (200, b"".join(map(gzip.compress, parts)))) as server:
        assert await ask(extender(url_prefix=server.url)) == {"NodeNames": ["a"]}
    for broken in (whole[:-9], whole + b"more", b"{}"):
        with serving(lambda path, body, broken=broken: (200, broken)) as server:
            server.encoding = "gzip"
            with pytest.raises(ExtenderError, match=f'^Post "{server.url}/filter": '):
                await ask(extender(url_prefix=server.url))
    with serving(says({})) as server:
        server.encoding = "br"
        with pytest.raises(ExtenderError, match="encoded as 'br', which was not asked for"):
            await ask(extender(url_prefix=server.url))


async def test_too_late() -> None:
    release = Event()

    def reply(path: str, body: Any) -> tuple[int, bytes]:
        release.wait(60)
        return 200, b"{}"

    with serving(reply) as server:
        slow = extender(url_prefix=server.url, http_timeout=Duration(0.05))
        with pytest.raises(ExtenderError) as failure:
            await ask(slow)
        release.set()
    assert str(failure.value) == (
        f'Post "{server.url}/filter": context deadline exceeded '
        "(Client.Timeout exceeded while awaiting headers)"
    )


async def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ExtenderError) as failure:
            await ask(extender(url_prefix=f"http://{place}"))
    why = f"dial tcp {place}: connect: connection refused"
    assert str(failure.value) == f'Post "http://{place}/filter": {why}'


async def test_an_address_that_is_none() -> None:
    with pytest.raises(ExtenderError, match='^Post "nonsense/filter": '):
        await ask(extender(url_prefix="nonsense"))


# binding


async def bind(server: Server, **fields: Any) -> bool:
    async with ExtenderClient([extender(url_prefix=server.url, bind_verb="bind", **fields)]) as client:
        return await client.bind(0, pod("p", uid="u"), "a")


async def test_bind() -> None:
    with serving(says({"Error": ""})) as server:
        assert await bind(server)
    ((path, _, body),) = server.asked
    assert path == "/bind"
    assert body == {"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "a"}


async def test_a_bind_that_is_refused() -> None:
    with (
        serving(says({"Error": "pod has gone"})) as server,
        pytest.raises(ExtenderError, match=r"^extender http://.*: pod has gone$"),
    ):
        await bind(server)


@pytest.mark.parametrize(("data", "code"), [({"Error": "no"}, 200), ({}, 500)])
async def test_an_ignorable_one_leaves_binding_to_others(data: Any, code: int) -> None:
    with serving(says(data, code)) as server:
        assert not await bind(server, ignorable=True)


# TLS


NAME = "extender.test"


class Certificate:
    """A certificate for the name `extender.test`, its key, and the root that vouches for it."""

    def __init__(self, folder: Path, name: str) -> None:
        authority = trustme.CA()
        issued = authority.issue_cert(NAME)
        self.root, self.cert, self.key = (folder / f"{name}.{kind}" for kind in ("root", "pem", "key"))
        authority.cert_pem.write_to_path(str(self.root))
        self.cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(self.key))

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        return context


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("tls"), "server")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("tls"), "client")


@pytest.mark.parametrize(
    ("way", "trusted"),
    [
        pytest.param("nothing said", False, id="verified by the system"),
        pytest.param("insecure", True, id="insecure"),
        pytest.param("https without roots", True, id="HTTPS without roots is not verified"),
        pytest.param("root file", True, id="root from a file"),
        pytest.param("root data", True, id="root from data"),
        pytest.param("root and no name", False, id="another name than the certificate's"),
        pytest.param("wrong root", False, id="wrong root"),
    ],
)
async def test_tls(way: str, trusted: bool, ours: Certificate, theirs: Certificate) -> None:
    root = str(ours.root)
    fields: dict[str, Any] = {
        "nothing said": {},
        "insecure": {"tls_config": ExtenderTLS(insecure=True)},
        "https without roots": {"enable_https": True},
        "root file": {"tls_config": ExtenderTLS(ca_file=root, server_name=NAME)},
        "root data": {
            "enable_https": True,
            "tls_config": ExtenderTLS(ca_data=ours.root.read_bytes(), server_name=NAME),
        },
        "root and no name": {"tls_config": ExtenderTLS(ca_file=root)},
        "wrong root": {"tls_config": ExtenderTLS(ca_file=str(theirs.root), server_name=NAME)},
    }[way]
    with serving(says({}), ours.context()) as server:
        asked = extender(url_prefix=server.url, **fields)
        if trusted:
            assert await ask(asked) == {}
        else:
            with pytest.raises(ExtenderError, match="certificate verify failed"):
                await ask(asked)


@pytest.mark.parametrize("as_data", [False, True], ids=["files", "data"])
async def test_a_certificate_of_our_own(as_data: bool, ours: Certificate, theirs: Certificate) -> None:
    demanding = ours.context()
    demanding.verify_mode = ssl.CERT_REQUIRED
    demanding.load_verify_locations(theirs.root)
    tls = ExtenderTLS(insecure=True, cert_file=str(theirs.cert), key_file=str(theirs.key))
    if as_data:
        cert, key = theirs.cert.read_bytes(), theirs.key.read_bytes()
        tls = ExtenderTLS(insecure=True, cert_data=cert, key_data=key)
    with serving(says({}), demanding) as server:
        assert await ask(extender(url_prefix=server.url, tls_config=tls)) == {}
        with pytest.raises(ExtenderError):
            await ask(extender(url_prefix=server.url, tls_config=ExtenderTLS(insecure=True)))


@pytest.mark.parametrize(
    ("tls", "what"),
    [
        pytest.param(
            ExtenderTLS(insecure=True, ca_data=b"x"),
            "specifying a root certificates file with the insecure flag is not allowed",
            id="roots and insecure",
        ),
        pytest.param(ExtenderTLS(ca_file="/no/such/file"), "tlsConfig cannot be used: ", id="no such file"),
        pytest.param(ExtenderTLS(ca_data=b"nonsense"), "tlsConfig cannot be used: ", id="no certificate"),
    ],
)
def test_mistakes_are_found_at_once(tls: ExtenderTLS, what: str) -> None:
    with pytest.raises(ConfigError, match=rf"^extenders\[1\]: {what}"):
        ExtenderClient([extender(), extender(tls_config=tls)])
