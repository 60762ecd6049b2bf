"""How an API server is reached and who asks: everything that is known before the first request."""

from __future__ import annotations

from typing import Any

import msgspec

ANONYMOUS_SERVER = "http://localhost:8080"


class ExecPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A command that gives credentials when it is run."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"  # or Never, or Always
    cluster: dict[str, Any] | None = None  # what the command is told about the cluster; None: nothing


class Secret(msgspec.Struct, frozen=True):
    """Bytes from a file, which may change there, or as they are. Not shown when printed."""

    data: bytes = b""
    file: str = ""

    def __bool__(self) -> bool:
        return bool(self.data or self.file)

    def __repr__(self) -> str:
        return f"Secret(file={self.file!r})" if self.file else "Secret(...)"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks. A token goes before a password; an exec plugin serves who has neither."""

    token: Secret = Secret()
    username: str = ""
    password: Secret = Secret()
    certificate: Secret = Secret()
    key: Secret = Secret()
    exec: ExecPlugin | None = None
    impersonation: tuple[tuple[str, str], ...] = ()  # headers


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """An API server and a user of it."""

    server: str
    authorities: bytes = b""  # PEM; empty: the system's
    verify: bool = True
    server_name: str = ""  # the name in the server's certificate, when not that of its address
    proxy: str = ""
    compression: bool = True
    namespace: str = "default"
    user: User = User()
