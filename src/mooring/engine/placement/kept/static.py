"""What node objects alone say about a class: which nodes pass, and what they score.

Shared by every class whose static plugins read the same of a pod. Repaired when node objects change;
recomputed as a whole when a plugin says that something outside nodes and pods has changed, and
compared then, because usually nothing that matters did.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import StaticColumns
from mooring.cluster.view import ClusterView, StaticNode
from mooring.engine.placement.kept.bases import nowhere
from mooring.engine.placement.kept.buckets import Bases, Raws
from mooring.engine.placement.kept.coding import Codes, distinct
from mooring.engine.placement.kept.forms import Forms
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.running.inspection import moves_only_with_nodes

FEW_ROWS = 24  # up to here one node at a time is quicker than columns


class StaticPart:
    """Static answers per row. `generation` moves when rows changed without the node journal saying so."""

    def __init__(self, cluster: Cluster, view: ClusterView, forms: Forms, kind: np.dtype[Any]) -> None:
        self._cluster = cluster
        self._view = view
        self._forms = forms
        self._changing = forms.changing
        self.follows_nodes_alone = all(moves_only_with_nodes(type(p)) for p in self._changing)
        self._position = -1
        self._versions: list[Hashable] = []
        self._number: dict[Raws, int] = {}
        self.generation = 0
        self.groups: list[Raws] = []  # raw scores by code
        self.level: int | None = None  # what all rows in use have, if they all pass and have the same
        self._kind, self._nowhere = kind, nowhere(kind)
        self._put(np.zeros(0, kind), np.zeros(0, np.int32))

    def _put(self, base: Bases, codes: Codes) -> None:
        self.base, self.codes = base, codes  # over all rows the table has room for
        self.base_at = memoryview(base)  # type: ignore[arg-type]
        self.code_at = memoryview(codes)  # type: ignore[arg-type]

    def raws(self, row: int) -> Raws:
        """The raw scores of a row; they mean nothing where the row does not pass."""
        return self.groups[self.code_at[row]]

    def sync(self, cycle: Cycle, pod: Any) -> None:
        """Brings the answers up to date with the node objects."""
        journal = self._cluster.nodes.node_journal
        if self.follows_nodes_alone and journal.position == self._position:
            return
        versions: list[Hashable] = [answers.version(plugin.name, plugin) for plugin in self._changing]
        moved = answers.moved(self._versions, versions)
        if journal.position == self._position and not moved:
            return
        rows = journal.since(self._position) if self._position >= 0 else None
        if rows is None or moved or len(rows) > FEW_ROWS or self._outgrown():
            base, codes = self.base, self.codes
            self._build(cycle, pod)
            if not (np.array_equal(base, self.base) and np.array_equal(codes, self.codes)):
                self.generation += 1
        else:
            for row in set(rows):
                self._evaluate(cycle, pod, row)
                if self.base_at[row] != self.level:
                    self.level = None
        self._position, self._versions = journal.position, versions

    def _outgrown(self) -> bool:
        return len(self.base) != self._cluster.nodes.capacity

    def _build(self, cycle: Cycle, pod: Any) -> None:
        nodes = self._cluster.nodes
        columns = StaticColumns(nodes, self._view.view)
        ok = columns.alive.copy()
        for form in self._forms.filters:
            ok = form.many(cycle, form.shown(pod), columns, ok, nodes)
        scores = np.zeros(len(columns), np.int64)
        for scorer, weight in self._forms.plain:
            scores += weight * scorer.many(cycle, scorer.shown(pod), columns, ok, nodes)
        # What stands for rows that do not pass means nothing: one number for all of them.
        raws = [s.many(cycle, s.shown(pod), columns, ok, nodes) * ok for s, _ in self._forms.raw]
        base: Bases = np.full(nodes.capacity, self._nowhere, self._kind)
        base[: nodes.high] = np.where(ok, scores, self._nowhere)
        even = len(scores) and ok.all() and scores.min() == scores.max()
        self.level = int(scores[0]) if even else None
        codes: Codes = np.zeros(nodes.capacity, np.int32)
        found, first = distinct(raws, len(columns))
        numbers = [self._code(tuple(int(raw[row]) for raw in raws)) for row in first]
        codes[: nodes.high] = np.array(numbers, np.int32)[found] if numbers else 0
        self._put(base, codes)

    def _code(self, raws: Raws) -> int:
        number = self._number.get(raws)
        if number is None:
            number = self._number[raws] = len(self.groups)
            self.groups.append(raws)
        return number

    def _evaluate(self, cycle: Cycle, pod: Any, row: int) -> None:
        nodes = self._cluster.nodes
        self.base_at[row] = self._nowhere
        if not nodes.alive[row]:
            return
        node = StaticNode(nodes, self._cluster.pods, row)
        for form in self._forms.filters:
            if form.one(cycle, form.shown(pod), node, nodes, self._view) is not None:
                return
        base = sum(
            weight * scorer.one(cycle, scorer.shown(pod), node, nodes, self._view)
            for scorer, weight in self._forms.plain
        )
        raws = tuple(
            scorer.one(cycle, scorer.shown(pod), node, nodes, self._view) for scorer, _ in self._forms.raw
        )
        if (code := self._code(raws)) != self.code_at[row]:
            self._put(self.base, self.codes.copy())  # the codes that are there are lent out
            self.code_at[row] = code
        self.base_at[row] = base
