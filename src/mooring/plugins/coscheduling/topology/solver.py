"""Where in the network a gang goes: the tightest domain that takes all of it.

From the layer it must stay within, the search goes down as long as some domain still takes all pods, so it
ends with the lowest, and so smallest, domains. Among those, in this order:

1. the most pods the gang is drawn to, in the domain, then in the one around it, and so on up;
2. the least room, in the domain, then around it: what is left elsewhere stays whole;
3. the least cost;
4. the fewest domains of the next layer are used;
5. the smallest of those, compared from the largest down: the larger ones stay whole;
6. the fewest idle nodes, in the domain, then around it: idle domains are left to gangs that need all of one;
7. the name.

Inside the domain it is the roomiest first, so that pods are on as few domains of every layer as can be.
"""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.plugins.coscheduling.topology.layers import CLUSTER_LAYER, domain_word
from mooring.plugins.coscheduling.topology.rules import multiples_in_words
from mooring.plugins.coscheduling.topology.spaces import Bools, Request, Spaces
from mooring.plugins.coscheduling.topology.tree import Ints, Tree

NEEDS = "needs {slots} in one {domain}; the best {domain}, {name}, has {offer}"
NEEDS_MORE = "needs {more} in {domain} {name}, where its other pods are; it has {offer}"
IN_CLUSTER = "needs {slots} in the cluster; it has {offer}"
NO_DOMAIN = "needs {slots} in one {domain}; no node that it may use is in one"


class NoPlace(msgspec.Struct, frozen=True):
    """No domain takes all of the gang; what each of those it may use offers."""

    desired: int
    layer: str
    offers: tuple[tuple[str, int], ...]  # by the name of the domain
    multiples: str = ""
    stays: bool = False  # where members are that have their place

    def message(self, reasons: str) -> str:
        """What is wanted, and where it is closest. `reasons` say why nodes do not take more."""
        name, offer = min(self.offers, key=lambda pair: (-pair[1], pair[0]), default=("", 0))
        is_cluster = self.layer == CLUSTER_LAYER
        text = IN_CLUSTER if is_cluster else NEEDS_MORE if self.stays else NEEDS if name else NO_DOMAIN
        s = "" if self.desired == 1 else "s"
        said = text.format(
            slots=f"{self.desired} slot{s}",
            more=f"{self.desired} more slot{s}",
            domain=domain_word(self.layer),
            name=name,
            offer=offer,
        )
        return "; ".join(filter(None, (said, self.multiples, reasons)))


def solve(tree: Tree, request: Request) -> list[tuple[str, int]] | NoPlace:
    """Nodes and how many pods each gets, in the order they are to be filled."""
    spaces = Spaces(tree, request)
    may = np.ones(len(tree.levels[request.rules.must]), np.bool_)
    if (held := spaces.bound[request.rules.must] > 0).any():
        may = held
    found = _lowest(spaces, may)
    if found is None:
        return _no_place(spaces, np.flatnonzero(may), stays=bool(held.any()))
    depth, candidates = found
    return spaces.distribute(depth, _best(spaces, depth, candidates), request.desired)


def _lowest(spaces: Spaces, may: Bools) -> tuple[int, Ints] | None:
    """The domains of the lowest layer that has any which take all pods."""
    fitting = spaces.fitting()
    depth = spaces.request.rules.must
    here = fitting[depth] & may
    if not here.any():
        return None
    while depth + 1 < len(fitting):
        below = fitting[depth + 1] & here[spaces.tree.levels[depth + 1].parents]
        if not below.any():
            break
        depth, here = depth + 1, below
    return depth, np.flatnonzero(here)


def _best(spaces: Spaces, depth: int, candidates: Ints) -> int:
    above = spaces.tree.upwards(depth, np.arange(len(spaces.tree.levels[depth])))
    for level, up in above:
        candidates = _least(candidates, -spaces.existing[level][up[candidates]])
    for level, up in above:
        candidates = _least(candidates, spaces.offers[level][up[candidates]])
    candidates = _least(candidates, spaces.costs[depth][candidates])
    if len(candidates) > 1:
        candidates = _leaves_most(spaces, depth, candidates)
    if len(candidates) > 1:
        busy = spaces.tree.per_leaf(dict.fromkeys(spaces.request.busy(), 1))
        sums = spaces.tree.sums(1 - busy)
        for level, up in above:
            candidates = _least(candidates, sums[level][up[candidates]])
    return int(_least(candidates, spaces.tree.levels[depth].by_name[candidates])[0])


def _least(candidates: Ints, keys: Ints) -> Ints:
    least: Ints = candidates[keys == keys.min()]
    return least


def _leaves_most(spaces: Spaces, depth: int, candidates: Ints) -> Ints:
    """Those that use the fewest and smallest domains of the next layer."""
    if depth == len(spaces.tree.levels) - 1:
        return candidates
    first, offers = spaces.tree.levels[depth].first, spaces.offers[depth + 1]
    known: dict[bytes, tuple[int, tuple[int, ...]]] = {}  # most domains are like one another
    keys: list[tuple[int, tuple[int, ...]]] = []
    for candidate in candidates.tolist():
        inside = offers[first[candidate] : first[candidate + 1]]
        shape = inside.tobytes()
        if shape not in known:
            sizes = np.sort(inside)[::-1]
            used = int(np.searchsorted(np.cumsum(sizes), spaces.request.desired)) + 1
            known[shape] = used, tuple(sizes[:used].tolist())
        keys.append(known[shape])
    best = min(keys)
    least: Ints = candidates[np.array([key == best for key in keys])]
    return least


def _no_place(spaces: Spaces, domains: Ints, *, stays: bool) -> NoPlace:
    tree, rules = spaces.tree, spaces.request.rules
    level, offers = tree.levels[rules.must], spaces.offers[rules.must]
    found = tuple((level.names[domain], int(offers[domain])) for domain in domains.tolist())
    words = multiples_in_words(tree.layout, rules)
    return NoPlace(spaces.request.desired, level.layer, found, words, stays)
