"""What policies print goes to standard error: standard output belongs to the command's answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOBase

from mooring.app.whereabouts import HOSTS


class Printing(TextIOBase):
    """Stands for standard output and writes to standard error, remembering who wrote first."""

    def __init__(self) -> None:
        self._places: dict[str, None] = {}

    def write(self, text: str) -> int:
        if len(self._places) < 10:
            frame = sys._getframe(1)
            self._places[f"{frame.f_code.co_filename}:{frame.f_lineno}:1"] = None
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()

    def writable(self) -> bool:
        return True

    def remarks(self) -> list[str]:
        """Who printed, in words."""
        places = [place for place in self._places if not place.startswith(HOSTS)]
        return [f"{place}: prints to standard output; shown on standard error" for place in places]


@contextmanager
def printed_elsewhere() -> Iterator[Printing]:
    """Meanwhile nothing reaches standard output, neither by `print` nor from a program that is started."""
    printing, before = Printing(), sys.stdout
    before.flush()
    real = os.dup(1) if before is sys.__stdout__ else None
    if real is not None:
        os.dup2(2, 1)
    sys.stdout = printing
    try:
        yield printing
    finally:
        sys.stdout = before
        if real is not None:
            os.dup2(real, 1)
            os.close(real)
