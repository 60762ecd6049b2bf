"""Looks for places for all needed members of a gang, with the cheapest nodes cleared of possible victims.

Nodes are cleared a few at a time, the cheapest first, until the members fit: most pods of the cluster are
never touched. Where the gang says which nodes it wants, it plans on what the nodes would offer, and only
those of the plan are cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from mooring.cluster.view import NodeView
from mooring.framework.api.grouping import Group, GroupTrial, Plan, Room
from mooring.framework.api.status import Status
from mooring.model.objects import Pod
from mooring.room.for_gang.cleared_nodes import Cleared
from mooring.room.for_gang.node_costs import Costs, pods_to_go
from mooring.room.for_gang.possible_victims import Awaited, Places, Possible, taken
from mooring.room.for_gang.preemptor import Preemptor

Planned = Callable[[Group, Room, Mapping[str, int]], Plan | Status | None]  # the last are costs, by node
Seated = dict[str, str]  # nodes, by the uid of the member

FEWEST = 8  # nodes cleared at once, where it is not known how many it takes
MOST_TRIED, SHARE_TRIED = 100, 10  # nodes, where more than resources decides: so many, or one in so many


class Imagined:
    """Room as it would be."""

    def __init__(self, room: Room, offers: dict[str, int]) -> None:
        self._room = room
        self._offers = offers

    @property
    def members(self) -> tuple[Pod, ...]:
        return self._room.members

    def nodes(self) -> list[NodeView]:
        return self._room.nodes()

    def offers(self) -> dict[str, int]:
        return self._offers

    def reasons(self) -> str:
        return self._room.reasons()


class PlacesForMembers:
    """One search, with some possible victims. What it clears stays cleared, with members on their places."""

    def __init__(
        self,
        trial: GroupTrial,
        group: Group,
        places: Places,
        preemptor: Preemptor,
        possible: Possible,
        cleared: Cleared,
        awaited: Awaited,
    ) -> None:
        self._trial = trial
        self._group = group
        self._places = places
        self._preemptor = preemptor
        self._cleared = cleared
        self._costs = Costs(possible, places)
        self._rows = possible.rows()
        resources = preemptor.resources()
        going = possible.freed(resources, leaving=False)
        everything = possible.freed(resources, leaving=True) if possible.leaving else going
        others = taken(places, awaited, resources)
        self.most = preemptor.most(everything.less(others))
        self._freed = going.less(others)
        self._going, self._others = going, others
        self.refusal: Status | None = None  # of the plan

    def seated(self, plan: Planned | None) -> Seated | None:
        """The nodes of all needed members; None when they do not fit."""
        if self._preemptor.known and self.most < len(self._preemptor.uids):
            return None
        self._cleared.those_leaving()
        if plan is None:
            return self._anywhere()
        return self._as_planned(plan)

    # without a plan

    def _anywhere(self) -> Seated | None:
        """First whoever fits as things are; then the others, where it costs least."""
        trial, wanted = self._trial, self._preemptor.uids
        seated = trial.place()
        if not seated.keys() <= set(wanted):
            seated = trial.place({uid: name for uid, name in seated.items() if uid in wanted})
            self._sit(seated, self._untouched(()))  # where those were who are not needed
        names: list[str] = []
        for batch in self._batches([uid for uid in wanted if uid not in seated]):
            self._cleared.clear(batch)
            names += map(self._places.name, batch)
            if self._sit(seated, names):
                return seated
        if self._preemptor.alike and self._preemptor.alone:
            return None  # then nobody is in another's way
        seated = trial.place({})
        return seated if self._sit(seated, [*names, *self._untouched(names)]) else None

    def _sit(self, seated: Seated, names: Iterable[str]) -> bool:
        """Seats who has no place yet. Whether all have one."""
        for uid in self._preemptor.uids:
            if uid not in seated and (name := self._trial.seat(uid, names)):
                seated[uid] = name
        return len(seated) == len(self._preemptor.uids)

    def _untouched(self, names: Iterable[str]) -> list[str]:
        return sorted(self._places.nodes.rows.keys() - set(names))

    def _batches(self, missing: list[str]) -> Iterator[list[int]]:
        """Rows to clear, the cheapest first: as many as those without a place seem to need, then more."""
        if not missing:
            yield []
            return
        preemptor = self._preemptor
        takes = preemptor.takes(missing[0], self._freed)
        able = takes > 0
        for uid in missing:
            if preemptor.demand(uid) is not preemptor.demand(missing[0]):
                able |= preemptor.takes(uid, self._freed) > 0
        count = pods_to_go(self._places, preemptor.demand(missing[0]), self._going, self._others)
        rows = [row for row in self._rows if able[row]]
        order = self._costs.in_order(rows, count)
        if not preemptor.alone:
            order = islice(order, max(MOST_TRIED, len(rows) // SHARE_TRIED, 2 * len(preemptor.uids)))
        wanted = len(missing) if preemptor.known else FEWEST
        batch: list[int] = []
        offered = 0
        for row in order:
            batch.append(row)
            offered += int(takes[row])
            if offered >= wanted:
                yield batch
                batch, wanted = [], 2 * wanted
        if batch:
            yield batch

    # with a plan

    def _as_planned(self, plan: Planned) -> Seated | None:
        if self._preemptor.known:
            answer = self._plan(plan, Imagined(self._room(), self._offers()), self._rows)
            if not isinstance(answer, Plan):
                return None
            answer = self._in_order(plan, answer)
            rows = {self._places.nodes.rows[name] for name in answer.nodes.values()}
            self._cleared.clear(sorted(rows))
            if seated := self._placed(answer):
                return seated
        for batch in self._batches(self._preemptor.uids):
            self._cleared.clear(batch)
            self._trial.place({})
            answer = self._plan(plan, self._room(), self._rows)
            if isinstance(answer, Plan) and (seated := self._placed(answer)):
                return seated
        return None

    def _in_order(self, plan: Planned, chosen: Plan) -> Plan:
        """The same nodes, with members on them as they are without regard to costs: so they are planned
        once the room is there."""
        used = set(chosen.nodes.values())
        offers = {name: offer for name, offer in self._offers().items() if name in used}
        answer = plan(self._group, Imagined(self._room(), offers), {})
        return answer if isinstance(answer, Plan) and answer.nodes.keys() == chosen.nodes.keys() else chosen

    def _plan(self, plan: Planned, room: Room, rows: Iterable[int]) -> Plan | Status | None:
        costs = {self._places.name(row): self._costs.of(row) + 1 for row in rows}
        answer = plan(self._group, room, costs)
        if isinstance(answer, Status):
            self.refusal = answer
        return answer

    def _placed(self, plan: Plan) -> Seated | None:
        seated = self._trial.place(plan.nodes)
        return seated if seated.keys() >= set(self._preemptor.uids) else None

    def _room(self) -> Room:
        return self._trial.room(self._preemptor.uids)

    def _offers(self) -> dict[str, int]:
        offers = self._preemptor.offers(self._freed)
        rows = self._places.nodes.in_order()
        taking = rows[offers[rows] > 0].tolist()
        return {self._places.name(row): int(offers[row]) for row in taking}
