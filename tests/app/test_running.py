"""What `mooring run` asks of the system before anything starts."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

ASKED = """
import resource
from mooring.app.running import allow_open_files
before = resource.getrlimit(resource.RLIMIT_NOFILE)
allow_open_files()
print(*before, *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("allowed", "most", "then"), [(256, 8192, 4096), (256, 512, 512), (5000, 8192, 5000)]
)
def test_as_many_files_as_the_system_lets_it_have(allowed: int, most: int, then: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most)),
    )
    assert done.stdout.split() == [str(each) for each in (allowed, most, then, most)]
