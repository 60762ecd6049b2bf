"""Who asks, as it is shown with each request: what never changes, what is in files, what a command gives."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from mooring.kube.access.access import Secret, User

FILE_PERIOD = 10.0  # seconds between two looks at files


class Credential(msgspec.Struct, frozen=True):
    """An Authorization header and a client certificate, each possibly empty. Not shown when printed."""

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""

    def has_certificate_of(self, other: Credential) -> bool:
        return self.certificate == other.certificate and self.key == other.key

    def __repr__(self) -> str:
        return "Credential(...)"


class Credentials(Protocol):
    """Where credentials come from."""

    def current(self) -> Credential | None:
        """What to show now, at no cost; None when it has to be renewed first."""

    async def renew(self, rejected: Credential | None = None) -> Credential:
        """A fresh one, because the old is over or the server rejects it. The same: there is no other."""


class FixedCredentials:
    """What a kubeconfig holds itself, and what is in files, which are read again when they change."""

    def __init__(
        self, user: User, *, period: float = FILE_PERIOD, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._username = user.username
        self._password = user.password
        self._secrets = (_Kept(user.token), _Kept(user.certificate), _Kept(user.key))
        self._has_files = any(kept.secret.file for kept in self._secrets)
        self._period = period
        self._clock = clock
        self._next_look = clock() + period
        self._credential = self._read()

    def current(self) -> Credential:
        if self._has_files and self._clock() >= self._next_look:
            self._credential = self._read()
        return self._credential

    async def renew(self, rejected: Credential | None = None) -> Credential:
        if self._has_files:
            self._credential = self._read()
        return self._credential

    def _read(self) -> Credential:
        self._next_look = self._clock() + self._period
        token, certificate, key = (kept.read() for kept in self._secrets)
        return Credential(self._authorization(token.decode("latin-1").strip()), certificate, key)

    def _authorization(self, token: str) -> str:
        if token:
            return bearer(token)
        if self._username or self._password:
            pair = self._username.encode() + b":" + self._password.data
            return "Basic " + base64.b64encode(pair).decode()
        return ""


class _Kept:
    """A secret as last read. What can no longer be read stays as it was."""

    def __init__(self, secret: Secret) -> None:
        self.secret = secret
        self._data = secret.data
        self._seen: tuple[int, int] | None = None

    def read(self) -> bytes:
        if not self.secret.file:
            return self._data
        path = Path(self.secret.file)
        try:
            stat = path.stat()
            seen = (stat.st_mtime_ns, stat.st_ino)
            if seen != self._seen:
                self._data = path.read_bytes() or self._data
                self._seen = seen
        except OSError:
            pass  # it is being replaced, or the old one has to do
        return self._data


def bearer(token: str) -> str:
    return f"Bearer {token}"
