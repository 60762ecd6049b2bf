"""A clock that jumps when a file is written, in a process that has begun before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from chaos import shifted_clock
from chaos.shifted_clock import write_offset

TELLS = f"""
import sys, time
sys.path.insert(0, {str(Path(shifted_clock.__file__).parent)!r})
from pathlib import Path
from shifted_clock import shift
true, began = time.time, time.monotonic()
shift(Path(sys.argv[1]))
for line in sys.stdin:
    off, off_ns = time.time() - true(), time.time_ns() / 1e9 - true()
    print(round(off), round(off_ns), time.monotonic() - began < 3600, flush=True)
"""


def test_the_clock_jumps_and_the_steady_one_does_not(tmp_path: Path) -> None:
    file = tmp_path / "offset"
    write_offset(file, 0.0)
    words = [sys.executable, "-c", TELLS, str(file)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for offset in (0.0, 3600.0, -86400.0):
            write_offset(file, offset)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline().split() == [f"{offset:.0f}", f"{offset:.0f}", "True"]
        process.stdin.close()
