"""The peer's program: built from the Go files here once, and kept where the end-to-end tests keep theirs."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from e2e import binaries

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Peer(binaries.Program):
    """Kept under what it was made from, so that another version of a file is another program."""

    @property
    def path(self) -> Path:
        made_from = sorted([*FOLDER.glob("*.go"), FOLDER / "go.mod", FOLDER / "go.sum"])
        digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in made_from)).hexdigest()
        return binaries.cache() / f"peer-{self.version}-{digest[:12]}" / self.name


PEER = Peer("peer", str(FOLDER), "k8s.io/kubernetes", ".")


def program() -> Path:
    """Where the program is, built first when it is missing."""
    if not PEER.path.exists():
        if shutil.which("go") is None:
            raise binaries.CannotBuild(
                "the peer, kube-scheduler's own code, needs Go 1.26 or newer: there is no `go` on the PATH"
            )
        binaries.build_one(PEER)
    return PEER.path
