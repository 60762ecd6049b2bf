"""Which of several equally good nodes: drawn by the seeded source, the first, or as another scorer says."""

from __future__ import annotations

import random
from collections.abc import Sequence

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.framework.api.cycle import Cycle
from mooring.framework.running.forms import Scorer
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

RANDOM, FIRST = "Random", "First"


class Ties:
    """Breaks ties the way a profile says."""

    def __init__(self, cluster: Cluster, view: ClusterView, rng: random.Random) -> None:
        self._cluster = cluster
        self._view = view
        self._rng = rng

    def pick(self, profile: Profile, cycle: Cycle, pod: Pod, tied: Sequence[Sequence[int]]) -> int:
        """One row of the tied ones, given in any number of parts."""
        rule, one = profile.plan.ties, tied[0]
        count = len(one) if len(tied) == 1 else sum(map(len, tied))
        if count == 1:
            return next(part[0] for part in tied if part)
        if rule == RANDOM:
            index = int(self._rng.random() * count)
            return one[index] if index < len(one) else self._draw(tied, index)
        rows = [row for part in tied for row in part]
        if rule != FIRST:
            rows = self._best_by(profile, rule, cycle, pod, rows)
        return min(rows, key=self._cluster.nodes.arrival.__getitem__)

    def _draw(self, tied: Sequence[Sequence[int]], index: int) -> int:
        for part in tied:
            if index < len(part):
                return part[index]
            index -= len(part)
        raise IndexError(index)

    def _best_by(self, profile: Profile, name: str, cycle: Cycle, pod: Pod, rows: list[int]) -> list[int]:
        scorer = Scorer.of(profile.plugins[name])
        assert scorer is not None
        nodes, shown = self._cluster.nodes, scorer.shown(pod)
        scores = {
            row: scorer.one(cycle, shown, scorer.view(self._view.view(row)), nodes, self._view)
            for row in rows
        }
        if scorer.raw:
            values = sorted(set(scores.values()))
            final = dict(zip(values, scorer.normalized(values), strict=True))
            scores = {row: final[score] for row, score in scores.items()}
        best = max(scores.values())
        return [row for row in rows if scores[row] == best]
