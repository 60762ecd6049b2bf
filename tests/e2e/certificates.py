"""Certificates and keys of one control plane, made as it starts: one authority, its servers, its users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

LOOPBACK = "127.0.0.1"
SERVED_NAMES = (
    LOOPBACK,
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "10.0.0.1",
)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in files."""

    certificate: Path
    key: Path


class Authority:
    """Issues what a control plane needs into one folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder
        self.ca = trustme.CA()
        self.certificate = folder / "ca.crt"
        self.ca.cert_pem.write_to_path(str(self.certificate))

    def server(self, name: str) -> Pair:
        return self._write(name, self.ca.issue_cert(*SERVED_NAMES, common_name=name))

    def user(self, name: str, group: str = "") -> Pair:
        """A client whose user is `name`; Kubernetes reads the group from the organization."""
        # A list of no names at all, marked critical, is refused by Go: so it is given one that means nothing.
        issued = self.ca.issue_cert("user.invalid", common_name=name, organization_name=group or "nobodies")
        return self._write(name.replace(":", "-"), issued)

    def signing_key(self, name: str) -> Path:
        """A key that signs service account tokens."""
        key = ec.generate_private_key(ec.SECP256R1())
        path = self.folder / f"{name}.key"
        write_secret(path, key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
        return path

    def _write(self, name: str, issued: trustme.LeafCert) -> Pair:
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        pair.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        write_secret(pair.key, issued.private_key_pem.bytes())
        return pair


def write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
