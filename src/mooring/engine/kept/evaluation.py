"""The kept evaluation of one class: exactly what evaluating every node afresh would give.

Pods change a node's row; the journal names the row; only that row is evaluated again. So a decision
costs the same in a cluster of a hundred nodes and of fifty thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import NodeColumns, Rows
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.kept.buckets import Buckets, Raws
from mooring.engine.kept.forms import Forms
from mooring.engine.kept.static import FEW_ROWS, StaticPart
from mooring.errors import PluginFailed
from mooring.framework import answers
from mooring.framework.answers import FILTER_CODES
from mooring.framework.cycle import Cycle
from mooring.framework.forms import Filter, Scorer
from mooring.framework.normalize import MAX_SCORE
from mooring.framework.podshape import PodShape


class KeptEvaluation:
    """Feasible nodes of a class with their totals, kept up to date."""

    def __init__(
        self, cluster: Cluster, view: ClusterView, static: StaticPart, forms: Forms, raw: Forms
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._static = static
        self._forms = forms
        # Raw scores of a row: the static ones first, then those of row scope.
        self._normalized = (*raw.raw, *forms.raw)
        self.skips: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        self._position = -1
        self._generation = -1
        self._shape: PodShape | None = None
        self.buckets = Buckets(0, self._addition)

    def sync(self, cycle: Cycle, pod: Any) -> Buckets:
        """Re-evaluates what changed since the last time. A plugin that fails spoils the whole: start over."""
        journal = self._cluster.nodes.journal
        try:
            self._static.sync(cycle, pod)
            rows = journal.since(self._position) if self._position >= 0 else None
            if rows is None or self._generation != self._static.generation:
                self._build(cycle, pod)
            elif rows:
                distinct = set(rows) if len(rows) > 1 else rows
                if len(distinct) <= FEW_ROWS:
                    self._one_by_one(cycle, pod, distinct)
                elif len(distinct) < self._cluster.nodes.high // 2:
                    self._together(cycle, pod, np.fromiter(distinct, np.intp, len(distinct)))
                else:
                    self._build(cycle, pod)
        except PluginFailed:
            self._position = -1
            raise
        self._position = journal.position
        return self.buckets

    def among(self, rows: Iterable[int]) -> list[tuple[int, int]]:
        """The feasible ones of some rows with their totals, as if there were no other nodes."""
        group_of, base_of = self.buckets.group_of, self.buckets.base_of
        known = len(group_of)  # a row that was never feasible may lie beyond
        feasible = [(row, group) for row in rows if row < known and (group := group_of[row]) is not None]
        raws = list({group.raws for _, group in feasible})
        additions = dict(zip(raws, self._addition(raws), strict=True))
        return [(row, base_of[row] + additions[group.raws]) for row, group in feasible]

    def _build(self, cycle: Cycle, pod: Any) -> None:
        high = self._cluster.nodes.high
        self.buckets = Buckets(high, self._addition)
        self._together(cycle, pod, np.arange(high))
        self._generation = self._static.generation

    def _together(self, cycle: Cycle, pod: Any, rows: Rows) -> None:
        """Evaluates rows by columns."""
        nodes, static, forms = self._cluster.nodes, self._static, self._forms
        columns = NodeColumns(nodes, self._view.view, rows)
        numbers = rows.tolist()
        ok = np.fromiter((static.ok[row] for row in numbers), np.bool_, len(numbers))
        for form in forms.filters:
            ok = form.many(cycle, self._shown(form, pod), columns, ok, nodes)
        base = np.fromiter((static.base[row] for row in numbers), np.int64, len(numbers))
        for scorer, weight in forms.plain:
            base += weight * scorer.many(cycle, self._shown(scorer, pod), columns, ok, nodes)
        raws = [s.many(cycle, self._shown(s, pod), columns, ok, nodes).tolist() for s, _ in forms.raw]
        more: list[Raws] = list(zip(*raws, strict=True)) if raws else [()] * len(numbers)
        put, remove = self.buckets.put, self.buckets.remove
        for row, feasible, score, raw in zip(numbers, ok.tolist(), base.tolist(), more, strict=True):
            if feasible:
                put(row, static.raws[row] + raw, score)
            else:
                remove(row)

    def _one_by_one(self, cycle: Cycle, pod: Any, rows: Iterable[int]) -> None:
        """Evaluates rows one at a time: the way most decisions go."""
        static, forms, buckets = self._static, self._forms, self.buckets
        for row in rows:
            node = self._view.view(row)
            if not static.ok[row] or not self._passes(cycle, pod, node):
                buckets.remove(row)
                continue
            base = static.base[row]
            for scorer, weight in forms.plain:
                base += weight * self._score(cycle, pod, node, scorer)
            raws = static.raws[row]
            if forms.raw:
                raws += tuple(self._score(cycle, pod, node, scorer) for scorer, _ in forms.raw)
            buckets.put(row, raws, base)

    def _shown(self, form: Filter | Scorer, pod: Any) -> Any:
        """The pod as a plugin may see it. Pods of a class look alike: one shape serves them all."""
        if not form.hides_identity:
            return pod
        if self._shape is None:
            self._shape = PodShape(pod)
        return self._shape

    def _passes(self, cycle: Cycle, pod: Any, node: NodeView) -> bool:
        for form in self._forms.filters:
            shown = self._shown(form, pod)
            if form.one_method is None:
                status = form.one(cycle, shown, node, self._cluster.nodes, self._view)
            else:
                try:
                    status = form.one_method(cycle, shown, node)
                except Exception as error:
                    raise answers.raised(form.name, "filter", error) from error
            if status is not None and answers.status(form.name, "filter", status, FILTER_CODES) is not None:
                return False
        return True

    def _score(self, cycle: Cycle, pod: Any, node: NodeView, scorer: Scorer) -> int:
        shown = self._shown(scorer, pod)
        if scorer.one_method is None:
            return scorer.one(cycle, shown, node, self._cluster.nodes, self._view)
        try:
            score = scorer.one_method(cycle, shown, node)
        except Exception as error:
            raise answers.raised(scorer.name, "score", error) from error
        if type(score) is int and (scorer.raw or 0 <= score <= MAX_SCORE):
            return score
        return answers.score(scorer.name, score, raw=scorer.raw)

    def _addition(self, raws: list[Raws]) -> list[int]:
        """G of each group: its raw scores normalised over all groups there are, weighted and summed."""
        totals = [0] * len(raws)
        for index, (scorer, weight) in enumerate(self._normalized):
            values = sorted({raw[index] for raw in raws})
            normalized = dict(zip(values, scorer.normalized(values) if values else (), strict=True))
            for group, raw in enumerate(raws):
                totals[group] += weight * normalized[raw[index]]
        return totals
