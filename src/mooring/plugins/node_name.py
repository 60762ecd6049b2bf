"""NodeName: a pod that names its node goes nowhere else."""

from __future__ import annotations

from collections.abc import Hashable

from mooring.cluster.columns import Bools, StaticColumns
from mooring.cluster.view import StaticNode
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, Action, Interest
from mooring.framework.api.plugin import Plugin, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unresolvable
from mooring.model.objects import Pod

OTHER_NODE = "node(s) didn't match the requested node name"


class NodeName(Plugin):
    name = "NodeName"
    scope = Scope.STATIC

    rejection = unresolvable(OTHER_NODE).by(name)

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return pod.spec.node_name or None

    def filter(self, cycle: Cycle, pod: Pod, node: StaticNode) -> Status | None:
        wanted = pod.spec.node_name
        return self.rejection if wanted and wanted != node.name else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Bools:
        wanted = pod.spec.node_name
        return nodes.named([wanted]) if wanted else ~nodes.mask_of(())

    def events(self) -> tuple[Interest, ...]:
        return (Interest(NODE, Action.ADD),)
