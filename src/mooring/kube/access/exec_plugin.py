"""Credentials from a command, after the exec plugins of kubectl (`client.authentication.k8s.io`).

The command is run when there are no credentials yet, shortly before they expire, and when the server
rejects them; never twice at once, and not again at once after it has failed.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from mooring.errors import Unreachable
from mooring.kube.access.access import Access, ExecPlugin
from mooring.kube.access.credentials import Credential, bearer

NOTHING = Credential()
API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
MODES = ("Never", "IfAvailable", "Always")
DEADLINE = 60.0  # seconds a command may take
EARLY = 30.0  # seconds before expiry to renew, or a tenth of the lifetime if that is less
CALM = 10.0  # seconds in which a command that failed, or whose answer is rejected, is not run again
MOST_WORDS = 500  # characters kept of what a command complains

NOT_INSTALLED = "executable {command} not found"
NOT_THERE = "a terminal is needed (interactiveMode Always), and there is none"


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


_decode = msgspec.json.Decoder(_ExecCredential).decode
_encode = msgspec.json.Encoder().encode


def cluster_told(access: Access, config: Any) -> dict[str, Any]:
    """What a command with provideClusterInfo is told about the cluster."""
    told = {
        "server": access.server,
        "tls-server-name": access.server_name,
        "insecure-skip-tls-verify": not access.verify,
        "certificate-authority-data": base64.b64encode(access.authorities).decode(),
        "proxy-url": access.proxy,
        "disable-compression": not access.compression,
        "config": config,
    }
    return {key: value for key, value in told.items() if value}


class ExecCredentials:
    """What a command gives, kept as long as it is good. `base` has what the command does not give."""

    def __init__(
        self,
        plugin: ExecPlugin,
        *,
        base: Credential = NOTHING,
        env: Mapping[str, str] = os.environ,
        deadline: float = DEADLINE,
        now: Callable[[], float] = time.time,
        has_terminal: Callable[[], bool] = lambda: sys.stdin is not None and sys.stdin.isatty(),
    ) -> None:
        self._plugin = plugin
        self._base = base
        self._env = env
        self._deadline = deadline
        self._now = now
        self._has_terminal = has_terminal
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._good_until = float("inf")
        self._calm_until = float("-inf")
        self._failure: Unreachable | None = None

    def current(self) -> Credential | None:
        return self._credential if self._now() < self._good_until else None

    async def renew(self, rejected: Credential | None = None) -> Credential:
        async with self._lock:
            kept = self.current()
            if kept is not None and kept != rejected:
                return kept  # somebody else has renewed it meanwhile
            if self._now() >= self._calm_until:
                return await self._run()
            if self._failure is not None:
                raise self._failure
            assert self._credential is not None
            return self._credential  # over by our clock, or rejected: the server has the last word

    async def _run(self) -> Credential:
        self._failure = None
        try:
            answer = await self._output()
            self._credential = self._read(answer)
        except Unreachable as failure:
            self._failure = failure
            raise
        finally:
            self._calm_until = self._now() + CALM
        return self._credential

    async def _output(self) -> bytes:
        """What the command writes; Unreachable when it cannot be run, fails or takes too long."""
        plugin, interactive = self._plugin, self._interactive()
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.args,
                env=self._environment(interactive),
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if interactive else asyncio.subprocess.PIPE,
            )
        except OSError as error:
            missing = NOT_INSTALLED.format(command=plugin.command)
            what = missing if isinstance(error, FileNotFoundError) else str(error)
            hint = f"\n\n{plugin.install_hint}" if plugin.install_hint else ""
            raise self._failed(what + hint) from error
        return await self._finish(process)

    async def _finish(self, process: asyncio.subprocess.Process) -> bytes:
        try:
            out, complaints = await asyncio.wait_for(process.communicate(), self._deadline)
        except TimeoutError:
            raise self._failed(f"it takes longer than {self._deadline:g} s") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            words = (complaints or b"").decode("utf-8", "replace").strip()[-MOST_WORDS:]
            raise self._failed(f"it failed with exit code {process.returncode}" + (words and f": {words}"))
        return out

    def _read(self, answer: bytes) -> Credential:
        try:
            said = _decode(answer)
        except msgspec.DecodeError as error:
            raise self._failed(f"its answer cannot be read: {error}") from None
        if said.api_version != self._plugin.api_version:
            wanted = self._plugin.api_version
            raise self._failed(f'it answers in apiVersion "{said.api_version}", not in "{wanted}"')
        status = said.status or _Status()
        if not status.token and not status.client_certificate_data:
            raise self._failed("it answers neither a token nor a certificate with its key")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("it answers a certificate or a key without the other")
        self._good_until = self._end(status.expiration_timestamp)
        return Credential(
            self._base.authorization or (bearer(status.token) if status.token else ""),
            status.client_certificate_data.encode() or self._base.certificate,
            status.client_key_data.encode() or self._base.key,
        )

    def _end(self, expiry: datetime | None) -> float:
        if expiry is None:
            return float("inf")
        left = expiry.timestamp() - self._now()
        return self._now() + left - min(EARLY, left / 10)

    def _interactive(self) -> bool:
        mode = self._plugin.interactive_mode
        if mode == "Never":
            return False
        if not self._has_terminal():
            if mode == "Always":
                raise self._failed(NOT_THERE)
            return False
        return True

    def _environment(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        told = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        return {**self._env, **dict(self._plugin.env), "KUBERNETES_EXEC_INFO": _encode(told).decode()}

    def _failed(self, what: str) -> Unreachable:
        return Unreachable(0, f"getting credentials: {self._plugin.command}: {what}", sent=False)
