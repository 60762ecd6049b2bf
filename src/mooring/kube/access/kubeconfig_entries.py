"""One cluster and one user of a kubeconfig, checked, with the files they name read or found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from mooring.errors import ConfigError
from mooring.kube.access.access import Access, ExecPlugin, Secret, User
from mooring.kube.access.exec_plugin import API_VERSIONS, MODES, cluster_told
from mooring.kube.access.kubeconfig_file import AuthInfo, Base64, Cluster, KubeconfigFile

CA_AND_INSECURE = "insecure-skip-tls-verify and a certificate authority exclude each other."
NO_KEY = "a client certificate needs client-key or client-key-data."
NO_CERTIFICATE = "a client key needs client-certificate or client-certificate-data."
TWO_WAYS = "a token and a username exclude each other."
NO_PROVIDERS = "auth-provider is not supported. Use exec with the provider's plugin."
NO_USER_TO_BE = "as-uid, as-groups and as-user-extra need as."
EXEC_EXTENSION = "client.authentication.k8s.io/exec"


class Entry(NamedTuple):
    """A cluster, a user or a context: what it says, its name, its file and its path there."""

    value: Any
    name: str
    file: KubeconfigFile
    path: tuple[str | int, ...]

    def place(self, *more: str | int) -> str:
        return self.file.place(*self.path, *more)

    def mistake(self, what: str, *more: str | int) -> ConfigError:
        return ConfigError.at(self.place(*more), what)


def server_url(text: str, place: str, has_tls: bool) -> str:
    """The server's address, with https put before it where TLS is set up, and http elsewhere."""
    if not text:
        raise ConfigError.at(place, "the cluster has no server.")
    url = text if "://" in text else f"{'https' if has_tls else 'http'}://{text}"
    _check_url(url, place, "server")
    return url.rstrip("/")


def proxy_of(cluster: Entry) -> str:
    url: str = cluster.value.proxy_url
    if url:
        _check_url(url, cluster.place("proxy-url"), "proxy-url")
    return url


def authorities_of(cluster: Entry) -> bytes:
    """The certificates of those the server's is trusted from. Data goes before a file."""
    said: Cluster = cluster.value
    if said.insecure_skip_tls_verify and (said.certificate_authority or said.certificate_authority_data):
        raise cluster.mistake(CA_AND_INSECURE, "insecure-skip-tls-verify")
    if said.certificate_authority_data or not said.certificate_authority:
        return bytes(said.certificate_authority_data)
    return _secret(cluster, "certificate-authority", said.certificate_authority, Base64()).data


def user_of(user: Entry, cluster: Entry, access: Access) -> User:
    said: AuthInfo = user.value
    _check_user(user)
    return User(
        token=_token(user),
        username=said.username,
        password=Secret((said.password or "").encode()),
        certificate=_secret(
            user, "client-certificate", said.client_certificate, said.client_certificate_data
        ),
        key=_secret(user, "client-key", said.client_key, said.client_key_data),
        exec=_exec(user, cluster, access),
        impersonation=_impersonation(said),
    )


def _token(user: Entry) -> Secret:
    """A file goes before what is written here, which serves as long as the file cannot be read."""
    said: AuthInfo = user.value
    if said.token:
        return Secret(said.token.encode(), user.file.beside(said.token_file))
    return _secret(user, "tokenFile", said.token_file, b"")


def _check_user(user: Entry) -> None:
    said: AuthInfo = user.value
    has_certificate = said.client_certificate or said.client_certificate_data
    has_key = said.client_key or said.client_key_data
    if said.auth_provider is not None:
        raise user.mistake(NO_PROVIDERS, "auth-provider")
    if said.token and (said.username or said.password):
        raise user.mistake(TWO_WAYS, "token")
    if has_certificate and not has_key:
        raise user.mistake(NO_KEY)
    if has_key and not has_certificate:
        raise user.mistake(NO_CERTIFICATE)
    if (said.as_uid or said.as_groups or said.as_user_extra) and not said.as_:
        raise user.mistake(NO_USER_TO_BE)


def _secret(entry: Entry, field: str, file: str, data: bytes) -> Secret:
    """Data, or a file that can be read now. Data goes before a file."""
    if data or not file:
        return Secret(bytes(data))
    path = entry.file.beside(file)
    try:
        return Secret(Path(path).read_bytes(), path)
    except OSError as error:
        raise entry.mistake(f"{path} cannot be read: {error.strerror or error}.", field) from error


def _exec(user: Entry, cluster: Entry, access: Access) -> ExecPlugin | None:
    said = user.value.exec
    if said is None:
        return None
    if not said.command:
        raise user.mistake("exec needs a command.", "exec")
    if said.api_version not in API_VERSIONS:
        raise user.mistake(f"expected {_either(API_VERSIONS)}.", "exec", "apiVersion")
    mode = said.interactive_mode or ("" if said.api_version == API_VERSIONS[0] else "IfAvailable")
    if mode not in MODES:
        what = f"interactiveMode is to be {_either(MODES)}" + (f', not "{mode}".' if mode else ".")
        raise user.mistake(what, "exec", "interactiveMode")
    config = next((each.extension for each in cluster.value.extensions if each.name == EXEC_EXTENSION), None)
    return ExecPlugin(
        command=user.file.beside(said.command) if "/" in said.command else said.command,
        api_version=said.api_version,
        args=said.args,
        env=tuple((each.name, each.value) for each in said.env),
        install_hint=said.install_hint,
        interactive_mode=mode,
        cluster=cluster_told(access, config) if said.provide_cluster_info else None,
    )


def _impersonation(said: AuthInfo) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", said.as_)] if said.as_ else []
    if said.as_uid:
        headers.append(("Impersonate-Uid", said.as_uid))
    headers += [("Impersonate-Group", group) for group in said.as_groups]
    for key, values in said.as_user_extra.items():
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values]
    return tuple(headers)


def _check_url(url: str, place: str, field: str) -> None:
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0  # reading a port that is none raises
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ConfigError.at(place, f"{field} is not a URL.")
    if parts.scheme not in ("http", "https"):
        raise ConfigError.at(place, f"{field} is to begin with http:// or https://, not {parts.scheme}://.")


def _either(words: Sequence[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"
