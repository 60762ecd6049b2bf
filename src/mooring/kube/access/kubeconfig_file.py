"""The fields of a kubeconfig file, and one file read into them with the places of everything."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any, Self

import msgspec

from mooring.config.bounds import read_bounded
from mooring.config.document import Document, read_documents
from mooring.config.struct_check import convert
from mooring.errors import ConfigError, InputError, Mistake


class Base64(bytes):
    """Bytes that are written in base64, on one line or on several."""

    expected = "base64 text"

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            return cls(base64.b64decode("".join(text.split()), validate=True))
        except (binascii.Error, ValueError):
            raise ValueError("expected base64 text.") from None  # not quoted: it may be a key


class Extension(msgspec.Struct, frozen=True):
    name: str
    extension: Any = None


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: Base64 = Base64()
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[Extension, ...] = ()


class EnvVar(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthInfo(msgspec.Struct, frozen=True, rename="kebab"):
    """Secrets are of any type here, so that no mistake in one quotes it; they are checked by hand."""

    token: Any = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: Base64 = Base64()
    client_key: str = ""
    client_key_data: Base64 = Base64()
    username: str = ""
    password: Any = ""
    exec: Exec | None = None
    auth_provider: Any = None
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}


class Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: AuthInfo = AuthInfo()


class NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class Kubeconfig(msgspec.Struct, frozen=True, rename="kebab"):
    """All of a file that is used; unknown fields are passed over, as kubectl does."""

    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    contexts: tuple[NamedContext, ...] = ()
    current_context: str = ""


class KubeconfigFile(msgspec.Struct, frozen=True):
    """One file: what it says and where."""

    path: Path
    config: Kubeconfig
    document: Document | None  # None: the file is empty

    def place(self, *path: str | int) -> str:
        return self.document.place(path) if self.document else f"{self.path}:1:1"

    def beside(self, name: str) -> str:
        """A path as the file means it: relative to where the file is."""
        return str(self.path.parent / name) if name else ""


def read_kubeconfig(path: Path) -> KubeconfigFile:
    """A file; ConfigError with every mistake in it."""
    try:
        text = read_bounded(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError.at(str(path), f"the kubeconfig cannot be read: {_why(error)}.") from error
    try:
        documents = read_documents(text, str(path))
    except InputError as error:
        raise ConfigError(error.mistakes) from None
    if not documents:
        return KubeconfigFile(path, Kubeconfig(), None)
    if len(documents) > 1:
        raise ConfigError.at(documents[1].place(), "a kubeconfig is one document, and here a second begins.")
    return KubeconfigFile(path, _checked(documents[0]), documents[0])


def _checked(document: Document) -> Kubeconfig:
    kind = document.at(("kind",))
    if kind not in (None, "Config"):
        # Not what is there instead: in a file that is mixed up it may be a secret.
        raise ConfigError.at(document.place(("kind",)), 'expected kind "Config".')
    config, mistakes = convert(document, (), Kubeconfig, ignore_unknown=True)
    mistakes = [*mistakes, *_wrong_secrets(document)]
    if mistakes or config is None:
        raise ConfigError(mistakes)
    return config


def _wrong_secrets(document: Document) -> list[Mistake]:
    users = document.at(("users",))
    return [
        Mistake(document.place(("users", index, "user", field)), "expected a string. Put it in quotes.")
        for index in range(len(users) if isinstance(users, list) else 0)
        for field in ("token", "password")
        if not isinstance(document.at(("users", index, "user", field)) or "", str)
    ]


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
