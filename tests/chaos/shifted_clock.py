"""`python shifted_clock.py FILE WORD...`: Mooring with a wall clock that is off by what a file says.

The file holds a double, in seconds. Writing another one makes the clock jump while Mooring runs.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

SECONDS = struct.Struct("d")
NANOSECONDS = 1_000_000_000


def write_offset(path: Path, seconds: float) -> None:
    """In place: whoever has it mapped sees it at once."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(SECONDS.pack(seconds))


def shift(path: Path) -> None:
    """From now on the clocks of this process are off."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), SECONDS.size, prot=mmap.PROT_READ)
    seconds, nanoseconds = time.time, time.time_ns

    def offset() -> float:
        return float(SECONDS.unpack_from(mapped)[0])

    time.time = lambda: seconds() + offset()
    time.time_ns = lambda: nanoseconds() + int(offset() * NANOSECONDS)


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    shift(file)
    from mooring.cli.main import main

    sys.argv[0] = "mooring"
    main()
