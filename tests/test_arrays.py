"""NumPy without threads of its own, unless somebody wants them; and no word of it to other processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mooring.arrays import SAID_BY, THREADS

COUNT = (
    "import os, mooring, mooring.arrays as arrays;"
    "print(len(os.listdir('/proc/self/task')), os.environ.get(arrays.THREADS))"
)


def threads(**said: str) -> list[str]:
    """How many threads there are once Mooring is imported, and what the processes it starts are told."""
    bare = {name: value for name, value in os.environ.items() if name not in SAID_BY}
    run = subprocess.run(
        [sys.executable, "-c", COUNT], env={**bare, **said}, check=True, capture_output=True, text=True
    )
    return run.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads the way of Linux")
def test_importing_mooring_starts_no_threads() -> None:
    assert threads() == ["1", "None"]


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads the way of Linux")
def test_who_wants_threads_has_them() -> None:
    allowed = min(2, len(os.sched_getaffinity(0)))
    assert threads(**{THREADS: "2"}) == [str(allowed), "2"]
