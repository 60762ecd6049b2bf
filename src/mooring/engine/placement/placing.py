"""Finds the best node for a pod, or says why there is none.

The kept evaluation answers when every plugin of the pod's class keeps its answers; otherwise, and
whenever anything is out of the ordinary, the full evaluation does. Both see nominated pods.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.placement.around_nominated import AmongNominated
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.fit_error import FitError, nodes_rejected
from mooring.engine.placement.full_evaluation import FullEvaluation, rows_mask
from mooring.engine.placement.kept.evaluation import KeptEvaluation
from mooring.engine.placement.kept.store import KeptEvaluations
from mooring.engine.placement.nominator import Nominator
from mooring.engine.placement.sampling import Sampling
from mooring.engine.placement.search import Search
from mooring.engine.placement.ties import Ties
from mooring.engine.placement.verdicts import Verdicts
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Status, unresolvable
from mooring.framework.running.budget import left_out
from mooring.model.objects import Pod

Rows = Sequence[int]
NO_BONUS: Mapping[int, int] = MappingProxyType({})
COUNTED = "mooring/counted"  # where a cycle holds how many nodes were looked at and how many take the pod


class Choice(msgspec.Struct, frozen=True, gc=False):
    """The node a pod gets. `totals` of all feasible nodes only when scores are asked for."""

    row: int
    totals: dict[str, int] | None = None


class Placer:
    """Chooses nodes on the cluster as it is. Changes nothing that it does not undo."""

    def __init__(self, cluster: Cluster, view: ClusterView, nominator: Nominator, rng: random.Random) -> None:
        self.cluster = cluster
        self.view = view
        self._nominated = nominator.node_by_uid
        self._ties = Ties(cluster, view, rng)
        self._sampling = Sampling(cluster.nodes)
        self.kept = KeptEvaluations(cluster, view)
        self.full = FullEvaluation(cluster, view)
        self.verdicts = Verdicts(cluster, self.full)
        self._among_nominated = AmongNominated(cluster, view, nominator, self.full)
        self.keep_scores = False
        self.count_nodes = False  # for those who log them
        self.keep_evaluations = True  # off: everything is evaluated afresh, for comparing the two
        self.evaluating = False  # plugins that keep their answers may not look around meanwhile

    def place(self, search: Search) -> Choice | FitError:
        """The best node, or why there is none."""
        self.evaluating = True
        try:
            return self._choose(search) or self._why_not(search)
        finally:
            self.evaluating = False

    def feasible(self, search: Search) -> Bools:
        """Which rows take the pod: as many as are looked for."""
        with self._asking():
            return self._feasible(search, self._rows(search))

    def own(self, search: Search) -> int | None:
        """The node the pod is nominated to, if it takes the pod."""
        with self._asking():
            row = self._among_nominated.own_row(search.pod)
            return row if row is not None and self._fits_own(search, row) else None

    def best_of(self, search: Search, among: Bools, bonus: Mapping[int, int]) -> Choice | None:
        """The best of some rows that takes the pod as things are now; `bonus` adds to their scores."""
        pod_class, cycle, pod = search.pod_class, search.cycle, search.pod
        with self._asking():
            ok = self.full.feasible(pod_class, cycle, pod, among & self._mask(None))
            if self._nominated:
                rows = set(np.flatnonzero(ok).tolist())
                ok[list(self._among_nominated.statuses(pod_class, cycle, pod, rows))] = False
            return self._best_scored(search, ok, bonus)

    def why_not(self, search: Search) -> FitError:
        """Which nodes do not take the pod, and why."""
        with self._asking():
            return self._why_not(search)

    def statuses(self, search: Search, candidates: Bools) -> dict[int, Status]:
        """Why each of some rows does not take the pod, afresh; also with the pods nominated to it."""
        about = search.pod_class, search.cycle, search.pod
        with self._asking():
            found = dict(self.full.statuses(*about, candidates))
            if self._nominated:
                rows = set(np.flatnonzero(candidates).tolist())
                found.update(self._among_nominated.statuses(*about, rows))
            return found

    @contextmanager
    def _asking(self) -> Iterator[None]:
        self.evaluating = True
        try:
            yield
        finally:
            self.evaluating = False

    def status(self, search: Search, row: int) -> Status | None:
        """What the filters say of one node, also with the pods nominated to it on it."""
        self.evaluating = True
        try:
            return self._among_nominated.status(search.pod_class, search.cycle, search.pod, row)
        finally:
            self.evaluating = False

    def forget(self) -> None:
        """Some plugin's kept answers are no longer right."""
        self.kept.forget()
        self.verdicts.forget()
        self._among_nominated.forget()

    def _choose(self, search: Search) -> Choice | None:
        if self._nominated or search.pod.status.nominated_node_name:
            own = self._choose_own(search)
            if own is not None:
                return own
        rows = None if search.narrowed is None else self._rows(search)
        if search.pod_class.keeps and search.pod_class.shared and self.keep_evaluations:
            try:
                return self._choose_kept(search, rows)
            except PluginFailed:
                pass  # the full evaluation runs plugins exactly as configured, and fails if it must
        ok = self._feasible(search, rows)
        if self.count_nodes:
            self._count(search.cycle, rows, int(ok.sum()))
        return self._best_scored(search, ok)

    def _choose_own(self, search: Search) -> Choice | None:
        """The node the pod is nominated to, if it takes the pod."""
        own = self._among_nominated.own_row(search.pod)
        if own is None:
            return None
        self._lend(search.pod_class, search.cycle, search.pod)
        if not self._fits_own(search, own):
            return None
        if self.count_nodes:
            self._count(search.cycle, [own], 1)
        return self._best_scored(search, self._mask([own])) if self.keep_scores else Choice(own)

    def _fits_own(self, search: Search, own: int) -> bool:
        rows = self._rows(search)
        about = search.pod_class, search.cycle, search.pod
        return (rows is None or own in rows) and self._among_nominated.fits(*about, own)

    def _feasible(self, search: Search, rows: Rows | None) -> Bools:
        pod_class, cycle, pod = search.pod_class, search.cycle, search.pod
        self.full.keeps = self.keep_evaluations
        wanted = self._sampling.wanted(pod_class.profile.plan, rows)
        if wanted is not None and not self._nominated:
            order = self._sampling.order(rows)
            ok, looked_at = self.full.first(pod_class, cycle, pod, order, wanted)
            self._sampling.move_on(looked_at)
            return ok
        ok = self.full.feasible(pod_class, cycle, pod, self._mask(rows))
        if self._nominated:
            ok[list(self._among_nominated.statuses(pod_class, cycle, pod, rows))] = False
        if wanted is not None:
            ok = self._mask(self._sampling.first(set(np.flatnonzero(ok).tolist()), rows, wanted))
        return ok

    # kept evaluation

    def _choose_kept(self, search: Search, rows: Rows | None) -> Choice | None:
        pod_class, cycle, pod = search.pod_class, search.cycle, search.pod
        if pod_class.kept_pre_scores:
            self.full.pre_score(pod_class, cycle, pod, None)
        if pod_class.profile.ledgers:
            left_out(cycle, pod_class.profile.left_out(pod))
        kept = self.kept.of(pod_class, cycle)
        if self._nominated:
            if kept.domains:
                kept.sync(cycle, pod)
                kept.domains.lend(cycle)
            barred = self._among_nominated.statuses(pod_class, cycle, pod, rows)
            index = kept.sync(cycle, pod)  # after nominated pods were tried, which touches their rows
            if self._sampling.wanted(pod_class.profile.plan, rows) is None and index.only(barred):
                return None
            with index.without(barred):
                return self._best_kept(pod_class, cycle, pod, kept, rows)
        kept.sync(cycle, pod)
        choice = self._best_kept(pod_class, cycle, pod, kept, rows)
        if choice is None:
            kept.domains.lend(cycle)  # to who asks why, or looks for a way out
        return choice

    def _lend(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> None:
        """Saves who asks about a single node from working out what is known of all."""
        kept = self.kept.known(pod_class) if self.keep_evaluations else None
        if kept is None or not kept.domains:
            return
        try:
            if pod_class.kept_pre_scores:
                self.full.pre_score(pod_class, cycle, pod, None)
            if kept.skips == (cycle.skip_filter, cycle.skip_score):
                kept.sync(cycle, pod)
                kept.domains.lend(cycle)
        except PluginFailed:
            return  # who asks will meet it, and say so

    def _best_kept(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, kept: KeptEvaluation, rows: Rows | None
    ) -> Choice | None:
        index, profile = kept.index, pod_class.profile
        if profile.looks_at_some:
            wanted = self._sampling.wanted(profile.plan, rows)
            if wanted is not None:
                rows = self._sampling.first({row for row, _ in index.totals()}, rows, wanted)
        if rows is None:
            _, tied = index.best()
            if not tied:
                return None
            row = self._ties.pick(profile, cycle, pod, tied)
            if self.count_nodes:
                self._count(cycle, rows, index.feasible())
            return Choice(row, self._named(index.totals()) if self.keep_scores else None)
        totals = kept.among(rows)
        if not totals:
            return None
        best = max(total for _, total in totals)
        row = self._ties.pick(profile, cycle, pod, [[r for r, total in totals if total == best]])
        if self.count_nodes:
            self._count(cycle, rows, len(totals))
        return Choice(row, self._named(totals) if self.keep_scores else None)

    # full evaluation

    def _best_scored(self, search: Search, ok: Bools, bonus: Mapping[int, int] = NO_BONUS) -> Choice | None:
        """The best of the feasible nodes. A single one is not scored, unless scores are asked for."""
        feasible = np.flatnonzero(ok)
        if not len(feasible):
            return None
        if len(feasible) == 1 and not self.keep_scores:
            return Choice(int(feasible[0]))
        pod_class, cycle = search.pod_class, search.cycle
        pod, ok = self._before_score(pod_class, cycle, search.pod, ok)
        feasible = np.flatnonzero(ok)
        if pod_class.pre_scores:
            self.full.pre_score(pod_class, cycle, pod, ok)
        scored = self.full.totals(pod_class, cycle, pod, ok)
        if bonus:
            scored[list(bonus)] += np.fromiter(bonus.values(), np.int64, len(bonus))
        totals = scored[feasible]
        tied = feasible[totals == totals.max()].tolist()
        row = self._ties.pick(pod_class.profile, cycle, pod, [tied])
        pairs = zip(feasible.tolist(), totals.tolist(), strict=True) if self.keep_scores else None
        return Choice(row, self._named(pairs) if pairs else None)

    def _before_score(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools) -> tuple[Pod, Bools]:
        for name, method, _ in pod_class.profile.at("before_score"):
            nodes = [self.view.view(row) for row in np.flatnonzero(ok).tolist()]
            answer = answers.call(name, "before_score", method, cycle, pod, nodes)
            if type(answer) is tuple:
                pod, ok = answers.call(name, "before_score", self._to_score, name, pod, ok, answer)
            elif (status := answers.status(name, "before_score", answer)) is not None:
                raise answers.failed(name, "before_score", status.message)
        return pod, ok

    def _to_score(self, plugin: str, pod: Pod, ok: Bools, answer: tuple[Any, ...]) -> tuple[Pod, Bools]:
        """The pod and the nodes that a plugin wants scored: of those that take the pod, at least one."""
        sound = len(answer) == 2 and type(answer[0]) is Pod and type(answer[1]) in (list, tuple)
        if not sound or not all(type(node) is NodeView for node in answer[1]):
            what = f"returned {answers.shown(answer)}, which is not a pod and nodes"
            raise answers.failed(plugin, "before_score", what)
        wanted: list[NodeView] = answer[1]
        for node in wanted:
            if node is not self.view.view(node.row) or not ok[node.row]:
                what = f"returned {answers.shown(node)}, which does not take the pod"
                raise answers.failed(plugin, "before_score", what)
        if not wanted:
            raise answers.failed(plugin, "before_score", "returned no nodes")
        changed = answers.same_pod(plugin, "before_score", pod, answer[0])
        return changed, rows_mask(len(ok), [node.row for node in wanted])

    # why not

    def _why_not(self, search: Search) -> FitError:
        """The status of every node."""
        pod_class, cycle, pod, narrowed = search.pod_class, search.cycle, search.pod, search.narrowed
        nodes = self.cluster.nodes
        if narrowed is None:
            verdict = self.verdicts.of(pod_class, cycle, pod)
            if self._nominated:
                verdict = self._among_nominated.verdict(pod_class, cycle, pod, verdict)
            return nodes_rejected(nodes, verdict.statuses, verdict.counts, resolvable=verdict.resolvable)
        rows = self._rows(search)
        by_row = dict(self.full.statuses(pod_class, cycle, pod, self._mask(rows)))
        by_row.update(self._among_nominated.statuses(pod_class, cycle, pod, rows))
        counts = Counter(by_row.values())
        absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(narrowed.plugins)}]")
        return nodes_rejected(nodes, by_row, counts, absent, narrowed.plugins)

    def _rows(self, search: Search) -> list[int] | None:
        """Rows of the only nodes to ask that there are, in the order the nodes joined; None: all of them."""
        if search.narrowed is None:
            return None
        nodes = self.cluster.nodes
        known = (nodes.rows[name] for name in search.narrowed.names if name in nodes.rows)
        return sorted(known, key=nodes.arrival.__getitem__)

    def _mask(self, rows: Rows | None) -> Bools:
        """The rows that hold a node, among the given ones if any are."""
        nodes = self.cluster.nodes
        alive = nodes.alive[: nodes.high]
        return alive.copy() if rows is None else alive & rows_mask(nodes.high, rows)

    def _count(self, cycle: Cycle, rows: Rows | None, feasible: int) -> None:
        cycle.write(COUNTED, (len(self.cluster.nodes) if rows is None else len(rows), feasible))

    def _named(self, totals: Iterable[tuple[int, int]]) -> dict[str, int]:
        return {self.cluster.nodes.names[row]: total for row, total in totals}
