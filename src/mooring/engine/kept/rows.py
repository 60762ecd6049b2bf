"""What the plugins of row scope say of rows for a class: one row, some, or all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import NodeColumns, Rows
from mooring.cluster.nodes import Ints
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.kept.buckets import Bases
from mooring.engine.kept.forms import Forms
from mooring.engine.kept.static import NOWHERE, StaticPart
from mooring.framework import answers
from mooring.framework.answers import FILTER_CODES
from mooring.framework.cycle import Cycle
from mooring.framework.forms import Filter, Scorer
from mooring.framework.normalize import MAX_SCORE
from mooring.framework.podshape import PodShape


class RowForms:
    """Bases of rows, static scores included; NOWHERE where a row is not feasible."""

    def __init__(self, cluster: Cluster, view: ClusterView, static: StaticPart, forms: Forms) -> None:
        self._cluster = cluster
        self._view = view
        self._static = static
        self._forms = forms
        self.raw = forms.raw
        self._shape: PodShape | None = None

    @property
    def over_pods(self) -> bool:
        """Whether every one of them can be asked for many pods at a time."""
        forms: list[Filter | Scorer] = [*self._forms.filters, *(scorer for scorer, _ in self._forms.plain)]
        return not self.raw and all(form.over_pods and not form.hides_identity for form in forms)

    def all(self, cycle: Cycle, pod: Any) -> tuple[Bases, list[Ints]]:
        """Bases of all rows the table has room for, and raw scores of those in use."""
        nodes = self._cluster.nodes
        columns = NodeColumns(nodes, self._view.view)
        bases: Bases = np.full(nodes.capacity, NOWHERE, np.int32)
        bases[: nodes.high], raws = self._by_columns(cycle, pod, columns, self._static.base[: nodes.high])
        return bases, raws

    def some(self, cycle: Cycle, pod: Any, rows: Rows) -> tuple[Bases, list[Ints]]:
        """The same for some rows."""
        columns = NodeColumns(self._cluster.nodes, self._view.view, rows)
        return self._by_columns(cycle, pod, columns, self._static.base[rows])

    def _by_columns(
        self, cycle: Cycle, pod: Any, columns: NodeColumns, static: Bases
    ) -> tuple[Bases, list[Ints]]:
        nodes, forms = self._cluster.nodes, self._forms
        ok = static >= 0
        for form in forms.filters:
            ok = form.many(cycle, self._shown(form, pod), columns, ok, nodes)
        scores = static.astype(np.int64)
        for scorer, weight in forms.plain:
            score = scorer.many(cycle, self._shown(scorer, pod), columns, ok, nodes)
            scores += score if weight == 1 else weight * score
        # What stands for rows that do not pass means nothing: one number for all of them.
        raws = [s.many(cycle, self._shown(s, pod), columns, ok, nodes) * ok for s, _ in forms.raw]
        return np.where(ok, scores, NOWHERE).astype(np.int32), raws

    def base(self, cycle: Cycle, pod: Any, row: int) -> int:
        """The base of one row: the way most decisions go."""
        base: int = self._static.base_at[row]
        if base < 0:
            return NOWHERE
        node, forms = self._view.view(row), self._forms
        for form in forms.filters:
            if not self._passes(cycle, pod, node, form):
                return NOWHERE
        for scorer, weight in forms.plain:
            base += weight * self._score(cycle, pod, node, scorer)
        return base

    def raws(self, cycle: Cycle, pod: Any, row: int) -> tuple[int, ...]:
        """Raw scores of one row, which is feasible."""
        node = self._view.view(row)
        return tuple([self._score(cycle, pod, node, scorer) for scorer, _ in self.raw])

    def _shown(self, form: Filter | Scorer, pod: Any) -> Any:
        """The pod as a plugin may see it. Pods of a class look alike: one shape serves them all."""
        if not form.hides_identity:
            return pod
        if self._shape is None:
            self._shape = PodShape(pod)
        return self._shape

    def _passes(self, cycle: Cycle, pod: Any, node: NodeView, form: Filter) -> bool:
        shown = (self._shape or self._shown(form, pod)) if form.hides_identity else pod
        if form.one_method is None:
            status = form.one(cycle, shown, node, self._cluster.nodes, self._view)
        else:
            try:
                status = form.one_method(cycle, shown, node)
            except Exception as error:
                raise answers.raised(form.name, "filter", error) from error
        return status is None or answers.status(form.name, "filter", status, FILTER_CODES) is None

    def _score(self, cycle: Cycle, pod: Any, node: NodeView, scorer: Scorer) -> int:
        shown = (self._shape or self._shown(scorer, pod)) if scorer.hides_identity else pod
        if scorer.one_method is None:
            return scorer.one(cycle, shown, node, self._cluster.nodes, self._view)
        try:
            score = scorer.one_method(cycle, shown, node)
        except Exception as error:
            raise answers.raised(scorer.name, "score", error) from error
        if type(score) is int and (scorer.raw or 0 <= score <= MAX_SCORE):
            return score
        return answers.score(scorer.name, score, raw=scorer.raw)
