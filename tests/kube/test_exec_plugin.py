"""Credentials that a command gives: when it is run, what it is told, and what becomes of its answer."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from kube.serving import ask, connected, pem, say_ok, server_tls, serving
from mooring.errors import Unreachable
from mooring.kube.access.access import Access, ExecPlugin, Secret, User
from mooring.kube.access.credentials import Credential
from mooring.kube.access.exec_plugin import ExecCredentials
from mooring.kube.http.transport import credentials_of

V1 = "client.authentication.k8s.io/v1"
START = 1_700_000_000.0

# Notes that it ran and what it was told, then does what the file `does` says.
COMMAND = """\
import json, os, pathlib, sys
here = pathlib.Path(sys.argv[1])
runs = here / "runs"
count = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(count))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
told = {"args": sys.argv[2:], "info": info, "own": os.environ.get("OWN")}
(here / "told").write_text(json.dumps(told))
exec((here / "does").read_text())
"""
ANSWERS = """\
status = %r
print(json.dumps({"kind": "ExecCredential", "apiVersion": %r, "status": status}).replace("COUNT", str(count)))
"""


class Now:
    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> float:
        return self.time


class Command:
    """A small Python script as the command of a kubeconfig."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = Now()
        (folder / "plugin.py").write_text(COMMAND)
        self.answers({"token": "t-COUNT"})

    def answers(self, status: Any, version: str = V1) -> None:
        self.does(ANSWERS % (status, version))

    def does(self, code: str) -> None:
        (self.folder / "does").write_text(code)

    def plugin(self, **more: Any) -> ExecPlugin:
        args = (str(self.folder / "plugin.py"), str(self.folder), *more.pop("args", ()))
        told: dict[str, Any] = {
            "command": sys.executable,
            "api_version": V1,
            "interactive_mode": "Never",
            **more,
        }
        return ExecPlugin(args=args, **told)

    def credentials(self, *, plugin: ExecPlugin | None = None, **more: Any) -> ExecCredentials:
        return ExecCredentials(plugin or self.plugin(), now=self.now, has_terminal=lambda: False, **more)

    @property
    def runs(self) -> int:
        path = self.folder / "runs"
        return int(path.read_text()) if path.exists() else 0

    @property
    def told(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "told").read_text()))


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def at(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"2023-11-14T22:{13 + minutes:02}:{20 + rest:02}Z"  # START is 22:13:20


async def test_a_token_is_kept(command: Command) -> None:
    credentials = command.credentials()
    assert credentials.current() is None
    assert await credentials.renew() == Credential("Bearer t-1")
    assert credentials.current() == Credential("Bearer t-1")
    assert await credentials.renew() == Credential("Bearer t-1")
    assert command.runs == 1


async def test_what_the_command_is_told(command: Command) -> None:
    plugin = command.plugin(args=("--a", "b"), env=(("OWN", "x"),))
    await command.credentials(plugin=plugin).renew()
    info = {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert command.told == {"args": ["--a", "b"], "own": "x", "info": info}


async def test_what_the_command_is_told_about_the_cluster(command: Command) -> None:
    plugin = command.plugin(cluster={"server": "https://x", "config": {"a": 1}})
    await command.credentials(plugin=plugin).renew()
    assert command.told["info"]["spec"] == {
        "interactive": False,
        "cluster": {"server": "https://x", "config": {"a": 1}},
    }


async def test_one_run_serves_all_who_wait(command: Command) -> None:
    credentials = command.credentials()
    got = await asyncio.gather(*(credentials.renew() for _ in range(10)))
    assert set(map(repr, got)) == {"Credential(...)"}
    assert {each.authorization for each in got} == {"Bearer t-1"}
    assert command.runs == 1


async def test_renewed_shortly_before_it_expires(command: Command) -> None:
    command.answers({"token": "t-COUNT", "expirationTimestamp": at(600)})
    credentials = command.credentials()
    await credentials.renew()
    command.now.time = START + 569
    assert credentials.current() == Credential("Bearer t-1")
    command.now.time = START + 570
    assert credentials.current() is None
    command.answers({"token": "t-COUNT", "expirationTimestamp": at(1200)})
    assert await credentials.renew() == Credential("Bearer t-2")


async def test_a_short_life_is_used_nearly_to_its_end(command: Command) -> None:
    command.answers({"token": "t-COUNT", "expirationTimestamp": at(10)})
    credentials = command.credentials()
    await credentials.renew()
    command.now.time = START + 8.9
    assert credentials.current() is not None
    command.now.time = START + 9.1
    assert credentials.current() is None


async def test_what_is_over_by_our_clock_is_shown_all_the_same(command: Command) -> None:
    """Clocks differ, and running the command for each request would not set them right."""
    command.answers({"token": "t-COUNT", "expirationTimestamp": at(0)})
    credentials = command.credentials()
    command.now.time = START + 3600
    for _ in range(3):
        assert credentials.current() is None
        assert await credentials.renew() == Credential("Bearer t-1")
    command.now.time += 10
    assert await credentials.renew() == Credential("Bearer t-2")


async def test_rejected_credentials_are_renewed_but_not_in_a_hurry(command: Command) -> None:
    credentials = command.credentials()
    first = await credentials.renew()
    command.now.time += 60
    second = await credentials.renew(first)
    assert second == Credential("Bearer t-2")
    assert await credentials.renew(first) == second  # somebody else has seen to it
    assert await credentials.renew(second) == second  # just renewed: another run would not help
    command.now.time += 10
    assert await credentials.renew(second) == Credential("Bearer t-3")


async def test_a_certificate_and_what_the_kubeconfig_has_besides(command: Command) -> None:
    command.answers({"clientCertificateData": "cert", "clientKeyData": "key", "token": "no"})
    base = Credential("Bearer own", b"c", b"k")
    assert await command.credentials(base=base).renew() == Credential("Bearer own", b"cert", b"key")
    command.answers({"token": "t"})
    got = await command.credentials(base=Credential("", b"c", b"k")).renew()
    assert got == Credential("Bearer t", b"c", b"k")


# Failures


async def failure(command: Command, **more: Any) -> str:
    with pytest.raises(Unreachable) as caught:
        await command.credentials(**more).renew()
    assert not caught.value.sent
    return str(caught.value).removeprefix(f"getting credentials: {sys.executable}: ")


@pytest.mark.parametrize(
    ("does", "what"),
    [
        ("sys.exit('not logged in')", "it failed with exit code 1: not logged in"),
        ("sys.exit(3)", "it failed with exit code 3"),
        ("print('hello')", "its answer cannot be read: "),
        (ANSWERS % ({}, V1), "it answers neither a token nor a certificate with its key"),
        (f"print(json.dumps({{'apiVersion': '{V1}'}}))", "it answers neither a token nor a certificate"),
        (
            ANSWERS % ({"clientCertificateData": "c"}, V1),
            "it answers a certificate or a key without the other",
        ),
        (
            ANSWERS % ({"token": "t", "clientKeyData": "c"}, V1),
            "it answers a certificate or a key without the other",
        ),
        (ANSWERS % ({"token": "t"}, "v9"), f'it answers in apiVersion "v9", not in "{V1}"'),
        (ANSWERS % ({"token": "t", "expirationTimestamp": "soon"}, V1), "its answer cannot be read: "),
    ],
)
async def test_an_answer_that_is_of_no_use(command: Command, does: str, what: str) -> None:
    command.does(does)
    assert (await failure(command)).startswith(what)


async def test_a_command_that_is_not_there(command: Command) -> None:
    plugin = ExecPlugin(command="no-such-plugin", api_version=V1, install_hint="Install it from there.")
    with pytest.raises(Unreachable) as caught:
        await command.credentials(plugin=plugin).renew()
    assert str(caught.value) == (
        "getting credentials: no-such-plugin: executable no-such-plugin not found\n\nInstall it from there."
    )


async def test_a_file_that_is_no_command(command: Command, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("x")
    plugin = ExecPlugin(command=str(tmp_path / "text"), api_version=V1)
    with pytest.raises(Unreachable, match="Permission denied"):
        await command.credentials(plugin=plugin).renew()


async def test_a_command_that_never_ends(command: Command) -> None:
    command.does("import time; time.sleep(3600)")
    assert await failure(command, deadline=0.05) == "it takes longer than 0.05 s"


async def test_a_failure_is_not_repeated_at_once(command: Command) -> None:
    command.does("sys.exit('down')")
    credentials = command.credentials()
    for _ in range(3):
        with pytest.raises(Unreachable, match="down"):
            await credentials.renew()
    assert command.runs == 1
    command.answers({"token": "t-COUNT"})
    command.now.time += 10
    assert await credentials.renew() == Credential("Bearer t-2")


async def test_whoever_needs_a_terminal_has_none(command: Command) -> None:
    plugin = command.plugin(interactive_mode="Always")
    assert await failure(command, plugin=plugin) == (
        "a terminal is needed (interactiveMode Always), and there is none"
    )
    assert command.runs == 0


async def test_a_terminal_is_handed_on_where_it_may(command: Command) -> None:
    for mode, interactive in (("IfAvailable", True), ("Always", True), ("Never", False)):
        plugin = command.plugin(interactive_mode=mode)
        await ExecCredentials(plugin, has_terminal=lambda: True).renew()
        assert command.told["info"]["spec"] == {"interactive": interactive}


# Through the transport


async def test_requests_wait_for_the_command_and_a_401_runs_it_again(command: Command) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.headers["Authorization"] == "Bearer t-1":
            return web.Response(status=401)
        return await say_ok(request)

    credentials = command.credentials()
    async with serving(answer) as server, connected(Access(server=server.url), credentials) as transport:
        command.now.time += 60
        await credentials.renew()
        command.now.time += 60
        assert (await ask(transport))[0] == 200
        assert (await ask(transport))[0] == 200
    assert server.authorizations == ["Bearer t-1", "Bearer t-2", "Bearer t-2"]


async def test_a_401_stays_one_when_the_command_fails(command: Command) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=401, body=b"who?")

    credentials = command.credentials()
    await credentials.renew()
    command.does("sys.exit(1)")
    command.now.time += 60
    async with serving(answer) as server, connected(Access(server=server.url), credentials) as transport:
        assert await ask(transport) == (401, b"who?")


async def test_a_command_that_fails_is_no_answer(command: Command) -> None:
    command.does("sys.exit('not logged in')")
    async with serving(say_ok) as server:
        access = Access(server=server.url, user=User(exec=command.plugin()))
        async with connected(access) as transport:
            with pytest.raises(Unreachable, match="not logged in"):
                await ask(transport)
    assert server.received == []


async def test_a_certificate_from_a_command_is_shown(command: Command) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("scheduler@example.org")
    command.answers(
        {
            "clientCertificateData": issued.cert_chain_pems[0].bytes().decode(),
            "clientKeyData": issued.private_key_pem.bytes().decode(),
        }
    )
    async with serving(say_ok, server_tls(authority, clients=authority)) as server:
        user = User(exec=command.plugin())
        async with connected(Access(server=server.url, authorities=pem(authority), user=user)) as transport:
            assert (await ask(transport))[0] == 200


async def test_a_certificate_from_a_command_that_is_none(command: Command, unused_tcp_port: int) -> None:
    command.answers({"clientCertificateData": "nonsense", "clientKeyData": "nonsense"})
    access = Access(server=f"https://127.0.0.1:{unused_tcp_port}", user=User(exec=command.plugin()))
    async with connected(access) as transport:
        with pytest.raises(Unreachable, match="its certificates cannot be used"):
            await ask(transport)


def test_a_token_in_the_kubeconfig_goes_before_the_command(command: Command) -> None:
    user = User(token=Secret(b"own"), exec=command.plugin())
    credentials = credentials_of(user)
    assert asyncio.run(credentials.renew()).authorization == "Bearer own"
