"""What a ClusterNetworkTopology tells in its status: the domains there are, and their sizes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from mooring.plugins.coscheduling.topology.tree import Tree


class DomainName(msgspec.Struct, frozen=True, rename="camel"):
    topology_layer: str
    topology_name: str


class DomainDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A domain as the status of a ClusterNetworkTopology tells of it."""

    topology_info: DomainName
    parent_topology_info: DomainName | None = None
    child_topology_layer: str = ""
    child_topology_names: tuple[str, ...] = ()
    node_num: int


def detail_status(tree: Tree) -> list[dict[str, Any]]:
    """`status.detailStatus` as plain data: every domain above the nodes, each before those in it."""
    sizes = tree.sums(np.ones(len(tree), np.int64))
    found: list[DomainDetail] = []

    def visit(depth: int, domain: int, parent: DomainName | None) -> None:
        level, below = tree.levels[depth], tree.levels[depth + 1]
        own = DomainName(level.layer, level.names[domain])
        children = tree.children(depth, domain)
        last = below is tree.leaves
        names = () if last else tuple(below.names[child] for child in children)
        found.append(
            DomainDetail(
                topology_info=own,
                parent_topology_info=parent,
                child_topology_layer=below.layer if children else "",
                child_topology_names=names,
                node_num=int(sizes[depth][domain]),
            )
        )
        for child in () if last else children:
            visit(depth + 1, child, own)

    visit(0, 0, None)
    plain: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(found))
    return plain
