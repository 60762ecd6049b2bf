"""Placing around nominated pods: a node must take a pod also with those that are to come there first.

A node with nominated pods of the same or a higher priority is asked twice: with them put on it for
the moment, and without. Both answers must be yes.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable

from mooring.cluster.cluster import Cluster
from mooring.cluster.journal import Journal
from mooring.cluster.view import ClusterView
from mooring.engine.classes import PodClass
from mooring.engine.full import FullEvaluation
from mooring.engine.keeping import keeps_filters
from mooring.engine.nominator import Ahead, Nominator
from mooring.errors import PluginFailed
from mooring.framework import answers
from mooring.framework.cycle import Cycle
from mooring.framework.session import Session
from mooring.framework.status import Status
from mooring.model.objects import Pod

CLASSES_KNOWN = 64


class Tried:
    """What was found for one class and priority: for which nominated pods, and as of when."""

    def __init__(self, skipped: frozenset[str]) -> None:
        self.skipped = skipped
        self.position = -1
        self.ahead: Ahead = {}
        self.statuses: dict[str, Status] = {}

    def changed(self, journal: Journal) -> Container[int]:
        """The rows that are not as they were."""
        rows = journal.since(self.position) if self.position >= 0 else None
        if rows is None:
            self.ahead = {}
        return set(rows or ())


class AmongNominated:
    """Answers about nodes that others are nominated to. Changes nothing that it does not undo."""

    def __init__(
        self, cluster: Cluster, view: ClusterView, nominator: Nominator, full: FullEvaluation
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._nominator = nominator
        self._full = full
        self._known: dict[tuple[PodClass, int], Tried] = {}  # the least recently used first

    def own_row(self, pod: Pod) -> int | None:
        """The row of the node this pod is nominated to, if there is such a node."""
        name = self._nominator.node_of(pod.metadata.uid) or pod.status.nominated_node_name
        return self._cluster.nodes.rows.get(name) if name else None

    def fits(self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, session: Session | None) -> bool:
        """Whether the node the pod is nominated to takes it. What fails here fails in the full search too."""
        try:
            if self._full.status(pod_class, cycle, pod, row, session) is not None:
                return False
            ahead = self._nominator.ahead_on(pod, self._cluster.nodes.object_at(row).name)
            return not ahead or self._status(pod_class, cycle, pod, row, ahead) is None
        except PluginFailed:
            return False

    def status(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, session: Session | None
    ) -> Status | None:
        """The status of one node with those nominated to it, or else without: None when it passes both."""
        ahead = self._nominator.ahead_on(pod, self._cluster.nodes.object_at(row).name)
        if ahead and (status := self._status(pod_class, cycle, pod, row, ahead)) is not None:
            return status
        return self._full.status(pod_class, cycle, pod, row, session)

    def statuses(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, among: Collection[int] | None = None
    ) -> dict[int, Status]:
        """Rows that would not take the pod once those nominated to them are there, with the reason."""
        ahead = self._nominator.ahead_of(pod) if self._nominator else {}
        if not ahead:
            return {}
        rows = self._cluster.nodes.rows
        if among is not None:
            ahead = {name: pods for name, pods in ahead.items() if rows.get(name) in among}
        by_name = self._tried(pod_class, cycle, pod, ahead)
        return {rows[name]: status for name, status in by_name.items() if name in rows}

    def forget(self) -> None:
        """Some plugin's answers are no longer right."""
        self._known.clear()

    def _tried(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ahead: Ahead) -> dict[str, Status]:
        """The statuses of nodes that do not pass. Where nothing changed they are those of the last time."""
        rows, journal = self._cluster.nodes.rows, self._cluster.nodes.journal
        keeps = pod_class.shared and keeps_filters(pod_class, cycle, pod)
        known = self._of_class(pod_class, pod.priority, cycle) if keeps else Tried(cycle.skip_filter)
        changed = known.changed(journal)
        found, tried = {}, {}
        for name, others in ahead.items():
            if (row := rows.get(name)) is None:
                continue
            if known.ahead.get(name) is others and row not in changed:
                status = known.statuses.get(name)
            else:
                status = self._status(pod_class, cycle, pod, row, others)
            tried[name] = others
            if status is not None:
                found[name] = status
        known.ahead, known.statuses, known.position = tried, found, journal.position
        return found

    def _of_class(self, pod_class: PodClass, priority: int, cycle: Cycle) -> Tried:
        key = pod_class, priority
        known = self._known.pop(key, None)
        if known is None or known.skipped != cycle.skip_filter:
            known = Tried(cycle.skip_filter)
        self._known[key] = known
        if len(self._known) > CLASSES_KNOWN:
            del self._known[next(iter(self._known))]
        return known

    def _status(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, ahead: Iterable[Pod]
    ) -> Status | None:
        """The status of a node with nominated pods put on it for the moment."""
        node_name = self._cluster.nodes.object_at(row).name
        trial = cycle.clone()
        statement = self._cluster.statement()
        try:
            for other in ahead:
                if other.metadata.uid in self._cluster.pods.by_uid:
                    continue
                statement.take(other, node_name)
                for name, method, _ in pod_class.profile.at("add_pod"):
                    if name not in cycle.skip_filter:
                        answers.call(name, "add_pod", method, trial, pod, other, self._view.view(row))
            return self._full.status(pod_class, trial, pod, row)
        finally:
            statement.roll_back()
