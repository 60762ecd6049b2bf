"""A node as the scheduler sees it, for `/apis/v1/nodes/:nodeName`: Koordinator's fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.cluster.column import ResourceColumns
from mooring.cluster.nodes import NodeTable
from mooring.cluster.pods import Hold, Placed
from mooring.engine.engine import Engine
from mooring.model.objects import Node, Pod

Amounts = dict[str, int]  # cpu in thousandths, everything else in its base unit


class ImageState(msgspec.Struct, frozen=True, rename="camel"):
    size: int
    num_nodes: int


class NodePage(msgspec.Struct, frozen=True, rename="camel"):
    node: Node
    pods: tuple[Pod, ...]
    pods_with_affinity: tuple[Pod, ...]
    used_ports: dict[str, list[str]]  # by address, such as "TCP/80"
    requested: Amounts
    non_zero_requested: Amounts
    remaining: Amounts
    allocatable: Amounts
    image_states: dict[str, ImageState]
    generation: int


def node_page(engine: Engine, name: str) -> NodePage | None:
    """None when there is no such node."""
    nodes = engine.cluster.nodes
    row = nodes.rows.get(name)
    if row is None:
        return None
    here = [one for one in engine.cluster.pods.on(row).values() if one.hold is not Hold.PROMISED]
    node = nodes.object_at(row)
    allocatable = _amounts(nodes, lambda columns: columns.allocatable.at[row])
    allocatable["pods"] = nodes.max_pods.at[row]
    requested = _amounts(nodes, lambda columns: columns.requested.at[row])
    requested["pods"] = nodes.pods.at[row]
    return NodePage(
        node=node,
        pods=tuple(one.pod for one in here),
        pods_with_affinity=tuple(one.pod for one in here if _has_affinity(one.pod)),
        used_ports=_ports(here),
        requested=requested,
        non_zero_requested={"cpu": nodes.nonzero_cpu_milli.at[row], "memory": nodes.nonzero_memory.at[row]},
        remaining={what: amount - requested.get(what, 0) for what, amount in allocatable.items()},
        allocatable=allocatable,
        image_states=_images(nodes, node),
        generation=nodes.journal.position,
    )


def _amounts(nodes: NodeTable, of: Callable[[ResourceColumns], int]) -> Amounts:
    found = {name: of(columns) for name, columns in nodes.resources.items()}
    return {name: amount for name, amount in found.items() if amount}


def _has_affinity(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)


def _ports(here: list[Placed]) -> dict[str, list[str]]:
    used: dict[str, list[str]] = {}
    for ip, protocol, port in sorted(Counter(p for one in here for p in one.charge.ports)):
        used.setdefault(ip, []).append(f"{protocol}/{port}")
    return used


def _images(nodes: NodeTable, node: Node) -> dict[str, ImageState]:
    names: list[Any] = [name for image in node.status.images for name in image.names]
    known = ((name, nodes.images.find(name)) for name in names)
    return {name: ImageState(image.size_bytes, len(image.rows)) for name, image in known if image}
