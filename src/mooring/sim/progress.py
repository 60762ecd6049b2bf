"""Whether a run still gets anywhere.

A policy may have pods tried again and again for nothing: it rejects what it woke, or evicts what it has just
placed. Time may stand still meanwhile, or go on for ever. A run gets somewhere as long as more pods have
their place, or have had it to their end, than ever before.
"""

from __future__ import annotations

FEWEST = 1_000  # attempts at one moment, or changes of the world, without getting anywhere
PER_POD = 100  # and as many for every pod there is

GOES_ROUND = "stopped: at {seconds:g} s pods are {what} over and over, and nothing comes of it"


class GettingOn:
    """Counts what happens since the run last got somewhere."""

    def __init__(self) -> None:
        self._placed = 0
        self._attempts = 0
        self._moment = -1.0
        self._version = 0

    def stalled(self, moment: float, *, placed: int, pods: int, version: int) -> str:
        """Asked after each attempt: what is done to pods over and over, if that goes on for too long."""
        if placed > self._placed:
            self._placed, self._attempts, self._version = placed, 0, version
        if moment != self._moment:
            self._attempts, self._moment = 0, moment
        self._attempts += 1
        most = FEWEST + PER_POD * pods
        if self._attempts > most:
            return "tried"
        return "changed" if version - self._version > most else ""
