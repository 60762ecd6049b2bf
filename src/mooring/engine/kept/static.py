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
from mooring.cluster.columns import Bools, StaticColumns
from mooring.cluster.view import ClusterView, StaticNode
from mooring.engine.kept.buckets import Raws
from mooring.engine.kept.forms import Forms
from mooring.framework import answers
from mooring.framework.cycle import Cycle
from mooring.framework.plugin import Plugin

FEW_ROWS = 24  # up to here one node at a time is quicker than columns


class StaticPart:
    """Static answers per row. `generation` moves when rows changed without the node journal saying so."""

    def __init__(self, cluster: Cluster, view: ClusterView, forms: Forms) -> None:
        self._cluster = cluster
        self._view = view
        self._forms = forms
        self._changing = [p for p in forms.plugins().values() if type(p).version is not Plugin.version]
        self._position = -1
        self._versions: list[Hashable] = []
        self.generation = 0
        self.ok: list[bool] = []
        self.base: list[int] = []
        self.raws: list[Raws] = []

    def sync(self, cycle: Cycle, pod: Any) -> None:
        """Brings the answers up to date with the node objects."""
        journal = self._cluster.nodes.node_journal
        versions = [self._version(plugin) for plugin in self._changing]
        if journal.position == self._position and versions == self._versions:
            return
        rows = journal.since(self._position) if self._position >= 0 else None
        if rows is None or versions != self._versions or len(rows) > FEW_ROWS:
            before = (self.ok, self.base, self.raws)
            self._build(cycle, pod)
            if before != (self.ok, self.base, self.raws):
                self.generation += 1
        else:
            for row in set(rows):
                self._evaluate(cycle, pod, row)
        self._position, self._versions = journal.position, versions

    def _version(self, plugin: Plugin) -> Hashable:
        try:
            return plugin.version
        except Exception as error:
            raise answers.raised(plugin.name, "version", error) from error

    def _build(self, cycle: Cycle, pod: Any) -> None:
        nodes = self._cluster.nodes
        columns = StaticColumns(nodes, self._view.view)
        ok: Bools = columns.alive.copy()
        for form in self._forms.filters:
            ok = form.many(cycle, form.shown(pod), columns, ok, nodes)
        base = np.zeros(len(columns), np.int64)
        for scorer, weight in self._forms.plain:
            base += weight * scorer.many(cycle, scorer.shown(pod), columns, ok, nodes)
        raws = [s.many(cycle, s.shown(pod), columns, ok, nodes) for s, _ in self._forms.raw]
        self.ok, self.base = ok.tolist(), base.tolist()
        lists = [raw.tolist() for raw in raws]
        self.raws = list(zip(*lists, strict=True)) if lists else [()] * len(columns)

    def _evaluate(self, cycle: Cycle, pod: Any, row: int) -> None:
        while row >= len(self.ok):
            self.ok.append(False)
            self.base.append(0)
            self.raws.append(())
        nodes = self._cluster.nodes
        self.ok[row] = False
        if not nodes.alive[row]:
            return
        node = StaticNode(nodes, self._cluster.pods, row)
        for form in self._forms.filters:
            if form.one(cycle, form.shown(pod), node, nodes, self._view) is not None:
                return
        self.base[row] = sum(
            weight * scorer.one(cycle, scorer.shown(pod), node, nodes, self._view)
            for scorer, weight in self._forms.plain
        )
        self.raws[row] = tuple(
            scorer.one(cycle, scorer.shown(pod), node, nodes, self._view) for scorer, _ in self._forms.raw
        )
        self.ok[row] = True
