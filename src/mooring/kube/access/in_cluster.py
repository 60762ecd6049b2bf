"""The API server as a pod of the cluster finds it: by its environment and its service account."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mooring.errors import ConfigError
from mooring.kube.access.access import Access, Secret, User

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
NOT_INSIDE = "this is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set."


def is_in_cluster(env: Mapping[str, str] = os.environ) -> bool:
    return bool(env.get("KUBERNETES_SERVICE_HOST") and env.get("KUBERNETES_SERVICE_PORT"))


def in_cluster(env: Mapping[str, str] = os.environ, account: Path = ACCOUNT) -> Access:
    """The access a service account gives. Its token is read again as it changes."""
    if not is_in_cluster(env):
        raise ConfigError.at("", NOT_INSIDE)
    host, port = env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        authorities=_read(account / "ca.crt"),
        namespace=_namespace(account),
        user=User(token=Secret(_read(account / "token"), str(account / "token"))),
    )


def _namespace(account: Path) -> str:
    try:
        return (account / "namespace").read_text(encoding="utf-8").strip() or "default"
    except OSError:
        return "default"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError.at(str(path), f"it cannot be read: {error.strerror or error}.") from error
