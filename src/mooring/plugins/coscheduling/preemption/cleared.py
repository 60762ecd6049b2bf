"""Pods taken off their nodes for the moment, to see whether a gang fits without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mooring.cluster.pods import Placed
from mooring.framework.api.grouping import GroupTrial
from mooring.plugins.coscheduling.preemption.disruptions import Count
from mooring.plugins.coscheduling.preemption.possible import Possible


class Cleared:
    """What was taken off, by uid. With a count, nobody goes who is one too many for a budget."""

    def __init__(self, trial: GroupTrial, possible: Possible, count: Count | None = None) -> None:
        self._trial = trial
        self._possible = possible
        self._count = count
        self._of_gangs: Counter[str] = Counter()
        self._leaving: list[Placed] = []
        self.gone: dict[str, Placed] = {}

    def those_leaving(self) -> None:
        """Takes off who is leaving anyhow."""
        for leaving in self._possible.leaving.values():
            for placed in leaving:
                self._trial.remove(placed.pod.metadata.uid)
                self._leaving.append(placed)

    def clear(self, rows: Iterable[int]) -> None:
        """Takes possible victims off some rows."""
        for row in rows:
            for placed in self._possible.going.get(row, ()):
                if placed.pod.metadata.uid not in self.gone and self._may_go(placed):
                    self._trial.remove(placed.pod.metadata.uid)
                    self.gone[placed.pod.metadata.uid] = placed

    def _may_go(self, placed: Placed) -> bool:
        standing = self._possible.standing(placed)
        if standing is not None and not standing.may_go and self._of_gangs[standing.key] >= standing.spare:
            return False  # some of its pods have to stay, and so have as many as it needs
        if self._count is not None:
            if self._count.would_break(placed):
                return False
            self._count.adds(placed)
        if standing is not None:
            self._of_gangs[standing.key] += 1
        return True

    def restore(self) -> None:
        """Puts everybody back, and takes the places of members away."""
        self._trial.place({})
        for placed in (*self.gone.values(), *self._leaving):
            if not self._possible.is_there(placed):
                self._trial.put_back(placed.pod.metadata.uid)
        self.gone, self._leaving = {}, []
