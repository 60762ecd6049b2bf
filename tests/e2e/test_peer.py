"""kube-scheduler's own code and Mooring's engine think the same nodes the best, pod for pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peer.binary import program
from benchmarks.peer.cases import CASES
from benchmarks.peer.compare import compare
from e2e.binaries import CannotBuild

NODES, PODS = 40, 150


@pytest.fixture(scope="session")
def peer() -> Path:
    try:
        return program()
    except CannotBuild as error:
        pytest.exit(str(error), returncode=2)


@pytest.mark.parametrize("name", CASES)
def test_both_choose_alike(name: str, peer: Path, tmp_path: Path) -> None:
    file = tmp_path / "objects.jsonl"
    CASES[name].write(file, NODES, PODS)
    done = compare(name, peer, file, lambda count: None)
    assert done.mismatch is None, done.mismatch
    assert done.pods == PODS
