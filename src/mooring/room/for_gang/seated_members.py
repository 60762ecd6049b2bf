"""Members of a gang that hold places in a trial, while pods come back around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mooring.cluster.pods import Placed
from mooring.framework.api.grouping import GroupTrial
from mooring.model.objects import Pod
from mooring.room.for_gang.possible_victims import Places
from mooring.room.for_gang.preemptor import Preemptor

MOST_PLACED = 5_000  # members placed anew; nobody comes back after that: deciding has to come to an end


class Reserved(NamedTuple):
    """What others that are to come to a node first take of what members there need, by resource."""

    pods: int
    amounts: dict[str, int]


class SeatedMembers:
    """Members on the nodes of `seated`. `awaited` are pods that are to come to nodes first.

    Where resources alone decide they are counted. Otherwise members are placed anew besides, for pods
    anywhere may matter.
    """

    def __init__(
        self,
        trial: GroupTrial,
        places: Places,
        preemptor: Preemptor,
        seated: Mapping[str, str],
        *,
        awaited: Mapping[str, Sequence[Pod]],
        counted: bool,
    ) -> None:
        self._trial = trial
        self._nodes = places.nodes
        self._seated = dict(seated)
        self._counted = counted
        self._left_to_place = MOST_PLACED
        self._upset = False  # whether some members have lost their places
        self.remove = trial.remove
        self.put_back = trial.put_back
        self._reserved: dict[int, Reserved] = {}  # by row
        for uid, name in seated.items():
            demand = preemptor.demand(uid)
            others = awaited.get(name, ())
            reserved = self._reserved.setdefault(self._nodes.rows[name], Reserved(len(others), {}))
            for resource, _ in () if demand is None else demand.amounts:
                reserved.amounts[resource] = sum(other.request.amount(resource) for other in others)

    def has_room(self, placed: Placed) -> bool:
        """Whether what members on its node need is still there for them."""
        row = placed.row
        if row is None or (reserved := self._reserved.get(row)) is None:
            return True
        nodes = self._nodes
        if nodes.pods.at[row] + reserved.pods > nodes.max_pods.at[row]:
            return False
        for resource, amount in reserved.amounts.items():
            columns = nodes.of_resource(resource)
            if columns.requested.at[row] + amount > columns.allocatable.at[row]:
                return False
        return True

    def fits(self) -> bool:
        if self._counted:
            return True
        if self._left_to_place <= 0:
            return False
        self._left_to_place -= len(self._seated)
        self._upset = self._trial.place(self._seated) != self._seated
        return not self._upset

    def settle(self) -> None:
        if self._upset:
            self._trial.place(self._seated)
            self._upset = False
