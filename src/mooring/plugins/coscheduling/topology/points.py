"""What Coscheduling does at the points of the framework because of the network."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from mooring.cluster.view import NodeView, StaticNode
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import ASSIGNED_POD, NODE, Action, Hint, Interest
from mooring.framework.api.grouping import Group, Plan, Room
from mooring.framework.api.normalize import reversed_maximum
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import SKIP, Status
from mooring.model.objects import Pod
from mooring.plugins.coscheduling.args import CoschedulingArgs
from mooring.plugins.coscheduling.starting import MARKS, unmarked
from mooring.plugins.coscheduling.topology.layers import from_args
from mooring.plugins.coscheduling.topology.network import Network
from mooring.room.for_gang.places_for_members import Planned
from mooring.workloads.dialects import is_member
from mooring.workloads.gang_group import GangGroup
from mooring.workloads.gang_table import Gangs
from mooring.workloads.topology_wishes import SELECTOR_ANNOTATION, selector_of

GANG = "gang"
CHANGES = Action.ADD | Action.DELETE | Action.UPDATE
NODES = Action.ADD | Action.UPDATE
_unread = (MARKS | {SELECTOR_ANNOTATION}).isdisjoint
PODS = Action.DELETE | Action.UPDATE  # one more pod on a node is no reason to hope


class NetworkPoints(Plugin):
    """Plans gangs, and scores pods with a selector. Pods that are only in a gang are not scored."""

    args: CoschedulingArgs
    gangs: Gangs
    normalize = staticmethod(reversed_maximum)

    @property
    def network(self) -> Network | None:
        """None when the arguments say not to look at the network."""
        if not self.args.aware_network_topology:
            return None
        made: Network | None = self.__dict__.get("_network")
        if made is None:
            listed = self.args.network_topology
            made = self._network = Network(self.handle, from_args(listed) if listed else None)
        return made

    def sign(self, pod: Pod) -> Hashable:
        annotations = pod.metadata.annotations
        if not annotations or _unread(annotations):  # nearly every pod, so this comes first
            return GANG if is_member(pod) else None
        selector = selector_of(pod) if self.args.aware_network_topology else ""
        if not selector:
            return GANG if is_member(pod) or not unmarked(annotations) else None
        return GANG if is_member(pod) else "", selector

    def judges(self, sign: Hashable) -> bool:
        return sign != GANG

    def domains_of_nodes(self) -> dict[str, tuple[str, ...]]:
        return {} if self.network is None else self.network.paths()

    def plan_group(self, cycle: Cycle, group: Group, room: Room) -> Plan | Status | None:
        found = self.gangs.groups.get(group.key)
        if self.network is None or found is None:
            return None
        return self.network.plan(found.gangs(), group, room)

    def is_planned(self, group: GangGroup) -> bool:
        """Whether the network says where members of these gangs go, also those that come later."""
        return self.network is not None and self.network.is_wished(group.gangs())

    def planned(self, group: Group) -> Planned | None:
        """Plans for a group with what using nodes costs; None when it may go anywhere."""
        found, network = self.gangs.groups.get(group.key), self.network
        if network is None or found is None:
            return None
        gangs = found.gangs()
        if not network.is_wished(gangs):
            return None
        return lambda group, room, costs: network.plan(gangs, group, room, costs)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        return SKIP if self.network is None else self.network.scores.pre_score(cycle, pod, nodes)

    def score(self, cycle: Cycle, pod: Pod, node: StaticNode) -> int:
        assert self.network is not None, "skipped before"
        return self.network.scores.score(cycle, pod, node)

    def network_events(self) -> tuple[Interest, ...]:
        """What may help a gang that found no place in the network."""
        return (
            Interest(NODE, NODES, self._plans_anew),
            Interest(ASSIGNED_POD, PODS, self._plans_anew),
            Interest("ClusterNetworkTopology", CHANGES, self._plans_anew),
            Interest("Topology", CHANGES, self._plans_anew),
            Interest("HyperNode", CHANGES, self._plans_anew),
        )

    def _plans_anew(self, pod: Pod, old: Any, new: Any) -> Hint:
        member = self.gangs.members.get(pod.metadata.uid)
        if member is None or self.network is None:
            return Hint.SKIP
        return Hint.QUEUE if self.network.refused(member.gang.group.key) else Hint.SKIP
