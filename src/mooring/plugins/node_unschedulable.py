"""NodeUnschedulable: a cordoned node takes only pods that tolerate being there."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mooring.cluster.columns import Bools, StaticColumns
from mooring.cluster.view import StaticNode
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.plugin import Plugin, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unresolvable
from mooring.model.objects import Node, Pod, Taint
from mooring.model.taints import NO_SCHEDULE, tolerates

CORDONED = "node(s) were unschedulable"
TAINT = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"
    scope = Scope.STATIC

    rejection = unresolvable(CORDONED).by(name)

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return None if bears(pod) else "keeps off"

    def filter(self, cycle: Cycle, pod: Pod, node: StaticNode) -> Status | None:
        return self.rejection if node.unschedulable and not bears(pod) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Bools:
        if bears(pod):
            return np.ones(len(nodes), np.bool_)
        return ~nodes.unschedulable

    def events(self) -> tuple[Interest, ...]:
        return (
            Interest(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, uncordoned),
            Interest(POD, Action.UPDATE_POD_TOLERATION, now_bears),
        )


def bears(pod: Pod) -> bool:
    """Whether the pod tolerates a cordoned node."""
    return any(tolerates(toleration, TAINT) for toleration in pod.spec.tolerations)


def uncordoned(pod: Pod, old: Node | None, new: Node) -> Hint:
    """A node came schedulable, or became so."""
    was_closed = old is None or old.spec.unschedulable
    return Hint.QUEUE if was_closed and not new.spec.unschedulable else Hint.SKIP


def now_bears(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    """The pod itself has come to tolerate cordoned nodes."""
    return Hint.QUEUE if new.uid == pod.uid and bears(new) else Hint.SKIP
