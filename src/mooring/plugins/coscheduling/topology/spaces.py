"""The room of every domain for the pods of one gang, and how a domain's share is split among those in it.

A domain offers what its children offer together, down to a multiple of what its layer and all layers below
ask for; so it takes exactly the multiples up to its offer, and a share is split by giving each child in
turn as much as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from mooring.plugins.coscheduling.topology.incomplete import Incomplete, largest
from mooring.plugins.coscheduling.topology.rules import Rules
from mooring.plugins.coscheduling.topology.tree import Ints, Tree

Bools = NDArray[np.bool_]


def _nobody() -> Iterable[str]:
    return ()


class Request(msgspec.Struct, frozen=True):
    """A gang that looks for room. Everything about nodes is by their names.

    offers    how many of its pods a node takes
    existing  pods it is drawn to
    bound     its own members that have their place: they count for multiples, and it stays where they are
    costs     what using a node costs; less is better
    busy      nodes with pods on them that would not be on any node; asked only between equals
    """

    desired: int
    offers: Mapping[str, int]
    rules: Rules
    existing: Mapping[str, int] = {}
    bound: Mapping[str, int] = {}
    costs: Mapping[str, int] = {}
    busy: Callable[[], Iterable[str]] = _nobody


class Spaces:
    """Offers and all else that is known of domains, level by level."""

    def __init__(self, tree: Tree, request: Request) -> None:
        self.tree = tree
        self.request = request
        rules = request.rules
        self._below = rules.multiples_below
        room = np.maximum(tree.per_leaf(request.offers), 0)
        self.offers = self._offered(room)
        self.existing = tree.sums(tree.per_leaf(request.existing))
        self.costs = tree.sums(tree.per_leaf(request.costs))
        self.bound = tree.sums(tree.per_leaf(request.bound))
        self._gaps = Incomplete(tree, rules, self.bound, self.offers, room, request.desired)

    def _offered(self, room: Ints) -> list[Ints]:
        found = [room - room % self._below[-1]]
        for depth in range(len(self.tree.levels) - 2, -1, -1):
            offered = self.tree.summed(depth, found[-1])
            found.append(offered - offered % self._below[depth])
        return found[::-1]

    def fitting(self) -> list[Bools]:
        """Which domains can take all the pods, by level. A domain that can lies in one that can."""
        desired, rules = self.request.desired, self.request.rules
        found: list[Bools] = []
        right: Bools = np.ones(1, np.bool_)  # the number suits all layers so far
        for depth, level in enumerate(self.tree.levels):
            right = right[level.parents] & ((self.bound[depth] + desired) % rules.multiples[depth] == 0)
            able = (self.offers[depth] >= desired) & (desired % self._below[depth] == 0)
            for (at, domain), counts in self._gaps.counts.items():
                if at == depth:
                    able[domain] = counts >> desired & 1
            found.append(able & right)
        return found

    def most(self, depth: int, domain: int, wanted: int) -> int:
        """The most pods that a domain takes, up to a number."""
        counts = self._gaps.counts.get((depth, domain))
        if counts is not None:
            return largest(counts, wanted)
        count = min(int(self.offers[depth][domain]), wanted)
        return count - count % self._below[depth]

    def distribute(self, depth: int, domain: int, wanted: int) -> list[tuple[str, int]]:
        """Nodes of a domain and how many pods each gets, in the order they are filled: as many pods as the
        domain takes, up to a number."""
        count = self.most(depth, domain, wanted)
        if not count:
            return []
        if depth == len(self.tree.levels) - 1:
            return [(self.tree.leaves.names[domain], count)]
        found: list[tuple[str, int]] = []
        for child, share in self._split(depth, domain, count):
            found += self.distribute(depth + 1, child, share)
        return found

    def _split(self, depth: int, domain: int, count: int) -> list[tuple[int, int]]:
        order = self._order(depth + 1, self.tree.children(depth, domain))
        shares: list[tuple[int, int]] = []
        if (depth, domain) in self._gaps.counts:
            shares = self._gaps.split(depth, domain, count, order.tolist())
            count -= sum(share for _, share in shares)
            gaps = [child for child, _ in shares]
            order = order[~np.isin(order, gaps)]
        offers = self.offers[depth + 1][order]
        before = np.cumsum(offers) - offers
        takes = np.clip(count - before, 0, offers)
        some = takes > 0
        return shares + list(zip(order[some].tolist(), takes[some].tolist(), strict=True))

    def _order(self, depth: int, children: range) -> Ints:
        """Those with pods the gang is drawn to first, then the roomiest, the cheapest, and by name."""
        part = slice(children.start, children.stop)
        keys = self.costs[depth][part], -self.offers[depth][part], -self.existing[depth][part]
        return np.lexsort(keys) + children.start
