"""The members of a group on their way through one attempt, and the placing of one of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.scheduling_cycle import Unfit
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.fit_error import FitError
from mooring.engine.placement.placing import Choice, Narrowed
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.status import unresolvable

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

UNPLANNED = "no place in the domain that was chosen"


def attempt_at(engine: Engine, queued: QueuedPod, now: float) -> Attempt:
    """An attempt at one member of a group."""
    profile = engine.profiles[queued.pod.spec.scheduler_name]
    engine.attempts += 1
    cycle = Cycle(profile.name, now, engine.attempts)
    return Attempt(queued, profile, cycle, queued.pod, together=True)


class Seat:
    """Looks for the place of one member: where it wants to go, or on the node it was given."""

    def __init__(self, engine: Engine, planner: str, plan: dict[str, str] | None) -> None:
        self._engine = engine
        self._planner = planner
        self._plan = plan
        self._asks: dict[tuple[PodClass, frozenset[str]], bool] = {}

    def find(self, attempt: Attempt) -> Choice:
        """Raises Unfit when there is none."""
        engine = self._engine
        narrowed = engine.cycle.prepare(attempt)
        if self._plan is not None:
            narrowed = self._narrow(attempt, narrowed)
            if (row := self._passed(attempt, narrowed)) is not None:
                return Choice(row)
        found = self._look(attempt, narrowed)
        if isinstance(found, FitError):
            raise Unfit(found)
        return found

    def _passed(self, attempt: Attempt, narrowed: Narrowed) -> int | None:
        """The row of the planned node if its filters pass, where asking them about one node costs less than
        repairing what is known of all."""
        placer, pod_class, cycle = self._engine.placer, attempt.pod_class, attempt.cycle
        assert pod_class is not None
        if attempt.session is not None or placer.keep_scores or placer.count_nodes:
            return None
        like = pod_class, cycle.skip_filter
        if like not in self._asks:
            asked = (form.plugin for form in pod_class.filters if form.name not in cycle.skip_filter)
            self._asks[like] = not any(isinstance(plugin, DomainPlugin) for plugin in asked)
        row = self._engine.cluster.nodes.rows.get(next(iter(narrowed.names)))
        if row is None or not self._asks[like]:
            return None
        return row if placer.status(pod_class, cycle, attempt.pod, row, None) is None else None

    def _look(self, attempt: Attempt, narrowed: Narrowed | None) -> Choice | FitError:
        assert attempt.pod_class is not None
        about = attempt.pod_class, attempt.cycle, attempt.pod
        return self._engine.placer.place(*about, narrowed, attempt.session)

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


class QuickSeat(Seat):
    """The same, where nobody asks why: who is like the one before, which found no place, is not tried."""

    _refused: tuple[Hashable, FitError] | None = None

    def _look(self, attempt: Attempt, narrowed: Narrowed | None) -> Choice | FitError:
        like = self._like(attempt, narrowed)
        if like is not None and self._refused is not None and self._refused[0] == like:
            return self._refused[1]
        found = super()._look(attempt, narrowed)
        self._refused = (like, found) if isinstance(found, FitError) and like is not None else None
        return found

    def _like(self, attempt: Attempt, narrowed: Narrowed | None) -> Hashable:
        """What members have in common that are all refused if one of them is; None for who may differ."""
        pod_class, pod = attempt.pod_class, attempt.pod
        assert pod_class is not None
        if attempt.session is not None or not pod_class.shared:
            return None
        if self._engine.nominator.node_of(pod.metadata.uid):
            return None
        return pod_class, pod.priority, attempt.cycle.skip_filter, narrowed


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
