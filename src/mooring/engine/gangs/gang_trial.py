"""Tries a group with some pods gone, and leaves everything as it was."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from mooring.cluster.pods import Placed
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.scheduling_cycle import Unfit
from mooring.engine.gangs.members import FirstOf, QuickSeat, Seat, attempt_at
from mooring.engine.gangs.room_for_members import GroupRoom
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import rows_mask
from mooring.engine.placement.node_trial import demand_of
from mooring.engine.placement.placing import Narrowed
from mooring.framework.api.grouping import Group
from mooring.framework.api.node_trial import Demand
from mooring.framework.api.status import Status

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
        self._demands: dict[PodClass, Demand | None] = {}
        self.nominated: dict[str, str] = {}

    def __enter__(self) -> Self:
        nominator = self._engine.nominator
        for uid in (queued.pod.metadata.uid for queued in self._queued):
            if node_name := nominator.node_of(uid):
                self.nominated[uid] = node_name
                nominator.remove(uid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._statement.roll_back()
        for queued in self._queued:
            if node_name := self.nominated.get(queued.pod.metadata.uid):
                self._engine.nominator.nominate(queued.pod, node_name)

    def remove(self, uid: str) -> None:
        self._removed[uid] = self._statement.give_back(uid)

    def put_back(self, uid: str) -> None:
        self._statement.put_back(self._removed.pop(uid))

    def demand(self, uid: str) -> Demand | Status | None:
        attempt = self._attempt(uid)
        found: Demand | None = None

        def step(attempt: Attempt) -> None:
            nonlocal found
            found = self._demand(attempt, self._engine.cycle.prepare(attempt))

        try:
            self._engine.cycle.take_step(attempt, step)
        except Unfit as unfit:
            return unfit.why.statuses.absent
        return found

    def _demand(self, attempt: Attempt, narrowed: Narrowed | None) -> Demand | None:
        """What pods of a class need is found once: it says nothing of what is free."""
        pod_class, nodes = attempt.pod_class, self._engine.cluster.nodes
        assert pod_class is not None
        if pod_class not in self._demands or not pod_class.shared:
            self._demands[pod_class] = demand_of(self._engine, attempt.cycle, attempt.pod)
        demand = self._demands[pod_class]
        if demand is None or narrowed is None:
            return demand
        named = rows_mask(nodes.high, (nodes.rows[name] for name in narrowed.names if name in nodes.rows))
        return msgspec.structs.replace(demand, open=demand.open[: nodes.high] & named)

    def room(self, members: Collection[str] | None = None) -> GroupRoom:
        attempts = self._attempts()
        if members is not None:
            attempts = [attempt for attempt in attempts if attempt.queued.pod.metadata.uid in members]
        return GroupRoom(self._engine, attempts)

    def place(self, plan: Mapping[str, str] | None = None) -> dict[str, str]:
        for uid in self._seated:
            self._statement.give_back(uid)
        self._seated = {}
        seat = QuickSeat(self._engine, self._planner, None if plan is None else dict(plan))
        for attempt in self._attempts():
            try:
                node_name = self._sit(attempt, seat)
            except Unfit:
                continue
            self._seated[attempt.queued.pod.metadata.uid] = attempt, node_name
        return {uid: node_name for uid, (_, node_name) in self._seated.items()}

    def seat(self, uid: str, nodes: Iterable[str]) -> str:
        attempt = self._attempt(uid)
        seat = FirstOf(self._engine, self._planner, tuple(nodes))
        try:
            node_name = self._sit(attempt, seat)
        except Unfit:
            return ""
        self._seated[uid] = attempt, node_name
        return node_name

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

    def _attempt(self, uid: str) -> Attempt:
        queued = next(queued for queued in self._queued if queued.pod.metadata.uid == uid)
        return attempt_at(self._engine, queued, self._now)

    def _sit(self, attempt: Attempt, seat: Seat) -> str:
        found = ""

        def step(attempt: Attempt) -> None:
            nonlocal found
            found = seat.take(attempt, self._statement)

        self._engine.cycle.take_step(attempt, step)
        return found
