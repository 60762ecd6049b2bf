"""Scores for pods that are drawn to others: the nearer in the network, the better. Any pod may have a
selector, of a gang or not.

Candidates are ranked: by how many pods of the selector are on the node, then in the domain around it, and
so on up; then by how few candidates the domains have, from the node up; then by name. The rank is the raw
score, the first of all is 0, and normalising turns it around.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from mooring.cluster.view import NodeView, StaticNode
from mooring.errors import ManifestError
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.normalize import reversed_maximum
from mooring.framework.api.status import Status, skip
from mooring.model.objects import Pod
from mooring.plugins.coscheduling.topology.marks import Marks
from mooring.plugins.coscheduling.topology.tree import Tree
from mooring.plugins.coscheduling.topology.trees import Trees
from mooring.workloads.topology_wishes import selector_of

STATE = "network topology ranks"


def ranks(tree: Tree, candidates: Collection[str], existing: Mapping[str, int]) -> dict[str, int]:
    """The place of each candidate, from 0. All that are not in the tree share the last."""
    inside = [tree.leaf_of[name] for name in candidates if name in tree.leaf_of]
    drawn = tree.sums(tree.per_leaf(existing))
    offers = tree.sums(tree.per_leaf(dict.fromkeys(candidates, 1)))
    up = tree.upwards(len(tree.levels) - 1, np.array(inside, np.int64))
    keys = [
        *(-drawn[depth][domains] for depth, domains in up),
        *(offers[depth][domains] for depth, domains in up),
        tree.leaves.by_name[inside],
    ]
    order = np.lexsort(keys[::-1])
    found = dict.fromkeys(candidates, len(inside))
    names = tree.leaves.names
    found.update((names[inside[at]], rank) for rank, at in enumerate(order.tolist()))
    return found


class SelectorScores:
    """What a plugin says at pre_score and score about pods with a selector."""

    normalize = staticmethod(reversed_maximum)

    def __init__(self, trees: Trees, marks: Marks) -> None:
        self._trees = trees
        self._marks = marks

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        selector = selector_of(pod)
        if not selector:
            return skip()
        try:
            tree = self._trees.default()
        except ManifestError:
            return skip()  # no network to be near in; gangs that need one are told
        names = [node.name for node in nodes]
        cycle.write(STATE, ranks(tree, names, self._marks.existing(selector)))
        return None

    def score(self, cycle: Cycle, pod: Pod, node: StaticNode) -> int:
        rank: int = cycle.read(STATE)[node.name]
        return rank
