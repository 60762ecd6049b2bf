"""The kept evaluation of one class: exactly what evaluating every node afresh would give.

Pods change a node's row; the journal names the row; only that row is evaluated again. So a decision
costs the same in a cluster of a hundred nodes and of fifty thousand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import NodeColumns, Rows
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.kept.buckets import Buckets, Raws
from mooring.engine.kept.domains import Domains
from mooring.engine.kept.forms import Forms
from mooring.engine.kept.static import FEW_ROWS, StaticPart
from mooring.errors import PluginFailed
from mooring.framework import answers
from mooring.framework.answers import FILTER_CODES
from mooring.framework.cycle import Cycle
from mooring.framework.forms import Filter, Scorer
from mooring.framework.normalize import MAX_SCORE
from mooring.framework.plugin import Plugin
from mooring.framework.podshape import PodShape


class KeptEvaluation:
    """Feasible nodes of a class with their totals, kept up to date."""

    def __init__(
        self,
        cluster: Cluster,
        view: ClusterView,
        static: StaticPart,
        static_forms: Forms,
        forms: Forms,
        domain_forms: Forms,
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._static = static
        self._forms = forms
        # Raws of a row: the static scores first, then those of row scope, then keys of domains.
        self._normalized = (*static_forms.raw, *forms.raw)
        self.domains = Domains(domain_forms, len(self._normalized))
        self.skips: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        self._position = -1
        self._generation = -1
        self._changing = [p for p in forms.plugins().values() if type(p).version is not Plugin.version]
        self._versions: tuple[Hashable, ...] = ()
        self._shape: PodShape | None = None
        self.buckets = Buckets(0, self._addition)

    def sync(self, cycle: Cycle, pod: Any) -> Buckets:
        """Re-evaluates what changed since the last time. A plugin that fails spoils the whole: start over."""
        journal = self._cluster.nodes.journal
        try:
            self._static.sync(cycle, pod)
            if self._changing:
                self._follow_versions()
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

    def _follow_versions(self) -> None:
        """Starts over when a plugin says that something outside nodes and pods has changed."""
        versions = tuple(answers.call(p.name, "version", getattr, p, "version") for p in self._changing)
        if versions != self._versions:
            self._position, self._versions = -1, versions

    def among(self, rows: Iterable[int]) -> list[tuple[int, int]]:
        """The feasible ones of some rows with their totals, as if there were no other nodes."""
        group_of, base_of = self.buckets.group_of, self.buckets.base_of
        known = len(group_of)  # a row that was never feasible may lie beyond
        feasible = [(row, group) for row in rows if row < known and (group := group_of[row]) is not None]
        sizes = Counter(group.raws for _, group in feasible)
        rated = dict(zip(sizes, self._addition(list(sizes), list(sizes.values())), strict=True))
        totals = ((row, base_of[row], rated[group.raws]) for row, group in feasible)
        return [(row, base + addition) for row, base, addition in totals if addition is not None]

    def _build(self, cycle: Cycle, pod: Any) -> None:
        high = self._cluster.nodes.high
        self.buckets = Buckets(high, self._addition, volatile=bool(self.domains))
        self.domains.start(cycle, pod)
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
        if self.domains:
            alive, view = nodes.alive, self._view.view
            shown = [view(row) if alive[row] else None for row in numbers]
            keys = self.domains.update_all(numbers, shown)
            more = [raw + key for raw, key in zip(more, keys, strict=True)]
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
            keys = self._keys(row) if self.domains else ()
            if not static.ok[row] or not self._passes(cycle, pod, node):
                buckets.remove(row)
                continue
            base = static.base[row]
            for scorer, weight in forms.plain:
                base += weight * self._score(cycle, pod, node, scorer)
            raws = static.raws[row]
            if forms.raw:
                raws += tuple(self._score(cycle, pod, node, scorer) for scorer, _ in forms.raw)
            buckets.put(row, raws + keys, base)

    def _keys(self, row: int) -> Raws:
        """Keys of a row's topology domains. Nodes that are full or tainted are counted as well."""
        return self.domains.update(row, self._view.view(row) if self._cluster.nodes.alive[row] else None)

    def _shown(self, form: Filter | Scorer, pod: Any) -> Any:
        """The pod as a plugin may see it. Pods of a class look alike: one shape serves them all."""
        if not form.hides_identity:
            return pod
        if self._shape is None:
            self._shape = PodShape(pod)
        return self._shape

    def _passes(self, cycle: Cycle, pod: Any, node: NodeView) -> bool:
        for form in self._forms.filters:
            shown = (self._shape or self._shown(form, pod)) if form.hides_identity else pod
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

    def _addition(self, raws: list[Raws], sizes: list[int]) -> list[int | None]:
        """G of each group: what domains say of it, and its raw scores normalised over all groups."""
        totals: list[int | None] = [0] * len(raws)
        if self.domains:
            totals = self.domains.rate(raws, sizes)
        feasible = [index for index, total in enumerate(totals) if total is not None]
        for number, (scorer, weight) in enumerate(self._normalized):
            values = sorted({raws[index][number] for index in feasible})  # type: ignore[type-var]
            normalized = dict(zip(values, scorer.normalized(values) if values else (), strict=True))  # type: ignore[arg-type]
            for index in feasible:
                totals[index] = (totals[index] or 0) + weight * normalized[raws[index][number]]
        return totals
