"""Placing around nominated pods: a node must take a pod also with those that are to come there first.

A node with nominated pods of the same or a higher priority is asked twice: with them put on it for
the moment, and without. Both answers must be yes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from mooring.cluster.cluster import Cluster
from mooring.cluster.nodes import NodeTable
from mooring.cluster.view import ClusterView
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import FullEvaluation
from mooring.engine.placement.lasting_answers import keeps_filters
from mooring.engine.placement.nominator import Nominator
from mooring.engine.placement.session_forms import SESSION
from mooring.engine.placement.verdicts import Verdict
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Status
from mooring.model.objects import Pod

CLASSES_KNOWN = 64


class Moment:
    """As of when something is known: where in the changes of nodes, and in those of nominations."""

    def __init__(self, nodes: NodeTable, nominator: Nominator) -> None:
        self._nodes = nodes
        self._nominator = nominator
        self._position = self._nominations = -1

    def changed(self) -> Collection[int] | None:
        """The rows that are not as they were then; None when that cannot be told."""
        nodes, nominator = self._nodes, self._nominator
        if self._position == nodes.journal.position and self._nominations == nominator.position:
            return ()
        if self._position < 0:
            return None
        rows, names = nodes.journal.since(self._position), nominator.since(self._nominations)
        if rows is None or names is None:
            return None
        return {*rows, *(row for name in names if (row := nodes.rows.get(name)) is not None)}

    def move_on(self) -> None:
        """It is known as of now."""
        self._position, self._nominations = self._nodes.journal.position, self._nominator.position


class Tried:
    """What was found for one class and priority: the rows that do not pass, also as part of a verdict."""

    def __init__(self, skipped: frozenset[str], nodes: NodeTable, nominator: Nominator) -> None:
        self.skipped = skipped
        self.moment = Moment(nodes, nominator)
        self.statuses: dict[int, Status] = {}
        self._verdict_moment = Moment(nodes, nominator)
        self._alone: Verdict | None = None  # without nominated pods
        self._verdict: Verdict | None = None

    def verdict(self, alone: Verdict) -> Verdict:
        """A verdict with what was found. Both are as of now."""
        changed = self._verdict_moment.changed()
        if self._verdict is None or changed is None or alone is not self._alone:
            self._verdict, self._alone = alone.overlaid(self.statuses), alone
            changed = ()
        for row in changed:
            self._verdict.put(row, self.statuses.get(row) or alone.statuses.get(row))
        self._verdict_moment.move_on()
        return self._verdict


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

    def fits(self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int) -> bool:
        """Whether the node the pod is nominated to takes it. What fails here fails in the full search too."""
        try:
            if self._full.status(pod_class, cycle, pod, row) is not None:
                return False
            ahead = self._nominator.ahead_on(pod, self._cluster.nodes.names[row])
            return not ahead or self._status(pod_class, cycle, pod, row, ahead) is None
        except PluginFailed:
            return False

    def status(self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int) -> Status | None:
        """The status of one node with those nominated to it, or else without: None when it passes both."""
        ahead = self._nominator.ahead_on(pod, self._cluster.nodes.names[row])
        if ahead and (status := self._status(pod_class, cycle, pod, row, ahead)) is not None:
            return status
        return self._full.status(pod_class, cycle, pod, row)

    def statuses(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, among: Collection[int] | None = None
    ) -> Mapping[int, Status]:
        """Rows that would not take the pod once those nominated to them are there, with the reason."""
        if not self._nominator:
            return {}
        keeps = pod_class.shared and keeps_filters(pod_class, cycle, pod)
        found = self._kept(pod_class, cycle, pod) if keeps else self._fresh(pod_class, cycle, pod, among)
        if among is not None and keeps:
            found = {row: status for row, status in found.items() if row in among}
        return found

    def verdict(self, pod_class: PodClass, cycle: Cycle, pod: Pod, alone: Verdict) -> Verdict:
        """The verdict, given that without nominated pods."""
        barred = self.statuses(pod_class, cycle, pod)
        if not barred:
            return alone
        known = self._known.get((pod_class, pod.priority))
        return known.verdict(alone) if known and known.statuses is barred else alone.overlaid(barred)

    def forget(self) -> None:
        """Some plugin's answers are no longer right."""
        self._known.clear()

    def _fresh(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, among: Collection[int] | None
    ) -> dict[int, Status]:
        rows, found = self._cluster.nodes.rows, {}
        for name, others in self._nominator.ahead_of(pod).items():
            row = rows.get(name)
            if row is None or (among is not None and row not in among):
                continue
            if (status := self._status(pod_class, cycle, pod, row, others)) is not None:
                found[row] = status
        return found

    def _kept(self, pod_class: PodClass, cycle: Cycle, pod: Pod) -> dict[int, Status]:
        """The same. Where neither the node nor its nominated pods changed, it is that of the last time."""
        nodes, ahead = self._cluster.nodes, self._nominator.level(pod.priority)
        known = self._of_class(pod_class, pod.priority, cycle)
        changed = known.moment.changed()
        if changed is None:
            known.statuses = {}
            changed = [nodes.rows[name] for name in ahead if name in nodes.rows]
        for row in changed:
            node = nodes.objects[row]
            others = ahead.get(node.name) if node is not None else None
            status = self._status(pod_class, cycle, pod, row, others) if others else None
            if status is not None:
                known.statuses[row] = status
            else:
                known.statuses.pop(row, None)
        known.moment.move_on()
        own = nodes.rows.get(self._nominator.node_of(pod.metadata.uid))
        return known.statuses if own is None else self._but_for_itself(pod_class, cycle, pod, own, known)

    def _but_for_itself(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, own: int, known: Tried
    ) -> dict[int, Status]:
        """On the node a pod is nominated to it is not in its own way."""
        found = {row: status for row, status in known.statuses.items() if row != own}
        others = self._nominator.ahead_on(pod, self._cluster.nodes.names[own])
        if others and (status := self._status(pod_class, cycle, pod, own, others)) is not None:
            found[own] = status
        return found

    def _of_class(self, pod_class: PodClass, priority: int, cycle: Cycle) -> Tried:
        key = pod_class, priority
        known = self._known.pop(key, None)
        if known is None or known.skipped != cycle.skip_filter:
            known = Tried(cycle.skip_filter, self._cluster.nodes, self._nominator)
        self._known[key] = known
        if len(self._known) > CLASSES_KNOWN:
            del self._known[next(iter(self._known))]
        return known

    def _status(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, ahead: Iterable[Pod]
    ) -> Status | None:
        """The status of a node with nominated pods put on it for the moment."""
        node_name = self._cluster.nodes.names[row]
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
            status = self._full.status(pod_class, trial, pod, row)
            if (hearing := cycle.read(SESSION, None)) is not None:
                hearing.heard.put_among_nominated(row, trial.read(SESSION).heard)
            return status
        finally:
            statement.roll_back()
