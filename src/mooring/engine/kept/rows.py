"""What the plugins of row scope say of rows for a class: one row, some, or all of them."""

from __future__ import annotations

from collections.abc import Callable
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

Ask = Callable[[Cycle, Any, NodeView], Any]


class RowForms:
    """Bases of rows, static scores included; NOWHERE where a row is not feasible."""

    def __init__(self, cluster: Cluster, view: ClusterView, static: StaticPart, forms: Forms) -> None:
        self._cluster = cluster
        self._view = view
        self._static = static
        self._forms = forms
        self.raw = forms.raw
        self._shape: PodShape | None = None
        # How each is asked about one node, and who it is: put together once, as it is done for every pod.
        self._one_filters = [(form.name, self._one(form)) for form in forms.filters]
        self._one_scorers = [(s.name, self._one(s), weight) for s, weight in forms.plain]
        self._one_raws = [(s.name, self._one(s)) for s, _ in forms.raw]

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
        node = self._view.view(row)
        for name, ask in self._one_filters:
            try:
                status = ask(cycle, pod, node)
            except Exception as error:
                raise answers.raised(name, "filter", error) from error
            if status is not None and answers.status(name, "filter", status, FILTER_CODES) is not None:
                return NOWHERE
        for name, ask, weight in self._one_scorers:
            try:
                score = ask(cycle, pod, node)
            except Exception as error:
                raise answers.raised(name, "score", error) from error
            if type(score) is not int or not 0 <= score <= MAX_SCORE:
                score = answers.score(name, score, raw=False)
            base += weight * score
        return base

    def raws(self, cycle: Cycle, pod: Any, row: int) -> tuple[int, ...]:
        """Raw scores of one row, which is feasible."""
        node = self._view.view(row)
        scores = [(name, answers.call(name, "score", ask, cycle, pod, node)) for name, ask in self._one_raws]
        return tuple([answers.score(name, score, raw=True) for name, score in scores])

    def _shown(self, form: Filter | Scorer, pod: Any) -> Any:
        """The pod as a plugin may see it. Pods of a class look alike: one shape serves them all."""
        if not form.hides_identity:
            return pod
        if self._shape is None:
            self._shape = PodShape(pod)
        return self._shape

    def _one(self, form: Filter | Scorer) -> Ask:
        """What to call to ask about one node: the plugin's own method, if it can be called as it is."""
        method = form.one_method
        if method is None:
            nodes, view = self._cluster.nodes, self._view
            return lambda cycle, pod, node: form.one(cycle, self._shown(form, pod), node, nodes, view)
        if form.hides_identity:
            return lambda cycle, pod, node: method(cycle, self._shown(form, pod), node)
        ask: Ask = method
        return ask
