"""Kubeconfig files: which are read, how they are merged, and the access a context gives.

Several files are merged as kubectl does it: the first that names a cluster, a user, a context or the
current context has the say. Every mistake is a ConfigError with its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mooring.errors import ConfigError, did_you_mean
from mooring.kube.access.access import Access, User
from mooring.kube.access.kubeconfig_entries import Entry, authorities_of, proxy_of, server_url, user_of
from mooring.kube.access.kubeconfig_file import AuthInfo, Cluster, Context, KubeconfigFile, read_kubeconfig

NO_CONTEXT = "no current-context is set, and none is named. Contexts: {known}."


def load_kubeconfig(
    path: str = "", *, context: str = "", master: str = "", env: Mapping[str, str] = os.environ
) -> Access:
    """The access a kubeconfig gives: the file at `path`, or those of $KUBECONFIG, merged.

    `context` goes before the current one, `master` before the server of the cluster.
    """
    files = [read_kubeconfig(file) for file in _files(path, env)]
    chosen = _context(files, context)
    wanted: Context = chosen.value
    cluster = _find(files, "cluster", wanted.cluster, chosen.place("cluster"))
    user = _find(files, "user", wanted.user, chosen.place("user")) if wanted.user else None
    return _access(cluster, user, wanted, master)


def _files(path: str, env: Mapping[str, str]) -> list[Path]:
    if path:
        return [Path(path)]
    listed = [name for name in env.get("KUBECONFIG", "").split(os.pathsep) if name]
    there = [Path(name) for name in listed if Path(name).exists()]  # kubectl passes over the others
    if not there:
        raise ConfigError.at("$KUBECONFIG", f"there is no kubeconfig at {os.pathsep.join(listed) or 'all'}.")
    return there


def _context(files: Sequence[KubeconfigFile], name: str) -> Entry:
    if name:
        return _find(files, "context", name, "--context")
    for file in files:
        if file.config.current_context:
            return _find(files, "context", file.config.current_context, file.place("current-context"))
    known = ", ".join(entry.name for _, _, entry in _entries(files, "context")) or "there are none"
    raise ConfigError.at(files[0].place(), NO_CONTEXT.format(known=known))


def _find(files: Sequence[KubeconfigFile], what: str, name: str, asked_at: str) -> Entry:
    """The first cluster, user or context of a name. `asked_at` is the place that names it."""
    if not name:
        raise ConfigError.at(asked_at, f"the context names no {what}.")
    known = []
    for file, index, entry in _entries(files, what):
        if entry.name == name:
            return Entry(getattr(entry, what), name, file, (f"{what}s", index, what))
        known.append(entry.name)
    raise ConfigError.at(asked_at, f'there is no {what} named "{name}".{did_you_mean(name, known)}')


def _entries(files: Sequence[KubeconfigFile], what: str) -> Iterator[tuple[KubeconfigFile, int, Any]]:
    for file in files:
        for index, entry in enumerate(getattr(file.config, f"{what}s")):
            yield file, index, entry


def _access(cluster: Entry, user: Entry | None, wanted: Context, master: str) -> Access:
    said: Cluster = cluster.value
    where = "--master" if master else cluster.place("server")
    access = Access(
        server=server_url(master or said.server, where, has_tls=_has_tls(cluster, user)),
        authorities=authorities_of(cluster),
        verify=not said.insecure_skip_tls_verify,
        server_name=said.tls_server_name,
        proxy=proxy_of(cluster),
        compression=not said.disable_compression,
        namespace=wanted.namespace or "default",
    )
    return msgspec.structs.replace(access, user=user_of(user, cluster, access) if user else User())


def _has_tls(cluster: Entry, user: Entry | None) -> bool:
    """Whether anything is said that only makes sense with TLS."""
    said: Cluster = cluster.value
    account: AuthInfo = user.value if user else AuthInfo()
    return bool(
        said.certificate_authority
        or said.certificate_authority_data
        or said.insecure_skip_tls_verify
        or account.client_certificate
        or account.client_certificate_data
    )
