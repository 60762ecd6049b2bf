"""The trees in use, worked out again only when labels of a node or the layers have changed.

A node that reports its status is no reason: labels are compared first. The cluster's own layers are those
of the plugin's arguments, else those of the ClusterNetworkTopology named `default`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mooring.cluster.nodes import NodeTable
from mooring.cluster.pods import Hold, PodTable
from mooring.errors import ManifestError
from mooring.framework.api.handle import Handle
from mooring.model.objects import Object
from mooring.plugins.coscheduling.topology.hyper_nodes import from_hyper_nodes
from mooring.plugins.coscheduling.topology.layers import (
    Layout,
    from_cluster_network_topology,
    from_kai,
    from_label,
)
from mooring.plugins.coscheduling.topology.tree import Tree
from mooring.workloads.topology_wishes import Wish

CLUSTER_NETWORK_TOPOLOGY = "ClusterNetworkTopology.scheduling.koordinator.sh"
KAI_TOPOLOGY = "Topology.kai.scheduler"
HYPER_NODE = "HyperNode.topology.volcano.sh"
READS = (
    "scheduling.koordinator.sh/v1alpha1/clusternetworktopologies",
    "kai.scheduler/v1alpha1/topologies",
    "topology.volcano.sh/v1alpha1/hypernodes",
)
DEFAULT = "default"

NO_TOPOLOGY = "no cluster network topology"
NO_HYPER_NODES = "there are no HyperNodes to say which nodes are close to each other"
KEPT = 16  # trees; a label more than that in use at once costs time, nothing else

Labels = Mapping[str, str]


class NodeLabels:
    """Names and labels of all nodes, and which pods have which. Shared by everyone who asks about the same
    cluster."""

    def __init__(self, nodes: NodeTable, pods: PodTable) -> None:
        self._nodes = nodes
        self._pods = pods
        self._by_row: dict[int, tuple[str, Labels]] = {}
        self._position = -1
        self._version = 0

    @property
    def version(self) -> int:
        """Moves when a node joins or leaves, or its labels change."""
        journal = self._nodes.node_journal
        if self._position != journal.position:
            since = journal.since(self._position) if self._position >= 0 else None
            rows = range(self._nodes.high) if since is None else set(since)
            self._position = journal.position
            self._version += sum(map(self._look, rows)) > 0
        return self._version

    def __iter__(self) -> Iterator[tuple[str, Labels]]:
        return iter(self._by_row.values())

    def name(self, row: int) -> str:
        return self._nodes.names[row]

    def of_pod(self, uid: str) -> str:
        """The node a pod holds a place on; "" when on none."""
        placed = self._pods.by_uid.get(uid)
        return "" if placed is None or placed.hold is Hold.PROMISED else placed.node

    def _look(self, row: int) -> bool:
        """Looks at a row again; whether anything is new."""
        node = self._nodes.objects[row]
        if node is None:
            return self._by_row.pop(row, None) is not None
        now = node.metadata.name, node.metadata.labels
        if self._by_row.get(row) == now:
            return False
        self._by_row[row] = now
        return True


class Trees:
    """Finds the tree that a wish is about. Raises ManifestError when what it names is missing or wrong."""

    def __init__(self, handle: Handle, layout: Layout | None = None) -> None:
        self._handle = handle
        self._layout = layout
        self._layouts: dict[tuple[str, str], tuple[Object, Layout | ManifestError]] = {}
        self._trees: dict[Layout, tuple[int, Tree]] = {}
        self._hyper_nodes: tuple[int, Layout | ManifestError] | None = None

    def of(self, wish: Wish) -> Tree:
        if wish.label:
            return self._tree(from_label(wish.label))
        if wish.hyper_nodes:
            return self._tree(self._of_hyper_nodes(wish))
        if not wish.topology:
            return self.default()
        found = self._read(KAI_TOPOLOGY, wish.topology, from_kai)
        if found is None:
            raise ManifestError.at("", f'no topology named "{wish.topology}"')
        return self._tree(found)

    def default(self) -> Tree:
        """The cluster's own network."""
        found = self._layout or self._read(CLUSTER_NETWORK_TOPOLOGY, DEFAULT, from_cluster_network_topology)
        if found is None:
            raise ManifestError.at("", NO_TOPOLOGY)
        return self._tree(found)

    def _of_hyper_nodes(self, wish: Wish) -> Layout:
        """All HyperNodes as layers. Who may go anywhere may go to nodes that are in none, too."""
        lister = self._handle.lister(HYPER_NODE)
        if self._hyper_nodes is None or self._hyper_nodes[0] != lister.version:
            try:
                found: Layout | ManifestError = from_hyper_nodes(lister)
            except ManifestError as error:
                found = error
            self._hyper_nodes = lister.version, found
        known = self._hyper_nodes[1]
        if isinstance(known, ManifestError):
            raise known
        if not known.layers and wish.rules:
            raise ManifestError.at(wish.rules[0].field, NO_HYPER_NODES)
        anywhere = all(known.depth(rule.layer, rule.field) == 0 for rule in wish.rules)
        return replace(known, stand_ins=anywhere)

    def _read(self, kind: str, name: str, parse: Callable[[dict[str, Any]], Layout]) -> Layout | None:
        """The layers of an object, read once as long as it is the same. None when there is none."""
        found = self._handle.lister(kind).get(name)
        if found is None:
            self._layouts.pop((kind, name), None)
            return None
        known = self._layouts.get((kind, name))
        if known is None or known[0] is not found:
            known = self._layouts[kind, name] = found, _parsed(parse, found)
        if isinstance(known[1], ManifestError):
            raise known[1]
        return known[1]

    def _tree(self, layout: Layout) -> Tree:
        nodes = self._handle.cluster.shared(NodeLabels)
        version = nodes.version
        known = self._trees.get(layout)
        if known is None or known[0] != version:
            if len(self._trees) >= KEPT:
                self._trees.clear()
            known = self._trees[layout] = version, Tree(layout, nodes)
        return known[1]


def _parsed(parse: Callable[[dict[str, Any]], Layout], found: Object) -> Layout | ManifestError:
    try:
        return parse(found.data)
    except ManifestError as error:
        where = f"{found.kind} {found.metadata.name}"
        return ManifestError(
            [mistake._replace(place=f"{where}: {mistake.place}") for mistake in error.mistakes]
        )
