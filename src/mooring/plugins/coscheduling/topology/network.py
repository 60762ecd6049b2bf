"""The network in the life of gangs: what Coscheduling asks, for the gangs it has.

A gang says what it wishes in the way it is declared: by Koordinator's annotation on pods or PodGroup, by
the constraint of a KAI PodGroup, or by that of a Kubernetes one. Gangs that start together are planned
together, by the first wish among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mooring.errors import ManifestError
from mooring.framework.api.grouping import Group, Plan, Room
from mooring.framework.api.handle import Handle
from mooring.framework.api.status import Status, unresolvable
from mooring.framework.api.writes import Write
from mooring.model.objects import Pod
from mooring.model.plain import part
from mooring.plugins.coscheduling.topology.detail import detail_status
from mooring.plugins.coscheduling.topology.layers import Layout
from mooring.plugins.coscheduling.topology.planning import Planner
from mooring.plugins.coscheduling.topology.scoring import SelectorScores
from mooring.plugins.coscheduling.topology.tree import Tree
from mooring.plugins.coscheduling.topology.trees import CLUSTER_NETWORK_TOPOLOGY, DEFAULT, READS, NodeLabels
from mooring.workloads.gang import Gang, Standing
from mooring.workloads.topology_wishes import Wish, wish_of_annotation


class Network:
    """Plans and scores by the network. `layout` are the layers of the plugin's arguments."""

    def __init__(self, handle: Handle, layout: Layout | None = None) -> None:
        self._handle = handle
        self._from_object = layout is None
        self._told: Tree | None = None
        self._refused: set[str] = set()
        self._planner = Planner(handle, layout)
        self.scores = SelectorScores(self._planner.trees, self._planner.marks)

    def plan(
        self, gangs: Iterable[Gang], group: Group, room: Room, costs: Mapping[str, int] | None = None
    ) -> Plan | Status | None:
        """A node for each member, or why there is none. None when nobody wishes anything. With costs it is
        only asked what would be, and whoever waits goes on to wait."""
        if costs is None:
            self._refused.discard(group.key)
        gangs = list(gangs)
        try:
            wish = self.wish(gangs)
        except ManifestError as error:
            return unresolvable(str(error))
        if wish is None or not room.members:
            return None
        found = self._planner.plan(group, room, wish, self._placed(gangs), costs)
        if isinstance(found, Status):
            self._refused.add(group.key)
        self._tell()
        return found

    def paths(self) -> dict[str, tuple[str, ...]]:
        """The domains of the cluster's own network that each node is in, the widest first."""
        try:
            return self._planner.trees.default().paths()
        except ManifestError:
            return {}

    def refused(self, group_key: str) -> bool:
        """Whether gangs wait because the last plan for them failed: then any change of nodes may help."""
        return group_key in self._refused

    def is_wished(self, gangs: Iterable[Gang]) -> bool:
        """Whether any of them wishes anything, be it understood or not."""
        try:
            return self.wish(gangs) is not None
        except ManifestError:
            return True

    def wish(self, gangs: Iterable[Gang]) -> Wish | None:
        """The first wish of any of them. Raises ManifestError."""
        return next((wish for gang in gangs if (wish := self._wish_of(gang)) is not None), None)

    def _wish_of(self, gang: Gang) -> Wish | None:
        if gang.terms is not None and gang.terms.topology_spec:
            return wish_of_annotation(gang.terms.topology_spec)
        found = self._handle.lister(gang.dialect.kinds[0]).get(gang.source)
        return None if found is None else gang.dialect.wish(found)

    def _placed(self, gangs: Iterable[Gang]) -> Iterator[tuple[Pod, str]]:
        """Members that have a place, and where."""
        of_pod = self._handle.cluster.shared(NodeLabels).of_pod
        for gang in gangs:
            for standing in (Standing.OPEN, Standing.BOUND):
                for member in gang.crowds[standing]:
                    if node_name := of_pod(member.uid):
                        yield member.pod, node_name

    def _tell(self) -> None:
        """Has the ClusterNetworkTopology say in its status what was found, once for each new tree."""
        found = self._handle.lister(CLUSTER_NETWORK_TOPOLOGY).get(DEFAULT) if self._from_object else None
        if found is None:
            return
        try:
            tree = self._planner.trees.default()
        except ManifestError:
            return
        if tree is self._told:
            return
        self._told = tree
        status = {"detailStatus": detail_status(tree)}
        if part(found.data, "status") != status:
            self._handle.write(Write("patch", READS[0], DEFAULT, {"status": status}, "status"))
