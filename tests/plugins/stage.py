"""A small cluster to ask plugins about, in both of their forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import NodeColumns, StaticColumns
from mooring.cluster.view import ClusterView, NodeView, StaticNode
from mooring.config.feature_gates import FeatureGates
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status
from mooring.framework.loading.rehearsal import StageHandle
from mooring.model.objects import (
    Container,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    ResourceRequirements,
    Taint,
)

Resources = dict[str, Any]


def node(name: str = "n", allocatable: Resources | None = None, **spec: Any) -> Node:
    """A node; `labels` and `images` go where they belong, everything else into its spec."""
    labels, images = spec.pop("labels", {}), spec.pop("images", ())
    room: Resources = {"pods": 110} | (allocatable or {})
    status = NodeStatus(allocatable=room, capacity=room, images=tuple(images))
    return Node(metadata=ObjectMeta(name=name, labels=labels), spec=NodeSpec(**spec), status=status)


def pod(name: str = "p", *, uid: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    """A pod whose spec has the given fields."""
    meta = ObjectMeta(name=name, namespace="default", uid=uid or name, labels=labels or {})
    return Pod(metadata=meta, spec=PodSpec(**spec))


def asking(name: str = "p", resources: Resources | None = None, **spec: Any) -> Pod:
    """A pod with one container that asks for these resources; without any, a pod without containers."""
    return pod(name, containers=(container(resources),) if resources else (), **spec)


def container(requests: Resources | None = None, **fields: Any) -> Container:
    return Container(resources=ResourceRequirements(requests=requests or {}), **fields)


def ports(*texts: str) -> tuple[ContainerPort, ...]:
    """`protocol/address:port` each."""
    found = []
    for text in texts:
        protocol, _, rest = text.partition("/")
        address, _, port = rest.rpartition(":")
        found.append(ContainerPort(protocol=protocol, host_ip=address, host_port=int(port)))
    return tuple(found)


def taint(text: str) -> Taint:
    """`key=value:effect`"""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=effect)


class Stage:
    """Nodes with pods on them."""

    def __init__(self, nodes: Iterable[Node] = (), gates: FeatureGates | None = None) -> None:
        self.cluster = Cluster()
        self.handle = StageHandle(self.cluster, gates)
        self.view = ClusterView(self.cluster.nodes, self.cluster.pods)
        for each in nodes:
            self.put(each)

    def put(self, node: Node) -> None:
        with self.cluster.statement() as statement:
            statement.put_node(node)

    def drop(self, name: str) -> None:
        with self.cluster.statement() as statement:
            statement.drop_node(name)

    def take(self, pod: Pod, name: str) -> Stage:
        """The pod runs on the node."""
        uid = f"{pod.uid}-{len(self.cluster.pods)}"
        placed = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))
        with self.cluster.statement() as statement:
            statement.take(placed.on_node(name), name, bound=True)
        return self

    def make(self, plugin: type[Plugin], **args: Any) -> Plugin:
        """A plugin with arguments as a configuration writes them."""
        return plugin(msgspec.convert(args, plugin.Args), self.handle)

    def filtered(self, plugin: Any, pod: Pod) -> dict[str, Status | None]:
        """The status of every node, when both forms say the same."""
        cycle = Cycle("test", 0.0)
        ok = plugin.filter_nodes(cycle, pod, self._columns(plugin))
        assert ok.dtype == bool
        assert len(ok) == self.cluster.nodes.high
        found = {n.name: plugin.filter(cycle, pod, self._shown(plugin, n)) for n in self.view.nodes}
        assert {n.name: bool(ok[n.row]) for n in self.view.nodes} == {k: v is None for k, v in found.items()}
        if hasattr(plugin, "statuses_of"):
            rejected = [n for n in self.view.nodes if found[n.name] is not None]
            rows = np.array([n.row for n in rejected], np.intp)
            columns = NodeColumns(self.cluster.nodes, self.view.view, rows)
            if rejected:
                given = plugin.statuses_of(cycle, pod, columns)
                statuses = [given.distinct[number] for number in given.numbers.tolist()]
                assert statuses == [found[n.name] for n in rejected]
        return found

    def scored(self, plugin: Any, pod: Pod) -> dict[str, int]:
        """The score of every node, not yet normalised, when both forms say the same."""
        cycle = Cycle("test", 0.0)
        scores = plugin.score_nodes(cycle, pod, self._columns(plugin))
        assert scores.dtype == "int64"
        assert len(scores) == self.cluster.nodes.high
        found = {n.name: plugin.score(cycle, pod, self._shown(plugin, n)) for n in self.view.nodes}
        assert all(type(score) is int for score in found.values())
        assert {n.name: int(scores[n.row]) for n in self.view.nodes} == found
        return found

    def normalized(self, plugin: Any, pod: Pod) -> dict[str, int]:
        scores = self.scored(plugin, pod)
        return dict(zip(scores, plugin.normalize(list(scores.values())), strict=True))

    def _columns(self, plugin: Plugin) -> StaticColumns:
        kind = StaticColumns if plugin.scope is Scope.STATIC else NodeColumns
        return kind(self.cluster.nodes, self.view.view)

    def _shown(self, plugin: Plugin, node: NodeView) -> StaticNode:
        if plugin.scope is Scope.STATIC:
            return StaticNode(self.cluster.nodes, self.cluster.pods, node.row)
        return node
