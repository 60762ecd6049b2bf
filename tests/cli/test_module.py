from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
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
