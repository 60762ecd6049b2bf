"""NodePorts: a pod goes only where the host ports it wants are free."""

from __future__ import annotations

from collections.abc import Hashable

from mooring.cluster.columns import Bools, NodeColumns
from mooring.cluster.view import NodeView
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.plugin import Plugin, nothing_to_do, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unschedulable
from mooring.model.objects import Pod
from mooring.model.ports import HostPort, addresses_clash

TAKEN = "node(s) didn't have free ports for the requested pod ports"


class NodePorts(Plugin):
    name = "NodePorts"
    scope = Scope.ROW

    rejection = unschedulable(TAKEN).by(name)

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return frozenset(pod.spec.host_ports) or None

    @nothing_to_do
    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        """Nothing to prepare: pods without host ports are told apart by `sign`."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        return self.rejection if node._nodes.ports.clash(node.row, pod.spec.host_ports) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Bools:
        return ~nodes.port_clashes(pod.spec.host_ports)

    def events(self) -> tuple[Interest, ...]:
        return (Interest(POD, Action.DELETE, port_freed), Interest(NODE, Action.ADD))


def port_freed(pod: Pod, old: Pod, new: None) -> Hint:
    """The pod that went had a place, and a port that the waiting one wants."""
    if not (old.spec.node_name or old.status.nominated_node_name):
        return Hint.SKIP
    clash = any(_clash(one, other) for one in pod.spec.host_ports for other in old.spec.host_ports)
    return Hint.QUEUE if clash else Hint.SKIP


def _clash(one: HostPort, other: HostPort) -> bool:
    return one[1:] == other[1:] and addresses_clash(one[0], other[0])
