"""The peer's program: built from the Go files here once, and kept where the end-to-end tests keep theirs."""

from __future__ import annotations

from pathlib import Path

from e2e import binaries

PEER = binaries.OwnProgram("peer", str(Path(__file__).parent), "k8s.io/kubernetes", ".")


def program() -> Path:
    """Where the program is, built first when it is missing."""
    binaries.build_missing([PEER])
    return PEER.path
