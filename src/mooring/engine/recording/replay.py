"""A recording, played to an engine: the same events at the same times, and where its decisions differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from mooring.engine.decisions import Bind, Decision
from mooring.engine.engine import Engine
from mooring.engine.recording.entries import Entry, Told, Turn, encode


class Difference(msgspec.Struct, frozen=True):
    """One call of which something else came. Entries are counted from 1, the first being how it was made."""

    entry: int
    now: float
    event: str  # the kind of event, or "Turn"
    recorded: list[Decision] | None
    replayed: list[Decision] | None


class Replayed(msgspec.Struct):
    """What came of a replay, so far."""

    entries: int = 0
    binds: int = 0  # decided by the engine that replays
    differences: int = 0


def replay(entries: Iterable[Entry], engine: Engine, so_far: Replayed) -> Iterator[Difference]:
    """Plays entries to a fresh engine. After a difference it goes on with what was recorded next: what
    follows may differ because of that."""
    for entry in entries:
        so_far.entries += 1
        if isinstance(entry, Told):
            decided: list[Decision] | None = engine.handle(entry.event, entry.now)
            kind = type(entry.event).__name__
        elif isinstance(entry, Turn):
            decided, kind = engine.schedule(entry.now), "Turn"
        else:
            continue
        so_far.binds += sum(isinstance(each, Bind) for each in decided or ())
        if not _same(entry.decided, decided):
            so_far.differences += 1
            yield Difference(so_far.entries, entry.now, kind, entry.decided, decided)


def _same(recorded: list[Decision] | None, decided: list[Decision] | None) -> bool:
    """Byte for byte. An order of labels that the API server sent is the same in both."""
    return (not recorded and not decided) or encode(recorded) == encode(decided)
