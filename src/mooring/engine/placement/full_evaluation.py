"""Full evaluation: every filter and score over every candidate node, in the configured order.

Slower than the kept evaluation and able to answer everything: plugins that keep nothing, which plugin
rejected which node and why, scores per plugin. The two agree wherever both can answer. Where only some
plugins keep nothing, what the others said may be kept all the same (`keeps`).
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, Rows
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.node_by_node import Asking, normalized
from mooring.engine.placement.partly_kept import PartlyKept
from mooring.engine.placement.row_statuses import RowStatuses
from mooring.errors import OverBudget
from mooring.framework.api import answers
from mooring.framework.api.answers import FILTER_CODES
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Code, Status, skip
from mooring.framework.running.budget import leave_out
from mooring.framework.running.forms import Filter, Scorer
from mooring.model.objects import Pod

PRE_SCORE_CODES = frozenset({Code.SKIP})
FEWEST_AT_ONCE = 64  # nodes; fewer cost as much
CLASSES_OPEN = 64  # classes whose open rows are known


class Scored(msgspec.Struct, frozen=True):
    """Totals over all rows, and each plugin's weighted part of them."""

    totals: Ints
    parts: dict[str, Ints]


class Open(msgspec.Struct, frozen=True, eq=False):
    """The rows that pass the filters which look at node objects alone, as of when; and the other filters."""

    position: int  # of the changes of node objects
    skipped: frozenset[str]
    rows: Bools
    others: list[Filter]


class FullEvaluation:
    """Evaluates one pod on the cluster as it is."""

    def __init__(self, cluster: Cluster, view: ClusterView) -> None:
        self._cluster = cluster
        self._view = view
        self._asking = Asking(cluster, view)
        self._partly = PartlyKept(cluster, view)
        self._open: dict[PodClass, Open] = {}
        self.keeps = False  # answers of classes of which some plugins keep theirs

    def forget(self) -> None:
        """Some plugin's kept answers are no longer right."""
        self._partly.forget()
        self._open.clear()

    def feasible(self, pod_class: PodClass, cycle: Cycle, pod: Pod, candidates: Bools) -> Bools:
        """Which candidates pass every filter."""
        return self._passing(pod_class, cycle, pod, candidates)

    def first(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, order: Rows, wanted: int
    ) -> tuple[Bools, int]:
        """The first so many rows, in this order, that pass every filter; and how many rows lie in front of
        the last of them and with it, or in all when there are fewer. Those far behind it are not asked."""
        found: Bools = np.zeros(self._cluster.nodes.high, np.bool_)
        one_by_one = any(form.many_method is None for form in pod_class.filters_in(cycle))
        missing, looked_at = wanted, 0
        while looked_at < len(order):
            step = max(missing, FEWEST_AT_ONCE) if one_by_one else len(order)
            asked = order[looked_at : looked_at + step]
            candidates: Bools = np.zeros(len(found), np.bool_)
            candidates[asked] = True
            passing = np.flatnonzero(self._passing(pod_class, cycle, pod, candidates)[asked])
            if len(passing) >= missing:
                found[asked[passing[:missing]]] = True
                return found, looked_at + int(passing[missing - 1]) + 1
            found[asked[passing]] = True
            missing -= len(passing)
            looked_at += len(asked)
        return found, looked_at

    def _passing(self, pod_class: PodClass, cycle: Cycle, pod: Pod, candidates: Bools) -> Bools:
        if pod_class.profile.at("before_filter"):
            rows = np.flatnonzero(candidates).tolist()
            passed = [row for row in rows if self.status(pod_class, cycle, pod, row) is None]
            ok: Bools = np.zeros(len(candidates), np.bool_)
            ok[passed] = True
            return ok
        ok = candidates.copy()
        kept = self._partly.filters(pod_class, cycle, pod) if self.keeps else None
        for step in pod_class.filters_in(cycle) if kept is None else kept.steps:
            if not ok.any():
                break
            if isinstance(step, Filter):
                ok = self._asking.passing(step, cycle, pod, ok)
            elif kept is not None:
                ok &= kept.masks[step, : len(ok)]
        return ok

    def statuses(self, pod_class: PodClass, cycle: Cycle, pod: Pod, candidates: Bools) -> RowStatuses:
        """Why candidates fail: the status of the first filter each does not pass."""
        found = RowStatuses(self._cluster.nodes.capacity)
        if pod_class.profile.at("before_filter"):
            for row in np.flatnonzero(candidates).tolist():
                found.put(row, self.status(pod_class, cycle, pod, row))
            return found
        left = candidates.copy()
        nodes = self._cluster.nodes
        for form in pod_class.filters_in(cycle):
            shown = form.shown(pod)
            passed = form.many(cycle, shown, form.columns(nodes, self._view), left, nodes)
            rejected = np.flatnonzero(left & ~passed)
            if len(rejected):
                found.put_many(rejected, form.statuses(cycle, shown, rejected, nodes, self._view))
            left = passed
        return found

    def open_rows(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> Bools:
        """The rows that pass filters which look at node objects alone: kept until one of those changes."""
        if (known := self._known_open(pod_class, cycle)) is not None:
            return known.rows
        nodes = self._cluster.nodes
        rows, others = nodes.alive[: nodes.high].copy(), []
        keeps = pod_class.shared
        for form in pod_class.filters_in(cycle):
            if form.scope is not Scope.STATIC:
                others.append(form)
                continue
            rows = form.many(cycle, form.shown(pod), form.columns(nodes, self._view), rows, nodes)
            keeps = keeps and type(form.plugin).version is Plugin.version
        if keeps:
            if len(self._open) >= CLASSES_OPEN:
                self._open.clear()
            self._open[pod_class] = Open(nodes.node_journal.position, cycle.skip_filter, rows, others)
        return rows

    def _known_open(self, pod_class: PodClass, cycle: Cycle) -> Open | None:
        known, position = self._open.get(pod_class), self._cluster.nodes.node_journal.position
        if known is None or known.position != position or known.skipped != cycle.skip_filter:
            return None
        return known

    def status(self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int) -> Status | None:
        """The status of one node: None when it passes every filter."""
        nodes = self._cluster.nodes
        node = self._view.view(row)
        for name, method, _ in pod_class.profile.at("before_filter"):
            answer = answers.call(name, "before_filter", method, cycle, pod, node)
            if type(answer) is tuple:
                pod = _pod_for_node(name, pod, node, answer)
            elif (status := answers.status(name, "before_filter", answer, FILTER_CODES)) is not None:
                return status
        for form in self._to_ask(pod_class, cycle, row):
            status = form.one(cycle, form.shown(pod), form.view(node), nodes, self._view)
            if status is not None:
                return status
        return None

    def _to_ask(self, pod_class: PodClass, cycle: Cycle, row: int) -> list[Filter]:
        """The filters about one node. Those that are known to let it pass, whoever is there, are left out."""
        known = self._known_open(pod_class, cycle)
        return known.others if known is not None and known.rows[row] else pod_class.filters_in(cycle)

    def pre_score(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools | None) -> None:
        """Runs pre_score; a plugin that skips there does not score. Those that keep their answers see no
        nodes; where all do (None), those that judge by domain say themselves whether they score."""
        hooks = pod_class.kept_pre_scores if ok is None else pod_class.pre_scores
        nodes: list[NodeView] = []
        if ok is not None and any(not hook.plugin.scope.kept for hook in hooks):
            nodes = [self._view.view(row) for row in np.flatnonzero(ok).tolist()]
        skipped = []
        for name, method, plugin in hooks:
            seen = () if ok is None or plugin.scope.kept else nodes
            try:
                answer = answers.call(name, "pre_score", method, cycle, pod, seen)
            except OverBudget as over:
                leave_out(cycle, over)
                answer = skip()
            if answers.status(name, "pre_score", answer, PRE_SCORE_CODES) is not None:
                skipped.append(name)
        cycle.skip_score = frozenset(skipped)

    def score(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools) -> Scored:
        """Totals of the feasible nodes with their parts; what stands for others means nothing."""
        parts: dict[str, Ints] = {}
        for scorer, weight in pod_class.scorers:
            if scorer.name not in cycle.skip_score:
                parts[scorer.name] = self._weighed(scorer, weight, cycle, pod, ok)
        return Scored(sum(parts.values(), np.zeros(len(ok), np.int64)), parts)

    def totals(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools) -> Ints:
        """The totals alone."""
        kept = self._partly.scores(pod_class, cycle, pod) if self.keeps else None
        if kept is None:
            return self.score(pod_class, cycle, pod, ok).totals
        totals: Ints = kept.base[: len(ok)].copy()
        for scorer, weight, scores in kept.raw:
            totals += self._weighed(scorer, weight, cycle, pod, ok, scores[: len(ok)])
        for scorer, weight in kept.others:
            totals = totals + self._weighed(scorer, weight, cycle, pod, ok)  # a session's may be fractions
        return totals

    def _weighed(
        self, scorer: Scorer, weight: int, cycle: Cycle, pod: Pod, ok: Bools, scores: Ints | None = None
    ) -> Ints:
        try:
            if scores is None:
                scores = self._asking.scores(scorer, cycle, pod, ok)
            return weight * (normalized(scorer, scores, ok) if scorer.raw else scores)
        except OverBudget as over:
            leave_out(cycle, over)
            return np.zeros(len(ok), np.int64)


def _pod_for_node(plugin: str, pod: Pod, node: NodeView, answer: tuple[Any, ...]) -> Pod:
    """The pod as one node's filters are to see it. The node is no other."""
    if len(answer) != 2 or type(answer[0]) is not Pod or type(answer[1]) is not NodeView:
        what = f"returned {answers.shown(answer)}, which is not a pod and a node"
        raise answers.failed(plugin, "before_filter", what)
    if answer[1] is not node:
        what = f"returned {answers.shown(answer[1])} for {node!r}, which is another node"
        raise answers.failed(plugin, "before_filter", what)
    return answers.same_pod(plugin, "before_filter", pod, answer[0])


def rows_mask(high: int, rows: Any) -> Bools:
    """True for the given rows."""
    mask = np.zeros(high, np.bool_)
    mask[list(rows)] = True
    return mask
