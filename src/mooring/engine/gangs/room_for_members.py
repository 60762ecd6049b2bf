"""How many members of a group nodes have room for.

Where nothing but free resources decides, it is counted for all nodes at once: a run of equal members takes
one division. Otherwise members are put on each node in turn until it takes no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools
from mooring.cluster.view import NodeView
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle
from mooring.engine.outcomes import Unfit
from mooring.engine.placement.full_evaluation import rows_mask
from mooring.engine.placement.node_trial import demand_of
from mooring.engine.placement.search import Narrowed
from mooring.framework.api.capacity import Alike, room_for
from mooring.framework.api.node_trial import Demand
from mooring.model.objects import Pod

NO_MORE = "nodes take no more: {}"  # of what was counted when they had taken what they can


class Run(NamedTuple):
    """Members of one class, one after the other, and what each of them needs."""

    first: Attempt
    size: int
    demand: Demand | None


class GroupRoom:
    """The room for members, on the cluster as it is."""

    def __init__(self, cycle: SchedulingCycle, attempts: Sequence[Attempt]) -> None:
        self._cycle = cycle
        self._parts = cycle.parts
        self._attempts = attempts

    @property
    def members(self) -> tuple[Pod, ...]:
        return tuple(attempt.queued.pod for attempt in self._attempts)

    def nodes(self) -> list[NodeView]:
        nodes, view = self._parts.cluster.nodes, self._parts.view
        return [view.view(row) for row in nodes.in_order().tolist()]

    def offers(self) -> dict[str, int]:
        nodes = self._parts.cluster.nodes
        runs = self._runs()
        if not runs:
            return {}
        if all(run.demand is not None and run.demand.alone for run in runs):
            counts = self._counted(runs)
            for row in self._nominated_rows():
                counts[row] = self._tried(row)
        else:
            counts = np.zeros(nodes.high, np.int64)
            for row in np.flatnonzero(self._takes(runs[0])).tolist():
                counts[row] = self._tried(row)
        rows = nodes.in_order()
        rows = rows[counts[rows] > 0]
        names = (nodes.names[row] for row in rows.tolist())
        return dict(zip(names, counts[rows].tolist(), strict=True))

    def reasons(self) -> str:
        runs = self._runs()
        if len(runs) == 0:
            return self._refusal()
        why = self._parts.placer.why_not(runs[0].first)
        said = why.histogram() if why.counts else Counter[str]()
        if all(run.demand is not None and run.demand.alone for run in runs):
            self._counted(runs, said)
        text = ", ".join(sorted(f"{count} {reason}" for reason, count in said.items()))
        return NO_MORE.format(text) if text else ""

    def _refusal(self) -> str:
        """Why the first member is refused before any node is asked."""
        end = self._cycle.search.prepare(self._attempts[0])
        return end.message if isinstance(end, Unfit) else ""

    def _runs(self) -> list[Run]:
        """Up to the first member that is refused before any node is asked."""
        parts = self._parts
        runs: list[Run] = []
        for attempt in self._attempts:
            pod_class = parts.classes(attempt.profile.name).of(attempt.pod)
            if runs and runs[-1].first.pod_class is pod_class and pod_class.shared:
                runs[-1] = runs[-1]._replace(size=runs[-1].size + 1)
                continue
            if self._cycle.search.prepare(attempt) is not None:
                break
            runs.append(Run(attempt, 1, demand_of(parts.placer, attempt)))
        return runs

    def _counted(self, runs: Iterable[Run], said: Counter[str] | None = None) -> Ints:
        alike = []
        for run in runs:
            assert run.demand is not None
            narrowed = run.first.narrowed
            among = None if narrowed is None else self._named(narrowed)
            alike.append(Alike(run.demand, run.size, among))
        return room_for(self._parts.cluster.nodes, alike, said=said)

    def _takes(self, run: Run) -> Bools:
        """The rows that take the first member."""
        return self._parts.placer.feasible(run.first)

    def _tried(self, row: int) -> int:
        """How many members the node at a row takes, found by putting them there."""
        parts = self._parts
        name = parts.cluster.nodes.names[row]
        statement = parts.cluster.statement()
        count = 0
        try:
            for attempt in self._attempts:
                fresh = parts.attempt_together(attempt.queued)
                if self._cycle.search.prepare(fresh) is not None:
                    break
                if fresh.narrowed is not None and name not in fresh.narrowed.names:
                    break
                if parts.placer.status(fresh, row) is not None:
                    break
                statement.take(fresh.pod, name)
                count += 1
        finally:
            statement.roll_back()
        return count

    def _nominated_rows(self) -> list[int]:
        nodes = self._parts.cluster.nodes
        ahead = self._parts.nominator.ahead_of(self._attempts[0].queued.pod)
        return [nodes.rows[name] for name in ahead if name in nodes.rows]

    def _named(self, narrowed: Narrowed) -> Bools:
        nodes = self._parts.cluster.nodes
        return rows_mask(nodes.high, (nodes.rows[name] for name in narrowed.names if name in nodes.rows))
