"""Why a class of pods fits nowhere: the status of every node, kept and repaired where nodes changed.

Pods that fit nowhere come in numbers and come back. The first of a class pays for asking every node;
those after it pay for the nodes that changed since.
"""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict
from collections.abc import Collection, Mapping

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools
from mooring.engine.classes import PodClass
from mooring.engine.full import FullEvaluation
from mooring.framework.cycle import Cycle
from mooring.framework.plugin import Plugin
from mooring.framework.status import Code, Status
from mooring.model.objects import Pod

VERDICTS_KEPT = 200  # classes
REPAIR_SHARE = 4  # when more than a quarter of the nodes changed, asking all is quicker


class Verdict:
    """The status of each row that rejects, and how many rows gave each."""

    def __init__(self, statuses: dict[int, Status]) -> None:
        self.statuses = statuses
        self.counts = _counted(statuses.values())
        self.position = -1
        self.skipped: frozenset[str] = frozenset()
        self._resolvable: Bools | None = None

    def overlaid(self, statuses: Mapping[int, Status]) -> tuple[Mapping[int, Status], Counter[Status]]:
        """The statuses when some rows have another one, and how many rows give each."""
        counts = Counter(self.counts)
        for row, status in statuses.items():
            if (before := self.statuses.get(row)) is not None:
                counts[before] -= 1
            counts[status] += 1
        return ChainMap(dict(statuses), self.statuses), +counts

    def put(self, row: int, status: Status | None) -> None:
        before = self.statuses.pop(row, None)
        if before is not None:
            self.counts[before] -= 1
            if not self.counts[before]:
                del self.counts[before]
        if status is not None:
            self.statuses[row] = status
            self.counts[status] += 1
        if self._resolvable is not None and row < len(self._resolvable):
            self._resolvable[row] = status is not None and status.code is Code.UNSCHEDULABLE

    def resolvable(self, capacity: int) -> Bools:
        """The rows on which evicting pods may help."""
        if self._resolvable is None or len(self._resolvable) != capacity:
            helps = Code.UNSCHEDULABLE
            rows = list(self.statuses)
            if any(status.code is not helps for status in self.counts):
                rows = [row for row, status in self.statuses.items() if status.code is helps]
            self._resolvable = np.zeros(capacity, np.bool_)
            self._resolvable[rows] = True
        return self._resolvable


def _counted(statuses: Collection[Status]) -> Counter[Status]:
    """How often each is there. Most are the same object, which is told quicker than that they are equal."""
    distinct = dict(zip(map(id, statuses), statuses, strict=True))
    counts: Counter[Status] = Counter()
    for number, count in Counter(map(id, statuses)).items():
        counts[distinct[number]] += count
    return counts


class Verdicts:
    """Verdicts of classes whose plugins keep their answers; the least recently used are dropped."""

    def __init__(self, cluster: Cluster, full: FullEvaluation) -> None:
        self._cluster = cluster
        self._full = full
        self._known: OrderedDict[PodClass, Verdict] = OrderedDict()

    def of(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> Verdict:
        """The statuses of all nodes as of now."""
        if not _keeps_filters(pod_class):
            return Verdict(self._full.statuses(pod_class, cycle, pod, self._alive()))
        journal = self._cluster.nodes.journal
        verdict = self._known.get(pod_class)
        rows = None
        if verdict is not None and verdict.skipped == cycle.skip_filter:
            rows = journal.since(verdict.position)
        if verdict is None or rows is None or len(set(rows)) * REPAIR_SHARE > self._cluster.nodes.high:
            verdict = Verdict(self._full.statuses(pod_class, cycle, pod, self._alive()))
        else:
            for row in set(rows):
                alive = self._cluster.nodes.alive[row]
                verdict.put(row, self._full.status(pod_class, cycle, pod, row) if alive else None)
        verdict.position, verdict.skipped = journal.position, cycle.skip_filter
        self._keep(pod_class, verdict)
        return verdict

    def forget(self) -> None:
        self._known.clear()
        self._full.forget()

    def _keep(self, pod_class: PodClass, verdict: Verdict) -> None:
        if not pod_class.shared:
            return
        self._known[pod_class] = verdict
        self._known.move_to_end(pod_class)
        if len(self._known) > VERDICTS_KEPT:
            self._known.popitem(last=False)

    def _alive(self) -> Bools:
        nodes = self._cluster.nodes
        return np.array(nodes.alive[: nodes.high])


def _keeps_filters(pod_class: PodClass) -> bool:
    """Whether a node's status can change only with its row."""
    plugins = [form.plugin for form in pod_class.filters]
    alone = all(plugin.scope.kept and type(plugin).version is Plugin.version for plugin in plugins)
    return pod_class.keeps and alone
