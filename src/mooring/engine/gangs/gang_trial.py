"""Tries a group with some pods gone, and leaves everything as it was."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Self

import msgspec

from mooring.cluster.pods import Placed
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle
from mooring.engine.gangs.members import FirstOf, QuickSeat, Seat
from mooring.engine.gangs.room_for_members import GroupRoom
from mooring.engine.outcomes import NoNodes, Progress, Unfit
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import rows_mask
from mooring.engine.placement.node_trial import demand_of
from mooring.framework.api.grouping import Group
from mooring.framework.api.node_trial import Demand
from mooring.framework.api.status import Status


class EngineGroupTrial:
    """The trial of one group. Members in it are not reserved for and ask nobody for a permit."""

    def __init__(
        self, cycle: SchedulingCycle, planner: str, group: Group, attempts: Sequence[Attempt]
    ) -> None:
        self._cycle = cycle
        self._parts = cycle.parts
        self._planner = planner
        self.group = group
        self._queued = [attempt.queued for attempt in attempts]
        self._statement = cycle.parts.cluster.statement()
        self._removed: dict[str, Placed] = {}
        self._seated: dict[str, tuple[Attempt, str]] = {}  # members by uid, with their nodes
        self._demands: dict[PodClass, Demand | None] = {}
        self.nominated: dict[str, str] = {}

    def __enter__(self) -> Self:
        self.nominated |= self._parts.nominator.lift(queued.pod for queued in self._queued)
        return self

    def __exit__(self, *_: object) -> None:
        self._statement.roll_back()
        self._parts.nominator.restore((queued.pod for queued in self._queued), self.nominated)

    def remove(self, uid: str) -> None:
        self._removed[uid] = self._statement.give_back(uid)

    def put_back(self, uid: str) -> None:
        self._statement.put_back(self._removed.pop(uid))

    def demand(self, uid: str) -> Demand | Status | None:
        found = self._cycle.search.run(self._attempt(uid), self._demand)
        if isinstance(found, Unfit):
            return found.why.statuses.absent
        assert not isinstance(found, NoNodes | Progress), found
        return found

    def _demand(self, attempt: Attempt) -> Demand | Unfit | Progress | None:
        """What pods of a class need is found once: it says nothing of what is free."""
        if (end := self._cycle.search.prepare(attempt)) is not None:
            return end
        pod_class, narrowed, nodes = attempt.pod_class, attempt.narrowed, self._parts.cluster.nodes
        if pod_class not in self._demands or not pod_class.shared:
            self._demands[pod_class] = demand_of(self._parts.placer, attempt)
        demand = self._demands[pod_class]
        if demand is None or narrowed is None:
            return demand
        named = rows_mask(nodes.high, (nodes.rows[name] for name in narrowed.names if name in nodes.rows))
        return msgspec.structs.replace(demand, open=demand.open[: nodes.high] & named)

    def room(self, members: Collection[str] | None = None) -> GroupRoom:
        attempts = self._attempts()
        if members is not None:
            attempts = [attempt for attempt in attempts if attempt.queued.pod.metadata.uid in members]
        return GroupRoom(self._cycle, attempts)

    def place(self, plan: Mapping[str, str] | None = None) -> dict[str, str]:
        for uid in self._seated:
            self._statement.give_back(uid)
        self._seated = {}
        seat = QuickSeat(self._cycle, self._planner, None if plan is None else dict(plan))
        for attempt in self._attempts():
            if node_name := self._sit(attempt, seat):
                self._seated[attempt.queued.pod.metadata.uid] = attempt, node_name
        return {uid: node_name for uid, (_, node_name) in self._seated.items()}

    def seat(self, uid: str, nodes: Iterable[str]) -> str:
        attempt = self._attempt(uid)
        seat = FirstOf(self._cycle, self._planner, tuple(nodes))
        if node_name := self._sit(attempt, seat):
            self._seated[uid] = attempt, node_name
        return node_name

    def still_fits(self, node_name: str) -> bool:
        there = {uid: attempt for uid, (attempt, node) in self._seated.items() if node == node_name}
        mark = self._statement.checkpoint()
        for uid in there:
            self._statement.give_back(uid)
        seat = Seat(self._cycle, self._planner, dict.fromkeys(there, node_name))
        try:
            return all(
                self._sit(self._parts.attempt_together(attempt.queued), seat) for attempt in there.values()
            )
        finally:
            self._statement.roll_back(mark)

    def _attempts(self) -> list[Attempt]:
        return [self._parts.attempt_together(queued) for queued in self._queued]

    def _attempt(self, uid: str) -> Attempt:
        queued = next(queued for queued in self._queued if queued.pod.metadata.uid == uid)
        return self._parts.attempt_together(queued)

    def _sit(self, attempt: Attempt, seat: Seat) -> str:
        """The node a member has taken; "" when there is none for it."""
        found = self._cycle.search.run(attempt, lambda attempt: seat.take(attempt, self._statement))
        return found if isinstance(found, str) else ""
