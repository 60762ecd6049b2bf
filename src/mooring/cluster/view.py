"""What plugins see of a node: one at a time, reading only.

`StaticNode` shows the node object. `NodeView` also shows the pods on it. A plugin is handed the one
its scope declares; the other half is not there to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from mooring.cluster.nodes import NodeTable
from mooring.cluster.pods import Hold, PodTable
from mooring.errors import ScopeError
from mooring.model.objects import Node, Pod, Taint

T = TypeVar("T")


class StaticNode:
    """The node object alone."""

    __slots__ = ("_nodes", "_pods", "row")

    _nodes: NodeTable
    _pods: PodTable
    row: int

    def __init__(self, nodes: NodeTable, pods: PodTable, row: int) -> None:
        put = object.__setattr__
        put(self, "_nodes", nodes)
        put(self, "_pods", pods)
        put(self, "row", row)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a node is for reading: its {name} cannot be set")

    @property
    def _static(self) -> StaticNode:
        """The node itself, without the pods on it."""
        return self

    @property
    def object(self) -> Node:
        return self._nodes.object_at(self.row)

    @property
    def name(self) -> str:
        return self.object.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return MappingProxyType(self.object.metadata.labels)

    @property
    def annotations(self) -> Mapping[str, str]:
        return MappingProxyType(self.object.metadata.annotations)

    @property
    def taints(self) -> tuple[Taint, ...]:
        return self.object.spec.taints

    @property
    def unschedulable(self) -> bool:
        return self.object.spec.unschedulable

    @property
    def max_pods(self) -> int:
        return self._nodes.max_pods.at[self.row]

    def allocatable(self, resource: str) -> int:
        """How much of a resource pods may use: cpu in milli, everything else in its base unit."""
        return self._nodes.of_resource(resource).allocatable.at[self.row]

    def __repr__(self) -> str:
        return f"<node {self.name}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name in ROW_ATTRIBUTES:
            raise ScopeError(f"reads node.{name}, which scope STATIC does not declare: use scope ROW")
        raise AttributeError(f"a node has no attribute {name!r}")


class NodeView(StaticNode):
    """A node and the pods on it."""

    __slots__ = ("_static",)  # made once: plugins are shown it all the time

    def __init__(self, nodes: NodeTable, pods: PodTable, row: int) -> None:
        super().__init__(nodes, pods, row)
        object.__setattr__(self, "_static", StaticNode(nodes, pods, row))

    @property
    def pods(self) -> tuple[Pod, ...]:
        """Pods that hold a place here, assumed and terminating ones included."""
        return tuple(p.pod for p in self._pods.on(self.row).values() if p.hold is not Hold.PROMISED)

    @property
    def pod_count(self) -> int:
        return self._nodes.pods.at[self.row]

    def requested(self, resource: str) -> int:
        """How much of a resource the pods here hold; of one that no node has, nothing is counted."""
        return self._nodes.of_resource(resource).requested.at[self.row]

    def free(self, resource: str) -> int:
        """What is left of a resource; negative when the node shrank under its pods."""
        columns = self._nodes.of_resource(resource)
        return columns.allocatable.at[self.row] - columns.requested.at[self.row]

    def requested_nonzero(self, resource: str) -> int:
        """Like `requested`, with 100m cpu and 200Mi memory for each container that names none."""
        if resource == "cpu":
            return self._nodes.nonzero_cpu_milli.at[self.row]
        if resource == "memory":
            return self._nodes.nonzero_memory.at[self.row]
        return self.requested(resource)


ROW_ATTRIBUTES = frozenset(name for name in vars(NodeView) if not name.startswith("_"))


class ClusterView:
    """Reading the whole cluster, for plugins of scope CLUSTER and for hooks that are not kept."""

    def __init__(self, nodes: NodeTable, pods: PodTable) -> None:
        self._nodes = nodes
        self._pods = pods
        self._views: list[NodeView] = []
        self._shared: dict[object, Any] = {}

    def shared(self, make: Callable[[NodeTable, PodTable], T]) -> T:
        """What plugins of several profiles work out of this cluster together: made once, for the first."""
        if make not in self._shared:
            self._shared[make] = make(self._nodes, self._pods)
        found: T = self._shared[make]
        return found

    def view(self, row: int) -> NodeView:
        while len(self._views) <= row:
            self._views.append(NodeView(self._nodes, self._pods, len(self._views)))
        return self._views[row]

    def node(self, name: str) -> NodeView | None:
        row = self._nodes.rows.get(name)
        return None if row is None else self.view(row)

    @property
    def nodes(self) -> list[NodeView]:
        """All nodes, in the order they joined."""
        rows = sorted(self._nodes.rows.values(), key=self._nodes.arrival.__getitem__)
        return [self.view(row) for row in rows]

    def pod(self, uid: str) -> Pod | None:
        """A pod that holds a place anywhere."""
        placed = self._pods.by_uid.get(uid)
        return placed.pod if placed else None

    def __len__(self) -> int:
        return len(self._nodes)
