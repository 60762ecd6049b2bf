"""Why a class of pods fits nowhere: the status of every node, kept and repaired where nodes changed.

Pods that fit nowhere come in numbers and come back. The first of a class pays for asking every node;
those after it pay for the nodes that changed since.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import FullEvaluation
from mooring.engine.placement.lasting_answers import looks_at_the_node
from mooring.engine.placement.row_statuses import RowStatuses
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code, Status
from mooring.model.objects import Pod

VERDICTS_KEPT = 200  # classes
REPAIR_SHARE = 4  # when more than a quarter of the nodes changed, asking all is quicker


class Verdict:
    """The status of each row that rejects, as of when."""

    def __init__(self, statuses: RowStatuses) -> None:
        self.statuses = statuses
        self.position = -1
        self.skipped: frozenset[str] = frozenset()
        self._resolvable: Bools | None = None

    @property
    def counts(self) -> dict[Status, int]:
        """How many rows give each status."""
        return self.statuses.counts()

    def overlaid(self, statuses: Mapping[int, Status]) -> Verdict:
        """The same, but for some rows that have another status."""
        other = Verdict(self.statuses.copy())
        for row, status in statuses.items():
            other.put(row, status)
        return other

    def put(self, row: int, status: Status | None) -> None:
        self.statuses.put(row, status)
        if self._resolvable is not None:
            self._resolvable[row] = status is not None and status.code is Code.UNSCHEDULABLE

    @property
    def resolvable(self) -> Bools:
        """The rows on which evicting pods may help."""
        if self._resolvable is None:
            self._resolvable = self.statuses.resolvable()
        return self._resolvable


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
        capacity = self._cluster.nodes.capacity
        if (
            verdict is not None
            and verdict.skipped == cycle.skip_filter
            and verdict.statuses.capacity == capacity
        ):
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
    return pod_class.keeps and all(looks_at_the_node(form.plugin) for form in pod_class.filters)
