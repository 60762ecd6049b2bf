"""The members of a group on their way through one attempt, and the placing of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle import Unfit
from mooring.engine.fit_error import FitError
from mooring.engine.placing import Choice, Narrowed
from mooring.engine.queued import QueuedPod
from mooring.framework.cycle import Cycle
from mooring.framework.status import unresolvable

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

UNPLANNED = "no place in the domain that was chosen"


def attempt_at(engine: Engine, queued: QueuedPod, now: float) -> Attempt:
    """An attempt at one member of a group."""
    profile = engine.profiles[queued.pod.spec.scheduler_name]
    return Attempt(queued, profile, Cycle(profile.name, now), together=True)


class Seat:
    """Looks for the place of one member: where it wants to go, or on the node it was given."""

    def __init__(self, engine: Engine, planner: str, plan: dict[str, str] | None) -> None:
        self._engine = engine
        self._planner = planner
        self._plan = plan

    def find(self, attempt: Attempt) -> Choice:
        """Raises Unfit when there is none."""
        engine = self._engine
        narrowed = engine.cycle.prepare(attempt)
        if self._plan is not None:
            narrowed = self._narrow(attempt, narrowed)
        assert attempt.pod_class is not None
        found = engine.placer.place(attempt.pod_class, attempt.cycle, attempt.pod, narrowed, attempt.session)
        if isinstance(found, FitError):
            raise Unfit(found)
        return found

    def take(self, attempt: Attempt, statement: Statement) -> str:
        """Finds a place and takes it, with nobody asked to reserve anything. Returns the node."""
        choice = self.find(attempt)
        node_name = self._engine.cluster.nodes.object_at(choice.row).metadata.name
        statement.take(attempt.pod, node_name)
        return node_name

    def _narrow(self, attempt: Attempt, narrowed: Narrowed | None) -> Narrowed:
        assert self._plan is not None
        planned = self._plan.get(attempt.queued.pod.metadata.uid)
        if planned is None or (narrowed is not None and planned not in narrowed.names):
            raise Unfit(self._engine.cycle.rejected(unresolvable(UNPLANNED).by(self._planner)))
        return Narrowed(frozenset({planned}), (self._planner,))


class FirstOf(Seat):
    """Looks for the place of one member on the first of some nodes, whatever they score."""

    def __init__(self, engine: Engine, planner: str, names: tuple[str, ...]) -> None:
        super().__init__(engine, planner, None)
        self._names = names

    def find(self, attempt: Attempt) -> Choice:
        engine = self._engine
        narrowed = engine.cycle.prepare(attempt)
        among = frozenset(self._names) if narrowed is None else narrowed.names.intersection(self._names)
        assert attempt.pod_class is not None
        about = attempt.pod_class, attempt.cycle, attempt.pod
        takes = engine.placer.feasible(*about, Narrowed(among, (self._planner,)), attempt.session)
        rows = (engine.cluster.nodes.rows[name] for name in self._names if name in among)
        first = next((row for row in rows if takes[row]), None)
        if first is None:
            raise Unfit(engine.cycle.rejected(unresolvable(UNPLANNED).by(self._planner)))
        return Choice(first)
