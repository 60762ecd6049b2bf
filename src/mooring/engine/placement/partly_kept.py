"""What is kept of classes that some plugin keeps nothing of: the answers of all the others, as arrays.

One plugin that says nothing of what it reads has to be asked about every node for every pod. The others
need not be: what they said stands until a node's row changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, Rows
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.placement.classes import PodClass
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.forms import Filter, Form, Scorer
from mooring.model.objects import Pod

ROWS_KEPT = 2_000_000  # over all classes: about 30 bytes each
OWN_ROWS = 500  # what there is of a class besides takes as much as so many
FEWEST_KEPT = 8  # classes, however large the cluster
FEW_ROWS = 4  # up to here one node at a time is quicker than columns

Weighed = tuple[Scorer, int]


def lasts(form: Form) -> bool:
    """Whether what a plugin says of a node can change only with the node's row, or with its version."""
    return form.scope.kept


class Following(ABC):
    """Answers over the rows, in step with the cluster."""

    def __init__(self, cluster: Cluster, view: ClusterView, plugins: Iterable[Plugin]) -> None:
        self._cluster = cluster
        self._view = view
        self._changing = [p for p in plugins if type(p).version is not Plugin.version]
        self._versions: tuple[Hashable, ...] = ()
        self._position = -1
        self._capacity = -1

    def sync(self, cycle: Cycle, pod: Pod) -> None:
        """Asks again about what changed. A plugin that fails spoils the whole: start over."""
        nodes = self._cluster.nodes
        try:
            versions = tuple(answers.version(p.name, p) for p in self._changing)
            same = not answers.moved(self._versions, versions) and nodes.capacity == self._capacity
            changed = nodes.journal.since(self._position) if same and self._position >= 0 else None
            if changed is None:
                self._start(nodes.capacity)
                self._take(cycle, pod, np.arange(nodes.high))
            elif len(distinct := set(changed)) <= FEW_ROWS:
                for row in distinct:
                    self._take_one(cycle, pod, self._view.view(row))
            else:
                self._take(cycle, pod, np.array(sorted(distinct), np.intp))
        except PluginFailed:
            self._position = -1
            raise
        self._position, self._versions, self._capacity = nodes.journal.position, versions, nodes.capacity

    @abstractmethod
    def _start(self, capacity: int) -> None:
        """Makes room for so many rows."""

    @abstractmethod
    def _take(self, cycle: Cycle, pod: Pod, rows: Rows) -> None:
        """Asks about rows by columns."""

    @abstractmethod
    def _take_one(self, cycle: Cycle, pod: Pod, node: NodeView) -> None:
        """Asks about one row."""

    def _many(self, form: Filter | Scorer, cycle: Cycle, pod: Pod, rows: Rows, among: Bools) -> Any:
        nodes = self._cluster.nodes
        columns = form.columns(nodes, self._view, rows)
        return form.many(cycle, form.shown(pod), columns, among, nodes)

    def _one(self, form: Filter | Scorer, cycle: Cycle, pod: Pod, node: NodeView) -> Any:
        nodes = self._cluster.nodes
        return form.one(cycle, form.shown(pod), form.view(node), nodes, self._view)


class KeptFilters(Following):
    """Filters in their order; those that last and follow each other are one mask."""

    def __init__(self, cluster: Cluster, view: ClusterView, filters: list[Filter]) -> None:
        super().__init__(cluster, view, [form.plugin for form in filters if lasts(form)])
        self.runs: list[list[Filter]] = []  # of filters that last
        self.steps: list[Filter | int] = []  # filters to ask, and numbers of such runs
        for form in filters:
            if not lasts(form):
                self.steps.append(form)
                continue
            if not self.steps or not isinstance(self.steps[-1], int):
                self.steps.append(len(self.runs))
                self.runs.append([])
            self.runs[-1].append(form)

    def _start(self, capacity: int) -> None:
        self.masks: Bools = np.zeros((len(self.runs), capacity), np.bool_)
        self.all: Bools = np.zeros(capacity, np.bool_)  # the rows that pass all of them

    def _take(self, cycle: Cycle, pod: Pod, rows: Rows) -> None:
        alive = self._cluster.nodes.alive[rows]
        everything = alive
        for number, run in enumerate(self.runs):
            ok = alive
            for form in run:
                ok = self._many(form, cycle, pod, rows, ok)
            self.masks[number, rows] = ok
            everything = everything & ok
        self.all[rows] = everything

    def _take_one(self, cycle: Cycle, pod: Pod, node: NodeView) -> None:
        row = node.row
        alive = bool(self._cluster.nodes.alive[row])
        everything = alive
        for number, run in enumerate(self.runs):
            ok = alive and all(self._one(form, cycle, pod, node) is None for form in run)
            self.masks[number, row] = ok
            everything &= ok
        self.all[row] = everything


class KeptScores(Following):
    """Scores of the rows that pass the kept filters: plain ones summed up, raw ones each for itself."""

    def __init__(
        self, cluster: Cluster, view: ClusterView, filters: KeptFilters, scorers: list[Weighed]
    ) -> None:
        kept = [(scorer, weight) for scorer, weight in scorers if lasts(scorer)]
        behind = [form for run in filters.runs for form in run]
        super().__init__(cluster, view, [form.plugin for form in (*behind, *(s for s, _ in kept))])
        self._filters = filters
        self._plain = [(scorer, weight) for scorer, weight in kept if not scorer.raw]
        self._raw = [(scorer, weight) for scorer, weight in kept if scorer.raw]
        self.others = [(scorer, weight) for scorer, weight in scorers if not lasts(scorer)]

    @property
    def raw(self) -> list[tuple[Scorer, int, Ints]]:
        """The scorers whose scores are still to be normalised, with their weights and scores."""
        found = zip(self._raw, self._raws, strict=True)
        return [(scorer, weight, scores) for (scorer, weight), scores in found]

    def _start(self, capacity: int) -> None:
        self.base: Ints = np.zeros(capacity, np.int64)
        self._raws: Ints = np.zeros((len(self._raw), capacity), np.int64)

    def _take(self, cycle: Cycle, pod: Pod, rows: Rows) -> None:
        among = self._filters.all[rows]
        base: Ints = np.zeros(len(rows), np.int64)
        for scorer, weight in self._plain:
            base += weight * self._many(scorer, cycle, pod, rows, among)
        self.base[rows] = base
        for number, (scorer, _) in enumerate(self._raw):
            self._raws[number, rows] = self._many(scorer, cycle, pod, rows, among)

    def _take_one(self, cycle: Cycle, pod: Pod, node: NodeView) -> None:
        row = node.row
        if not self._filters.all[row]:
            return
        self.base[row] = sum(weight * self._one(scorer, cycle, pod, node) for scorer, weight in self._plain)
        for number, (scorer, _) in enumerate(self._raw):
            self._raws[number, row] = self._one(scorer, cycle, pod, node)


class PartlyKept:
    """The answers that last, by class; the least recently used are dropped when there are too many."""

    def __init__(self, cluster: Cluster, view: ClusterView) -> None:
        self._cluster = cluster
        self._view = view
        self._filters: OrderedDict[tuple[PodClass, frozenset[str]], KeptFilters] = OrderedDict()
        self._scores: dict[KeptFilters, tuple[frozenset[str], KeptScores]] = {}

    def filters(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> KeptFilters | None:
        """Those of a class as of now; None where there is nothing to gain, or a plugin fails."""
        if not _some_last(pod_class):
            return None
        key = pod_class, cycle.skip_filter
        found = self._filters.get(key)
        if found is None:
            forms = pod_class.filters_in(cycle)
            found = self._filters[key] = KeptFilters(self._cluster, self._view, forms)
            self._drop()
        self._filters.move_to_end(key)
        try:
            found.sync(cycle, pod)
        except PluginFailed:
            return None  # asked in full, it fails again if it must
        return found

    def scores(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> KeptScores | None:
        """The same of the scores."""
        filters = self.filters(pod_class, cycle, pod)
        if filters is None:
            return None
        skipped, found = self._scores.get(filters, (None, None))
        if found is None or skipped != cycle.skip_score:
            scorers = [(s, weight) for s, weight in pod_class.scorers if s.name not in cycle.skip_score]
            found = KeptScores(self._cluster, self._view, filters, scorers)
            self._scores[filters] = cycle.skip_score, found
        try:
            found.sync(cycle, pod)
        except PluginFailed:
            return None
        return found

    def forget(self) -> None:
        self._filters.clear()
        self._scores.clear()

    def _drop(self) -> None:
        most = max(FEWEST_KEPT, ROWS_KEPT // (OWN_ROWS + self._cluster.nodes.high))
        while len(self._filters) > most:
            _, gone = self._filters.popitem(last=False)
            self._scores.pop(gone, None)


def _some_last(pod_class: PodClass) -> bool:
    """Whether some plugins of the class say what they read and others do not. Where all do, whole
    evaluations are kept; a pod that is unlike any other comes once."""
    profile = pod_class.profile
    changed = profile.at("before_filter") or profile.at("before_score")
    return pod_class.shared and not pod_class.keeps and not changed
