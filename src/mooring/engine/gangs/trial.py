"""Tries a group with some pods gone, and leaves everything as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mooring.cluster.pods import Placed
from mooring.engine.attempt import Attempt
from mooring.engine.cycle import Unfit
from mooring.engine.gangs.members import Seat, attempt_at
from mooring.engine.gangs.room import GroupRoom
from mooring.framework.grouping import Group

if TYPE_CHECKING:
    from mooring.engine.engine import Engine


class EngineGroupTrial:
    """The trial of one group. Members in it are not reserved for and ask nobody for a permit."""

    def __init__(
        self, engine: Engine, planner: str, group: Group, attempts: Sequence[Attempt], now: float
    ) -> None:
        self._engine = engine
        self._planner = planner
        self.group = group
        self._queued = [attempt.queued for attempt in attempts]
        self._now = now
        self._statement = engine.cluster.statement()
        self._removed: dict[str, Placed] = {}
        self._seated: dict[str, tuple[Attempt, str]] = {}  # members by uid, with their nodes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._statement.roll_back()

    def remove(self, uid: str) -> None:
        self._removed[uid] = self._statement.give_back(uid)

    def put_back(self, uid: str) -> None:
        self._statement.put_back(self._removed.pop(uid))

    def room(self) -> GroupRoom:
        return GroupRoom(self._engine, self._attempts())

    def place(self, plan: Mapping[str, str] | None = None) -> dict[str, str]:
        for uid in self._seated:
            self._statement.give_back(uid)
        self._seated = {}
        seat = Seat(self._engine, self._planner, None if plan is None else dict(plan))
        for attempt in self._attempts():
            try:
                node_name = self._sit(attempt, seat)
            except Unfit:
                continue
            self._seated[attempt.queued.pod.metadata.uid] = attempt, node_name
        return {uid: node_name for uid, (_, node_name) in self._seated.items()}

    def still_fits(self, node_name: str) -> bool:
        there = {uid: attempt for uid, (attempt, node) in self._seated.items() if node == node_name}
        mark = self._statement.checkpoint()
        for uid in there:
            self._statement.give_back(uid)
        seat = Seat(self._engine, self._planner, dict.fromkeys(there, node_name))
        try:
            for attempt in there.values():
                self._sit(attempt_at(self._engine, attempt.queued, self._now), seat)
        except Unfit:
            return False
        finally:
            self._statement.roll_back(mark)
        return True

    def _attempts(self) -> list[Attempt]:
        return [attempt_at(self._engine, queued, self._now) for queued in self._queued]

    def _sit(self, attempt: Attempt, seat: Seat) -> str:
        found = ""

        def step(attempt: Attempt) -> None:
            nonlocal found
            found = seat.take(attempt, self._statement)

        self._engine.cycle.take_step(attempt, step)
        return found
