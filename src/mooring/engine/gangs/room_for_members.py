"""How many members of a group nodes have room for.

Where nothing but free resources decides, it is counted for all nodes at once: a run of equal members takes
one division. Otherwise members are put on each node in turn until it takes no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mooring.cluster.columns import Bools
from mooring.cluster.nodes import Ints
from mooring.cluster.view import NodeView
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.scheduling_cycle import Unfit
from mooring.engine.gangs.members import attempt_at
from mooring.engine.placement.full_evaluation import rows_mask
from mooring.engine.placement.node_trial import demand_of
from mooring.engine.placement.placing import Narrowed
from mooring.framework.api.capacity import Alike, room_for
from mooring.framework.api.node_trial import Demand
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.engine.engine import Engine


class Run(NamedTuple):
    """Members of one class, one after the other, and what each of them needs."""

    first: Attempt
    size: int
    demand: Demand | None
    narrowed: Narrowed | None


class GroupRoom:
    """The room for members, on the cluster as it is."""

    def __init__(self, engine: Engine, attempts: Sequence[Attempt]) -> None:
        self._engine = engine
        self._attempts = attempts

    @property
    def members(self) -> tuple[Pod, ...]:
        return tuple(attempt.queued.pod for attempt in self._attempts)

    def nodes(self) -> list[NodeView]:
        nodes, view = self._engine.cluster.nodes, self._engine.view
        return [view.view(row) for row in nodes.in_order().tolist()]

    def offers(self) -> dict[str, int]:
        nodes = self._engine.cluster.nodes
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
        names = (nodes.object_at(row).metadata.name for row in rows.tolist())
        return dict(zip(names, counts[rows].tolist(), strict=True))

    def reasons(self) -> str:
        engine = self._engine
        runs = self._runs()
        if len(runs) == 0:
            return self._refusal()
        first = runs[0].first
        assert first.pod_class is not None
        about = first.pod_class, first.cycle, first.pod, runs[0].narrowed, first.session
        why = engine.placer.why_not(*about)
        said = why.histogram() if why.counts else Counter[str]()
        if all(run.demand is not None and run.demand.alone for run in runs):
            self._counted(runs, said)
        text = ", ".join(sorted(f"{count} {reason}" for reason, count in said.items()))
        return f"0/{len(engine.cluster.nodes)} nodes are available: {text}." if text else ""

    def _refusal(self) -> str:
        """Why the first member is refused before any node is asked."""
        try:
            self._engine.cycle.prepare(self._attempts[0])
        except Unfit as unfit:
            return unfit.message
        return ""

    def _runs(self) -> list[Run]:
        """Up to the first member that is refused before any node is asked."""
        engine = self._engine
        runs: list[Run] = []
        for attempt in self._attempts:
            pod_class = engine.classes[attempt.profile.name].of(attempt.pod)
            if runs and runs[-1].first.pod_class is pod_class and pod_class.shared:
                runs[-1] = runs[-1]._replace(size=runs[-1].size + 1)
                continue
            try:
                narrowed = engine.cycle.prepare(attempt)
            except Unfit:
                break
            runs.append(Run(attempt, 1, demand_of(engine, attempt.cycle, attempt.pod), narrowed))
        return runs

    def _counted(self, runs: Iterable[Run], said: Counter[str] | None = None) -> Ints:
        alike = []
        for run in runs:
            assert run.demand is not None
            among = None if run.narrowed is None else self._named(run.narrowed)
            alike.append(Alike(run.demand, run.size, among))
        return room_for(self._engine.cluster.nodes, alike, said=said)

    def _takes(self, run: Run) -> Bools:
        """The rows that take the first member."""
        attempt = run.first
        assert attempt.pod_class is not None
        about = attempt.pod_class, attempt.cycle, attempt.pod, run.narrowed, attempt.session
        return self._engine.placer.feasible(*about)

    def _tried(self, row: int) -> int:
        """How many members the node at a row takes, found by putting them there."""
        engine = self._engine
        name = engine.cluster.nodes.object_at(row).metadata.name
        statement = engine.cluster.statement()
        count = 0
        try:
            for attempt in self._attempts:
                fresh = attempt_at(engine, attempt.queued, attempt.cycle.now)
                narrowed = engine.cycle.prepare(fresh)
                if narrowed is not None and name not in narrowed.names:
                    break
                assert fresh.pod_class is not None
                about = fresh.pod_class, fresh.cycle, fresh.pod, row, fresh.session
                if engine.placer.status(*about) is not None:
                    break
                statement.take(fresh.pod, name)
                count += 1
        except Unfit:
            pass
        finally:
            statement.roll_back()
        return count

    def _nominated_rows(self) -> list[int]:
        nodes = self._engine.cluster.nodes
        ahead = self._engine.nominator.ahead_of(self._attempts[0].queued.pod)
        return [nodes.rows[name] for name in ahead if name in nodes.rows]

    def _named(self, narrowed: Narrowed) -> Bools:
        nodes = self._engine.cluster.nodes
        return rows_mask(nodes.high, (nodes.rows[name] for name in narrowed.names if name in nodes.rows))
