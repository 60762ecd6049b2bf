"""Placing around nominated pods: a node must take a pod also with those that are to come there first.

A node with nominated pods of the same or a higher priority is asked twice: with them put on it for
the moment, and without. Both answers must be yes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.engine.classes import PodClass
from mooring.engine.full import FullEvaluation
from mooring.engine.nominator import Nominator
from mooring.errors import PluginFailed
from mooring.framework import answers
from mooring.framework.cycle import Cycle
from mooring.framework.session import Session
from mooring.framework.status import Status
from mooring.model.objects import Pod


class AmongNominated:
    """Answers about nodes that others are nominated to. Changes nothing that it does not undo."""

    def __init__(
        self, cluster: Cluster, view: ClusterView, nominator: Nominator, full: FullEvaluation
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._nominator = nominator
        self._full = full

    def own_row(self, pod: Pod) -> int | None:
        """The row of the node this pod is nominated to, if there is such a node."""
        name = self._nominator.node_of(pod.metadata.uid) or pod.status.nominated_node_name
        return self._cluster.nodes.rows.get(name) if name else None

    def fits(self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, session: Session | None) -> bool:
        """Whether the node the pod is nominated to takes it. What fails here fails in the full search too."""
        try:
            if self._full.status(pod_class, cycle, pod, row, session) is not None:
                return False
            ahead = self._nominator.ahead_of(pod).get(self._cluster.nodes.object_at(row).name, [])
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
        if not self._nominator:
            return {}
        rows = self._cluster.nodes.rows
        found = {}
        for name, ahead in self._nominator.ahead_of(pod).items():
            row = rows.get(name)
            if row is None or (among is not None and row not in among):
                continue
            if (status := self._status(pod_class, cycle, pod, row, ahead)) is not None:
                found[row] = status
        return found

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
