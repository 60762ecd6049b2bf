"""kubeconfig files: one cluster, one user, one context."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from e2e.certificates import Pair, write_secret


@dataclass(frozen=True)
class Server:
    """Where a cluster is and whom to trust there."""

    url: str
    authority: Path

    def kubeconfig(self, path: Path, user: Pair | str) -> Path:
        """Writes a kubeconfig for a client certificate, or for a bearer token."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": self._cluster()}],
            "users": [{"name": "user", "user": credentials(user)}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "user"}}],
        }
        write_secret(path, json.dumps(document, indent=2).encode())  # JSON is YAML
        return path

    def _cluster(self) -> dict[str, str]:
        return {"server": self.url, "certificate-authority": str(self.authority)}


def credentials(user: Pair | str) -> dict[str, str]:
    if isinstance(user, str):
        return {"token": user}
    return {"client-certificate": str(user.certificate), "client-key": str(user.key)}
