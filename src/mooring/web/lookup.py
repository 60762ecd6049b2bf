"""Whose client certificates the cluster trusts: the ConfigMap `extension-apiserver-authentication` says it.

The API server publishes there the authority of users and that of front proxies. It is read again once a
minute; while it cannot be read, what was read last holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import msgspec

from mooring.config.bounds import read_bounded
from mooring.errors import ApiError, ConfigError
from mooring.kube.resources import CONFIG_MAPS, Resource
from mooring.web.identities import Authorities, FrontProxy

log = logging.getLogger("mooring.web")

PLACE = "kube-system/extension-apiserver-authentication"
AGAIN_S = 60.0
ANY_PROXY = FrontProxy()
FAILURES = (ApiError, msgspec.MsgspecError, ValueError)
NOT_THERE = "client certificates are not accepted: configmap %s cannot be read: %s"


class Getter(Protocol):
    """The one call needed of a client of the API server."""

    async def get(self, resource: Resource, key: str) -> bytes: ...


class ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


class Lookup:
    """`authorities` is what holds now: what files say, and what they leave to the cluster."""

    def __init__(
        self,
        getter: Getter | None,
        *,
        client_ca: Path | None = None,
        proxy: FrontProxy = ANY_PROXY,
        proxy_ca: Path | None = None,
        tolerate: bool = True,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._getter = getter if client_ca is None or proxy_ca is None else None
        self._client_ca, self._proxy_ca, self._proxy = client_ca, proxy_ca, proxy
        self._tolerate = tolerate
        self._sleep = sleep
        self._told = ""
        self._published = Authorities()
        self.authorities = Authorities()
        self._read_files(required=True)

    async def first(self) -> None:
        """Reads the cluster's, if failing to is not to be tolerated: ConfigError."""
        if self._getter is not None and not self._tolerate:
            try:
                await self._look()
            except FAILURES as error:
                raise ConfigError.at("", NOT_THERE % (PLACE, error)) from error

    async def run(self) -> None:
        """Keeps it up to date."""
        while True:
            try:
                await self._look()
                self._told = ""
            except FAILURES as error:
                if str(error) != self._told:
                    log.warning(NOT_THERE, PLACE, error)
                self._told = str(error)
            await self._sleep(AGAIN_S)

    async def _look(self) -> None:
        if self._getter is not None:
            answer = await self._getter.get(CONFIG_MAPS, PLACE)
            self._published = published(msgspec.json.decode(answer, type=ConfigMap).data)
        self._read_files(required=False)

    def _read_files(self, *, required: bool) -> None:
        """Files go before what the cluster says. One that is half written is left for the next time."""
        try:
            clients = _pem(self._client_ca) if self._client_ca else self._published.clients
            if self._proxy_ca is not None:
                proxy = msgspec.structs.replace(self._proxy, authorities=_pem(self._proxy_ca))
            else:
                proxy = self._published.proxy
        except (OSError, ValueError) as error:
            if required:
                raise ConfigError.at("", f"the authority of clients cannot be read: {error}") from error
            return
        self.authorities = Authorities(clients=clients, proxy=proxy)


def published(data: dict[str, str]) -> Authorities:
    """What the ConfigMap says; ValueError when it is not understood."""

    def listed(key: str) -> tuple[str, ...]:
        text = data.get(f"requestheader-{key}") or "[]"
        return msgspec.json.decode(text, type=tuple[str, ...] | None) or ()

    proxy = FrontProxy()
    if data.get("requestheader-client-ca-file"):
        proxy = FrontProxy(
            authorities=checked(data["requestheader-client-ca-file"].encode()),
            allowed_names=listed("allowed-names"),
            username_headers=listed("username-headers"),
            uid_headers=listed("uid-headers"),
            group_headers=listed("group-headers"),
            extra_prefixes=listed("extra-headers-prefix"),
        )
    return Authorities(clients=checked(data.get("client-ca-file", "").encode()), proxy=proxy)


def checked(pem: bytes) -> bytes:
    """PEM that holds certificates, or nothing; else ValueError."""
    from cryptography import x509

    if pem.strip():
        x509.load_pem_x509_certificates(pem)
    return pem


def _pem(path: Path) -> bytes:
    pem = checked(read_bounded(path).encode())
    if not pem.strip():
        raise ValueError(f"{path} holds no certificate")
    return pem
