"""How thick the line to a server is: whether it pays to have long answers packed, and whether pods fill it.

Packing costs both ends some milliseconds for each megabyte, and leaves a tenth of it. What the address of a
server says of that may be wrong: a tunnel to the other side of the world has the address of this machine.
"""

from __future__ import annotations

TELLING = 32 * 1024  # bytes; a shorter answer comes in one go, however thin the line
THICK_PACKED = 4e6  # bytes a second of packed answers, which no server packs much faster
THICK = 20e6  # bytes a second of others
THIN = 5e5  # bytes a second, packed or not: two hundred pods, as they are bound, fill it


class Line:
    """Answers are packed until one has shown that it need not be. No line is thin before one has shown it."""

    def __init__(self) -> None:
        self.packs = True
        self.is_thin = False

    def carried(self, size: int, seconds: float, *, packed: bool) -> None:
        """So many bytes came within so many seconds of the first of them."""
        if size >= TELLING:
            self.packs = size < seconds * (THICK_PACKED if packed else THICK)
            self.is_thin = size < seconds * THIN
