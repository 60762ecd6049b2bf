"""The headers of requests, made once for each kind of request: making them costs more than sending them."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from urllib.parse import urlsplit

from multidict import CIMultiDict

from mooring.errors import ConfigError
from mooring.kube.access.access import Access
from mooring.kube.access.credentials import Credential

APPLICATION_JSON = "application/json"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def user_agent() -> str:
    """As Kubernetes' own components do it: `mooring/1.2.3 (linux/amd64)`."""
    machine = platform.machine().lower()
    return f"mooring/{version('mooring')} ({sys.platform}/{MACHINES.get(machine, machine)})"


class Headers:
    """What goes before the body of each request to one server by one user."""

    def __init__(self, access: Access, credential: Credential) -> None:
        parts = urlsplit(access.server)
        self.origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.prefix = parts.path.rstrip("/")
        self._host = parts.netloc.rpartition("@")[2]
        self._compresses = access.compression
        self._own = _own(access, credential)
        self._heads: dict[str, bytes] = {}
        self._fields: dict[tuple[str, str, bool], CIMultiDict[str]] = {}

    def head(self, method: str, target: str, content_type: str, body: bytes) -> bytes:
        """A whole request."""
        rest = self._heads.get(content_type) or self._head(content_type)
        return b"%b %b HTTP/1.1\r\n%b%d\r\n\r\n%b" % (
            method.encode("ascii"),
            target.encode("ascii"),
            rest,
            len(body),
            body,
        )

    def fields(self, content_type: str, accept: str, *, compress: bool) -> CIMultiDict[str]:
        """The headers alone."""
        kept = self._fields.get((content_type, accept, compress))
        if kept is None:
            encoding = "gzip" if compress and self._compresses else "identity"
            wanted = [("Accept", accept), ("Accept-Encoding", encoding), ("Content-Type", content_type)]
            kept = self._fields[content_type, accept, compress] = CIMultiDict([*wanted, *self._own])
        return kept

    def _head(self, content_type: str) -> bytes:
        lines = [("Host", self._host), *self.fields(content_type, APPLICATION_JSON, compress=False).items()]
        text = "".join(f"{name}: {value}\r\n" for name, value in lines) + "Content-Length: "
        kept = text.encode("ascii")
        self._heads[content_type] = kept
        return kept


def _own(access: Access, credential: Credential) -> list[tuple[str, str]]:
    """The headers that are the same for every request."""
    own = [("User-Agent", user_agent())]
    if credential.authorization:
        own.append(("Authorization", credential.authorization))
    own += access.user.impersonation
    for name, value in own:
        if not value.isascii() or not value.isprintable():
            raise ConfigError.at(access.server, f"what is to be sent as {name} cannot stand in a header.")
    return own
