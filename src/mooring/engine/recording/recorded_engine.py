"""An engine of which everything is recorded that it is told and decides."""

from __future__ import annotations

from collections.abc import Callable

from mooring.engine.decisions import Decision
from mooring.engine.engine import Engine
from mooring.engine.events import Event
from mooring.engine.hook_table import HookTable
from mooring.engine.recording.entries import Entry, Stopped, Told, Turn


class RecordedEngine(Engine):
    """Decides as any other. `record` takes each entry; until it is set, nothing is recorded."""

    record: Callable[[Entry], None] | None = None

    def handle(self, event: Event, now: float) -> list[Decision]:
        decided = super().handle(event, now)
        if self.record is not None:
            self.record(Told(now, event, decided))
        return decided

    def schedule(self, now: float) -> list[Decision] | None:
        decided = super().schedule(now)
        if self.record is not None:
            self.record(Turn(now, decided))
        return decided

    def swap(self, table: HookTable, now: float) -> list[Decision]:
        """Other plugins are nothing that could be recorded: the recording ends here, and says so."""
        decided = super().swap(table, now)
        if self.record is not None:
            self.record(Stopped("other plugins were put in force"))
            self.record = None
        return decided
