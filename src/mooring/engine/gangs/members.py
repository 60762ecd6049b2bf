"""The placing of one member of a group."""

from __future__ import annotations

from collections.abc import Hashable

from mooring.cluster.statement import Statement
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle
from mooring.engine.outcomes import Unfit
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.fit_error import FitError, rejected_before
from mooring.engine.placement.placing import Choice
from mooring.engine.placement.search import Narrowed
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.status import unresolvable

UNPLANNED = "no place in the domain that was chosen"


class Seat:
    """Looks for the place of one member: where it wants to go, or on the node it was given."""

    def __init__(self, cycle: SchedulingCycle, planner: str, plan: dict[str, str] | None) -> None:
        self._search = cycle.search
        self._parts = cycle.parts
        self._planner = planner
        self._plan = plan
        self._asks: dict[tuple[PodClass, frozenset[str]], bool] = {}

    def find(self, attempt: Attempt) -> Choice | Unfit:
        """The node of a member, as far as the filters are concerned."""
        end = self._search.prepare(attempt)
        if end is None and self._plan is not None:
            end = self._narrow(attempt, self._plan)
        if end is not None:
            assert isinstance(end, Unfit), end  # members look for no way out, so that nobody parks them
            return end
        if self._plan is not None and (row := self._passed(attempt)) is not None:
            return Choice(row)
        found = self._look(attempt)
        return Unfit(found) if isinstance(found, FitError) else found

    def _passed(self, attempt: Attempt) -> int | None:
        """The row of the planned node if its filters pass, where asking them about one node costs less than
        repairing what is known of all."""
        placer, pod_class, skipped = self._parts.placer, attempt.pod_class, attempt.cycle.skip_filter
        if placer.keep_scores or placer.count_nodes:
            return None
        like = pod_class, skipped
        if like not in self._asks:
            asked = (form.plugin for form in pod_class.filters if form.name not in skipped)
            self._asks[like] = not any(isinstance(plugin, DomainPlugin) for plugin in asked)
        assert attempt.narrowed is not None
        row = self._parts.cluster.nodes.rows.get(next(iter(attempt.narrowed.names)))
        if row is None or not self._asks[like]:
            return None
        return row if placer.status(attempt, row) is None else None

    def _look(self, attempt: Attempt) -> Choice | FitError:
        return self._parts.placer.place(attempt)

    def take(self, attempt: Attempt, statement: Statement) -> str | Unfit:
        """Finds a place and takes it, with nobody asked to reserve anything. Returns the node."""
        choice = self.find(attempt)
        if isinstance(choice, Unfit):
            return choice
        node_name = self._parts.cluster.nodes.names[choice.row]
        statement.take(attempt.pod, node_name)
        return node_name

    def _narrow(self, attempt: Attempt, plan: dict[str, str]) -> Unfit | None:
        planned = plan.get(attempt.queued.pod.metadata.uid)
        if planned is None or (attempt.narrowed is not None and planned not in attempt.narrowed.names):
            return self._unplanned()
        attempt.narrowed = Narrowed(frozenset({planned}), (self._planner,))
        return None

    def _unplanned(self) -> Unfit:
        status = unresolvable(UNPLANNED).by(self._planner)
        return Unfit(rejected_before(self._parts.cluster.nodes, status))


class QuickSeat(Seat):
    """The same, where nobody asks why: who is like the one before, which found no place, is not tried."""

    _refused: tuple[Hashable, FitError] | None = None

    def _look(self, attempt: Attempt) -> Choice | FitError:
        like = self._like(attempt)
        if like is not None and self._refused is not None and self._refused[0] == like:
            return self._refused[1]
        found = super()._look(attempt)
        self._refused = (like, found) if isinstance(found, FitError) and like is not None else None
        return found

    def _like(self, attempt: Attempt) -> Hashable:
        """What members have in common that are all refused if one of them is; None for who may differ."""
        pod_class, pod = attempt.pod_class, attempt.pod
        if not (pod_class.shared and pod_class.keeps):
            return None
        if self._parts.nominator.node_of(pod.metadata.uid):
            return None
        return pod_class, pod.priority, attempt.cycle.skip_filter, attempt.narrowed


class FirstOf(Seat):
    """Looks for the place of one member on the first of some nodes, whatever they score."""

    def __init__(self, cycle: SchedulingCycle, planner: str, names: tuple[str, ...]) -> None:
        super().__init__(cycle, planner, None)
        self._names = names

    def find(self, attempt: Attempt) -> Choice | Unfit:
        end = self._search.prepare(attempt)
        if isinstance(end, Unfit):
            return end
        narrowed = attempt.narrowed
        among = frozenset(self._names) if narrowed is None else narrowed.names.intersection(self._names)
        attempt.narrowed = Narrowed(among, (self._planner,))
        takes = self._parts.placer.feasible(attempt)
        rows = (self._parts.cluster.nodes.rows[name] for name in self._names if name in among)
        first = next((row for row in rows if takes[row]), None)
        return self._unplanned() if first is None else Choice(first)
