"""Runs `mooring` the way a shell does, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mooring.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def mooring(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*words: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["mooring", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers: [{name: main, image: app, resources: {requests: {cpu: %s}}}]
---
"""


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """Two nodes, a pod that fits, one that does not, one without requests."""
    file = tmp_path / "cluster.yaml"
    pods = POD % ("web", "1") + POD % ("huge", "9") + POD % ("small", "100m")
    file.write_text(NODE % "a" + NODE % "b" + pods)
    return file
