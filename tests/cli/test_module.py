from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_python_m_mooring() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mooring", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("mooring, version ")


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("simulat", "Did you mean 'simulate'?"),
        ("Simulate", "Did you mean 'simulate'?"),
        ("chekc", "Did you mean 'check'?"),
        ("rnu", "Did you mean 'run'?"),
        ("xyz", "There are run, simulate, replay, check, bench."),
    ],
)
def test_a_misspelt_command_gets_a_suggestion(mooring: Callable[..., Any], word: str, near: str) -> None:
    ran = mooring(word, "x", "--y")
    assert ran.code == 2
    assert f"No such command '{word}'. {near}" in ran.err


POLICY = """
import threading
from mooring import Plugin, unschedulable

threading.Thread(target=threading.Event().wait).start()  # no daemon: Python would wait for it

class Odd(Plugin):
    def filter(self, cycle, pod, node):
        return unschedulable("caf\\udce9") if node.name != "rehearsal" else None
"""
MANIFESTS = """
{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
"""


def test_a_policy_neither_spoils_the_answer_nor_keeps_the_process(tmp_path: Path) -> None:
    """Half of a surrogate pair in a reason, and a thread that never ends."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "odd.py").write_text(POLICY)
    (tmp_path / "all.yaml").write_text(MANIFESTS)
    words = "simulate", tmp_path / "all.yaml", "--policies", tmp_path / "policies", "--json"
    done = subprocess.run(
        [sys.executable, "-m", "mooring", *map(str, words)], capture_output=True, timeout=60, check=True
    )
    found = json.loads(done.stdout)
    assert "caf\ufffd" in found["pending"]["default/p"]["message"]
