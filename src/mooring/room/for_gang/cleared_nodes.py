"""Pods taken off their nodes for the moment, to see whether a gang fits without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mooring.cluster.pods import Placed
from mooring.framework.api.grouping import GroupTrial
from mooring.room.disruptions import Count
from mooring.room.for_gang.possible_victims import Possible
from mooring.room.gangs_in_the_way import Losses
from mooring.room.importance import importance


class Cleared:
    """What was taken off, by uid. With a count, nobody goes who is one too many for a budget."""

    def __init__(self, trial: GroupTrial, possible: Possible, count: Count | None = None) -> None:
        self._trial = trial
        self._possible = possible
        self._count = count
        self._leaving: list[Placed] = []
        self._losses = Losses(possible.gangs)

    @property
    def gone(self) -> dict[str, Placed]:
        return self._losses.gone

    def those_leaving(self) -> None:
        """Takes off who is leaving anyhow."""
        for leaving in self._possible.leaving.values():
            for placed in leaving:
                self._trial.remove(placed.pod.metadata.uid)
                self._leaving.append(placed)

    def clear(self, rows: Iterable[int]) -> None:
        """Takes possible victims off some rows."""
        for row in rows:
            for placed in self._in_order(self._possible.going.get(row, ())):
                if placed.pod.metadata.uid not in self.gone and self._may_go(placed):
                    self._trial.remove(placed.pod.metadata.uid)
                    self._losses.add(placed)

    def _in_order(self, going: Sequence[Placed]) -> Sequence[Placed]:
        """Of a gang that can spare only some, the least important go."""
        if self._possible.gangs.there_are_none:
            return going
        return sorted(going, key=importance, reverse=True)

    def _may_go(self, placed: Placed) -> bool:
        if not self._losses.may_go(placed):
            return False
        if self._count is not None:
            if self._count.would_break(placed):
                return False
            self._count.adds(placed)
        return True

    def restore(self) -> None:
        """Puts everybody back, and takes the places of members away."""
        self._trial.place({})
        for placed in (*self.gone.values(), *self._leaving):
            if not self._possible.is_there(placed):
                self._trial.put_back(placed.pod.metadata.uid)
        self._losses, self._leaving = Losses(self._possible.gangs), []
