"""Finds connections that have died without a word: packets vanish, or somebody between takes them and passes
nothing on.

HTTP/1.1 has no way to ask over a connection whether its other end is there. But when a question asked later,
over another connection, is answered, then the server is there, and a connection that has been silent for
much longer than any answer takes is dead. What was asked over it may have been carried out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from mooring.kube.http.connection import Connection

LOOK_S = 3.0  # silence that is worth a question over another connection
PATIENCE_S = 8.0  # silence after which a connection counts as dead when others are answered, or
TIMES = 3  # times the longest answer of late, which is forgotten
FORGETTING = 0.99  # by so much with every answer
LONGER = 1.25  # times as long is given to those after one that may only have been slow, but
ONE_BLOW_S = 30.0  # not to those that died with it
WORDS = "nothing was heard for {:.0f} s while other connections are answered"


class Silence:
    """Time is passed in."""

    def __init__(self) -> None:
        self._longest_s = 0.0  # that an answer took lately
        self._lenience_s = 0.0
        self._found_at = -math.inf  # when the first of those was found that died at one blow
        self._proof = 0.0  # the moment of asking of what was asked last and has been answered

    def answered(self, asked_at: float, took_s: float = 0.0) -> None:
        """Something that was asked then is answered by now."""
        self._longest_s = max(took_s, FORGETTING * self._longest_s)
        self._lenience_s *= FORGETTING
        self._proof = max(self._proof, asked_at)

    def among(self, connections: Iterable[Connection], now: float) -> tuple[list[Connection], bool]:
        """Those that are dead; and whether some are silent for so long that it is worth asking."""
        patience = max(PATIENCE_S, TIMES * self._longest_s, self._lenience_s)
        silent = [each for each in connections if each.waiting and now - each.heard_at >= LOOK_S]
        dead = [each for each in silent if now - each.heard_at >= patience and self._proof > each.heard_at]
        if dead and now - self._found_at > ONE_BLOW_S:
            self._found_at = now
            self._lenience_s = LONGER * max(now - each.heard_at for each in dead)
        return dead, any(self._proof < each.heard_at + LOOK_S for each in silent)

    def words(self, connection: Connection, now: float) -> str:
        return WORDS.format(now - connection.heard_at)
