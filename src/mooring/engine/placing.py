"""Finds the best node for a pod, or says why there is none.

The kept evaluation answers when every plugin of the pod's class keeps its answers; otherwise, and
whenever anything is out of the ordinary, the full evaluation does. Both see nominated pods.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools
from mooring.cluster.view import ClusterView
from mooring.engine.classes import PodClass
from mooring.engine.fit_error import FitError, NodeStatuses, nodes_rejected
from mooring.engine.full import FullEvaluation, rows_mask
from mooring.engine.kept.evaluation import KeptEvaluation
from mooring.engine.kept.store import KeptEvaluations
from mooring.engine.nominator import Nominator
from mooring.engine.ties import Ties
from mooring.errors import PluginFailed
from mooring.framework import answers
from mooring.framework.cycle import Cycle
from mooring.framework.session import Session
from mooring.framework.status import Code, Status, unresolvable
from mooring.model.objects import Pod


class Choice(msgspec.Struct, frozen=True):
    """The node a pod gets. `totals` of all feasible nodes only when scores are asked for."""

    row: int
    feasible: int
    totals: dict[str, int] | None = None


class Narrowed(msgspec.Struct, frozen=True):
    """The only nodes a pod may go to, and the plugins that say so."""

    names: frozenset[str]
    plugins: tuple[str, ...]


class Placer:
    """Chooses nodes on the cluster as it is. Changes nothing that it does not undo."""

    def __init__(self, cluster: Cluster, view: ClusterView, nominator: Nominator, rng: random.Random) -> None:
        self._cluster = cluster
        self._view = view
        self._nominator = nominator
        self._ties = Ties(cluster, view, rng)
        self.kept = KeptEvaluations(cluster, view)
        self.full = FullEvaluation(cluster, view)
        self.keep_scores = False
        self.keep_evaluations = True  # off: everything is evaluated afresh, for comparing the two
        self.evaluating = False  # plugins that keep their answers may not look around meanwhile
        self._verdicts: dict[int, tuple[int, FitError]] = {}

    def place(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, narrowed: Narrowed | None, session: Session | None
    ) -> Choice | FitError:
        """The best node, or why there is none."""
        self.evaluating = True
        try:
            return self._place(pod_class, cycle, pod, narrowed, session)
        finally:
            self.evaluating = False

    def _place(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, narrowed: Narrowed | None, session: Session | None
    ) -> Choice | FitError:
        rows = None if narrowed is None else self._rows(narrowed.names)
        if (wanted := self._nominated_row(pod)) is not None and (rows is None or wanted in rows):
            if self._fits_nominated(pod_class, cycle, pod, wanted, session):
                return self._only(pod_class, cycle, pod, wanted, session)
        if self.keep_evaluations and session is None and pod_class.keeps:
            try:
                choice = self._place_kept(pod_class, cycle, pod, rows)
                return choice or self._why_not(pod_class, cycle, pod, narrowed, None)
            except PluginFailed:
                pass  # the full evaluation runs plugins exactly as configured, and fails if it must
        choice = self._place_full(pod_class, cycle, pod, rows, session)
        return choice or self._why_not(pod_class, cycle, pod, narrowed, session)

    # kept evaluation

    def _place_kept(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, rows: Sequence[int] | None
    ) -> Choice | None:
        self._pre_score(pod_class, cycle, pod, ())
        kept = self.kept.of(pod_class, cycle)
        buckets = kept.sync(cycle, pod)
        if self._nominator:
            barred = self._barred_by_nominated(pod_class, cycle, pod)
            rows = self._without(kept, rows, barred) if barred else rows
        if rows is not None:
            return self._best_of(pod_class, cycle, pod, kept.among(rows))
        if not buckets.feasible:
            return None
        _, tied = buckets.best()
        row = self._ties.pick(pod_class.profile, cycle, pod, tied)
        return Choice(row, buckets.feasible, self._named(buckets.totals()))

    def _without(self, kept: KeptEvaluation, rows: Sequence[int] | None, barred: set[int]) -> list[int]:
        candidates = range(len(kept.buckets.group_of)) if rows is None else rows
        return [row for row in candidates if row not in barred]

    def _best_of(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, totals: list[tuple[int, int]]
    ) -> Choice | None:
        if not totals:
            return None
        best = max(total for _, total in totals)
        tied = [row for row, total in totals if total == best]
        row = self._ties.pick(pod_class.profile, cycle, pod, [tied])
        return Choice(row, len(totals), self._named(totals))

    # full evaluation

    def _place_full(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, rows: Sequence[int] | None, session: Session | None
    ) -> Choice | None:
        ok = self.full.feasible(pod_class, cycle, pod, self._candidates(rows), session)
        if self._nominator:
            for row in self._barred_by_nominated(pod_class, cycle, pod):
                ok[row] = False
        feasible = np.flatnonzero(ok).tolist()
        if not feasible:
            return None
        return self._scored(pod_class, cycle, pod, ok, feasible, session)

    def _scored(
        self,
        pod_class: PodClass,
        cycle: Cycle,
        pod: Pod,
        ok: Bools,
        feasible: list[int],
        session: Session | None,
    ) -> Choice | None:
        if len(feasible) == 1 and not self.keep_scores:
            return Choice(feasible[0], 1)
        pod, ok = self._before_score(pod_class, cycle, pod, ok)
        self._pre_score(pod_class, cycle, pod, [self._view.view(row) for row in np.flatnonzero(ok).tolist()])
        totals = self.full.score(pod_class, cycle, pod, ok, session).totals
        return self._best_of(
            pod_class, cycle, pod, [(row, int(totals[row])) for row in np.flatnonzero(ok).tolist()]
        )

    def _before_score(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools) -> tuple[Pod, Bools]:
        for name, method, _ in pod_class.profile.at("before_score"):
            nodes = [self._view.view(row) for row in np.flatnonzero(ok).tolist()]
            answer = answers.call(name, "before_score", method, cycle, pod, nodes)
            if isinstance(answer, Status):
                if answers.status(name, "before_score", answer) is not None:
                    raise answers.failed(name, "before_score", answer.message)
            elif answer is not None:
                pod, nodes = answer
                ok = rows_mask(len(ok), (node.row for node in nodes))
        return pod, ok

    def _pre_score(self, pod_class: PodClass, cycle: Cycle, pod: Pod, nodes: Sequence[object]) -> None:
        """Runs pre_score; a plugin that skips there does not score."""
        if not pod_class.pre_scores:
            return
        skipped = []
        for name, method, plugin in pod_class.pre_scores:
            seen = () if plugin.scope.kept else nodes
            answer = answers.call(name, "pre_score", method, cycle, pod, seen)
            if answers.status(name, "pre_score", answer, {Code.SKIP}) is not None:
                skipped.append(name)
        cycle.skip_score = frozenset(skipped)

    # nominated pods

    def _nominated_row(self, pod: Pod) -> int | None:
        name = self._nominator.node_of(pod.metadata.uid) or pod.status.nominated_node_name
        return self._cluster.nodes.rows.get(name) if name else None

    def _fits_nominated(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, session: Session | None
    ) -> bool:
        """Whether the node the pod was nominated for takes it. What goes wrong here is tried again in full."""
        try:
            if self.full.status(pod_class, cycle, pod, row, session) is not None:
                return False
            ahead = self._nominator.ahead_of(pod).get(self._cluster.nodes.object_at(row).name, [])
            return not ahead or self._status_with(pod_class, cycle, pod, row, ahead) is None
        except PluginFailed:
            return False

    def _only(self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, session: Session | None) -> Choice:
        """The nominated node is the only feasible one: no other is looked at."""
        ok = rows_mask(self._cluster.nodes.high, [row])
        return self._scored(pod_class, cycle, pod, ok, [row], session) or Choice(row, 1)

    def _barred_by_nominated(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> set[int]:
        """Rows that would not take the pod once those nominated to them, and ahead of it, are there."""
        rows = self._cluster.nodes.rows
        return {
            rows[name]
            for name, ahead in self._nominator.ahead_of(pod).items()
            if name in rows and self._status_with(pod_class, cycle, pod, rows[name], ahead) is not None
        }

    def _status_with(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, ahead: Iterable[Pod]
    ) -> Status | None:
        """The status of a node with nominated pods put on it for the moment."""
        node_name = self._cluster.nodes.object_at(row).name
        trial = cycle.clone()
        statement = self._cluster.statement()
        try:
            for other in ahead:
                if other.metadata.uid in self._cluster.pods.by_uid:
                    continue
                statement.take(other, node_name)
                for name, method, _ in pod_class.profile.at("add_pod"):
                    if name not in cycle.skip_filter:
                        view = self._view.view(row)
                        answers.call(name, "add_pod", method, trial, pod, other, view)
            return self.full.status(pod_class, trial, pod, row)
        finally:
            statement.roll_back()

    # why not

    def _why_not(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, narrowed: Narrowed | None, session: Session | None
    ) -> FitError:
        """The status of every node. Known verdicts stand until the journal moves."""
        position = self._cluster.nodes.journal.position
        known = self._verdicts.get(id(pod_class))
        if known is not None and known[0] == position:
            return known[1]
        rows = None if narrowed is None else self._rows(narrowed.names)
        by_row = self.full.statuses(pod_class, cycle, pod, self._candidates(rows), session)
        if self._nominator:
            by_row.update(self._statuses_with_nominated(pod_class, cycle, pod, rows))
        nodes = self._cluster.nodes
        statuses = {nodes.object_at(row).name: status for row, status in by_row.items()}
        absent = Status()
        if narrowed is not None:
            absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(narrowed.plugins)}]")
        found = nodes_rejected(
            NodeStatuses(statuses, nodes.rows, absent), len(nodes), narrowed.plugins if narrowed else ()
        )
        if pod_class.shared and narrowed is None and not self._nominator and pod_class.keeps and not session:
            if len(self._verdicts) > 1000:
                self._verdicts.clear()
            self._verdicts[id(pod_class)] = (position, found)
        return found

    def _statuses_with_nominated(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, rows: Sequence[int] | None
    ) -> dict[int, Status]:
        known = self._cluster.nodes.rows
        found = {}
        for name, ahead in self._nominator.ahead_of(pod).items():
            row = known.get(name)
            if row is not None and (rows is None or row in rows):
                if (status := self._status_with(pod_class, cycle, pod, row, ahead)) is not None:
                    found[row] = status
        return found

    def _rows(self, names: Iterable[str]) -> list[int]:
        """Rows of the nodes of these names that there are, in the order the nodes joined."""
        known = self._cluster.nodes.rows
        return sorted((known[n] for n in names if n in known), key=self._cluster.nodes.arrival.__getitem__)

    def _candidates(self, rows: Sequence[int] | None) -> Bools:
        nodes = self._cluster.nodes
        alive = nodes.alive[: nodes.high]
        return alive.copy() if rows is None else alive & rows_mask(nodes.high, rows)

    def _named(self, totals: Iterable[tuple[int, int]]) -> dict[str, int] | None:
        if not self.keep_scores:
            return None
        return {self._cluster.nodes.object_at(row).name: total for row, total in totals}
