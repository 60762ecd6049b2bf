"""Domains in which bound members are no multiple of what they should be: how many pods may join them.

A member that died leaves such a gap, and so does a gang that started with fewer than all. Any number of
pods will not do there: none, or as many as make it a multiple again. Sets of such numbers are bits of an
integer, bit n for n pods, so the numbers several domains can take together are shifts of each other. Only
domains with a gap below them are worked out this way; all others take every multiple up to their offer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.plugins.coscheduling.topology.rules import Rules
from mooring.plugins.coscheduling.topology.tree import Ints, Tree

Counts = int  # bit n is set: n pods will do


def every(step: int, limit: int, start: int = 0) -> Counts:
    """start, start + step, ... up to a limit."""
    counts = 0
    for number in range(start, limit + 1, step):
        counts |= 1 << number
    return counts


def together(one: Counts, other: Counts, limit: int) -> Counts:
    """Numbers that two domains can take between them."""
    few, many = sorted((one, other), key=int.bit_count)
    counts = 0
    while few:
        lowest = few & -few
        counts |= many << (lowest.bit_length() - 1)
        few ^= lowest
    return counts & ((1 << (limit + 1)) - 1)


def largest(counts: Counts, limit: int) -> int:
    """The largest number up to a limit."""
    return (counts & ((1 << (limit + 1)) - 1)).bit_length() - 1


class Incomplete:
    """What each domain with a gap can take, `most` pods at most. Empty when there are no gaps."""

    def __init__(
        self, tree: Tree, rules: Rules, bound: Sequence[Ints], offers: Sequence[Ints], room: Ints, most: int
    ) -> None:
        """`offers` are multiples already; `room` is what leaves offer of themselves."""
        self._tree = tree
        self._offers = offers
        self._below = rules.multiples_below
        self._most = most
        self.counts: dict[tuple[int, int], Counts] = {}
        found: set[int] = set()
        for depth in range(len(tree.levels) - 1, -1, -1):
            found = {int(tree.levels[depth + 1].parents[child]) for child in found}
            found |= set(np.flatnonzero(bound[depth] % rules.multiples[depth]).tolist())
            for domain in found:
                held, multiple = int(bound[depth][domain]), rules.multiples[depth]
                able = self._able(depth, domain, room)
                self.counts[depth, domain] = able & (1 | every(multiple, most, -held % multiple))

    def children(self, depth: int, domain: int) -> list[int]:
        """Domains with a gap directly below one."""
        return [child for child in self._tree.children(depth, domain) if (depth + 1, child) in self.counts]

    def others(self, depth: int, domain: int) -> Counts:
        """What the children without a gap can take between them."""
        children = self._tree.children(depth, domain)
        offered = int(self._offers[depth + 1][children.start : children.stop].sum())
        offered -= sum(int(self._offers[depth + 1][child]) for child in self.children(depth, domain))
        return every(self._below[depth + 1], min(offered, self._most))

    def split(self, depth: int, domain: int, count: int, order: Sequence[int]) -> list[tuple[int, int]]:
        """Shares of the children with a gap, in an order, each as much as leaves the rest possible."""
        gaps = [child for child in order if (depth + 1, child) in self.counts]
        rest = [self.others(depth, domain)]
        for child in reversed(gaps):
            rest.append(together(rest[-1], self.counts[depth + 1, child], self._most))
        rest.pop()
        shares = []
        for child in gaps:
            after, able = rest.pop(), self.counts[depth + 1, child]
            share = next(
                n for n in range(largest(able, count), -1, -1) if able >> n & 1 and after >> (count - n) & 1
            )
            shares.append((child, share))
            count -= share
        return shares

    def _able(self, depth: int, domain: int, room: Ints) -> Counts:
        if depth == len(self._tree.levels) - 1:
            return every(1, min(int(room[domain]), self._most))
        counts = self.others(depth, domain)
        for child in self.children(depth, domain):
            counts = together(counts, self.counts[depth + 1, child], self._most)
        return counts
