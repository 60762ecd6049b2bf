"""The entries of a recording: how the engine was made, then every call that changes it, with what it decided.

Whatever the engine does follows from them: it reads no clock and draws no randomness but from its seed. What
it is asked besides (a story, when to be woken) changes nothing and is not recorded.
"""

from __future__ import annotations

import msgspec

from mooring.engine.decisions import Decision
from mooring.engine.events import Event

VERSION = 1


class Made(msgspec.Struct, frozen=True, tag="made"):
    """How the engine was made. The first entry of every recording."""

    mooring: str  # the version of Mooring
    configuration: str  # as YAML; "" is the default one
    policies: tuple[str, ...] = ()  # names of the plugins that are not Mooring's own
    seed: int = 0
    gates: dict[str, bool] = {}
    format: int = VERSION


class Told(msgspec.Struct, frozen=True, tag="told"):
    """An event, and what was decided at once."""

    now: float
    event: Event
    decided: list[Decision] = []


class Turn(msgspec.Struct, frozen=True, tag="turn"):
    """The next pod had its turn; `decided` is None when none was ready."""

    now: float
    decided: list[Decision] | None = None


class Stopped(msgspec.Struct, frozen=True, tag="stopped"):
    """Nothing is recorded from here on."""

    why: str


Entry = Made | Told | Turn | Stopped

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Entry).decode
