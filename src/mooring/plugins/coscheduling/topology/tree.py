"""The network as a tree: the cluster, its domains layer by layer, and the nodes as leaves.

Each layer is a row of domains that lie in the order of their paths, so the children of a domain are
neighbours and a sum over them is one pass of NumPy. A tree never changes; see `trees` for when it is
worked out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from mooring.plugins.coscheduling.topology.layers import CLUSTER_LAYER, NODE_LAYER, Layout

Ints = NDArray[np.int64]


class Level:
    """The domains of one layer. `first` has one entry more than there are domains: the children of domain
    `i`, a level further down, are those from `first[i]` up to `first[i + 1]`."""

    def __init__(self, layer: str, names: list[str], parents: list[int]) -> None:
        self.layer = layer
        self.names = names
        self.parents: Ints = np.array(parents, np.int64)
        self.first: Ints = np.zeros(len(names) + 1, np.int64)
        self.by_name: Ints = np.empty(len(names), np.int64)  # the rank of each domain among all names
        self.by_name[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))

    def __len__(self) -> int:
        return len(self.names)


class Tree:
    """Levels from the cluster (0) down to the nodes."""

    def __init__(self, layout: Layout, nodes: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        self.layout = layout
        named = ((layout.path(name, labels), name) for name, labels in nodes)
        paths = sorted((*path, name) for path, name in named if path is not None)
        self.levels = [Level(CLUSTER_LAYER, [""], [0])]
        above = [0] * len(paths)  # the domain of each node, one level up
        for depth, layer in enumerate(layout.names[1:], 1):
            names: list[str] = []
            parents: list[int] = []
            here: list[int] = []
            before: tuple[str, ...] | None = None
            for path, parent in zip(paths, above, strict=True):
                own = path[:depth]
                if own != before:
                    before = own
                    names.append(".".join(own) if layout.dotted and layer != NODE_LAYER else own[-1])
                    parents.append(parent)
                here.append(len(names) - 1)
            self.levels.append(Level(layer, names, parents))
            children = np.bincount(self.levels[depth].parents, minlength=len(self.levels[depth - 1]))
            np.cumsum(children, out=self.levels[depth - 1].first[1:])
            above = here
        self.leaves = self.levels[-1]
        self.leaf_of = {name: number for number, name in enumerate(self.leaves.names)}

    def __len__(self) -> int:
        return len(self.leaves)

    def per_leaf(self, amounts: Mapping[str, int]) -> Ints:
        """Amounts by node name, as an array over leaves. Nodes that are not in the tree do not count."""
        values: Ints = np.zeros(len(self), np.int64)
        leaf_of = self.leaf_of
        at = [(leaf_of[name], amount) for name, amount in amounts.items() if name in leaf_of]
        if at:
            index, given = zip(*at, strict=True)
            values[list(index)] = given
        return values

    def sums(self, leaves: Ints) -> list[Ints]:
        """What the leaves under each domain have together, level by level."""
        found = [leaves]
        for depth in range(len(self.levels) - 2, -1, -1):
            found.append(self.summed(depth, found[-1]))
        return found[::-1]

    def summed(self, depth: int, below: Ints) -> Ints:
        """What the children of each domain of a level have together."""
        if not len(below):
            return np.zeros(len(self.levels[depth]), np.int64)
        sums: Ints = np.add.reduceat(below, self.levels[depth].first[:-1])
        return sums

    def upwards(self, depth: int, domains: Ints) -> list[tuple[int, Ints]]:
        """For each level, from one up to the cluster: the domains around some of the first."""
        found = [(depth, domains)]
        while depth:
            domains, depth = self.levels[depth].parents[domains], depth - 1
            found.append((depth, domains))
        return found

    def children(self, depth: int, domain: int) -> range:
        first = self.levels[depth].first
        return range(int(first[domain]), int(first[domain + 1]))

    def paths(self) -> dict[str, tuple[str, ...]]:
        """The domains each node is in, the widest first, without the cluster."""
        found: dict[str, tuple[str, ...]] = {}
        for leaf, name in enumerate(self.leaves.names):
            path: list[str] = []
            domain = leaf
            for level, above in zip(self.levels[:1:-1], self.levels[-2:0:-1], strict=True):
                domain = int(level.parents[domain])
                path.append(above.names[domain])
            found[name] = tuple(reversed(path))
        return found
