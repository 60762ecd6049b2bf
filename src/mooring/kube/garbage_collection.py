"""How the garbage collector treats a large cluster held in memory for as long as the process lives.

Looking through all of it again and again takes time and finds nothing: almost everything that is read
stays, and what goes is freed by its reference counts.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG, MIDDLE, OLD = 50_000, 20, 100  # allocations until the youngest are looked at; and how often others
AT_FIRST = 500_000  # while everything is read: nearly all of it stays


def make_room() -> None:
    """Before the first list: collects rarely from now on, and not what is there already."""
    gc.set_threshold(AT_FIRST, MIDDLE, OLD)
    gc.freeze()


def settle() -> None:
    """After everything has been read: what is there now is never looked at again. Not even once more, for the
    little that is garbage by then: that takes a tenth of the time that reading took."""
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.freeze()
    _give_back()


@contextmanager
def settled() -> Iterator[None]:
    """As after `settle`, for as long as it lasts: for measuring what a scheduler takes that runs for days."""
    before = gc.get_threshold()
    gc.collect()
    settle()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def _give_back() -> None:
    """Returns freed memory to the system, where the C library can be asked to."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
