"""What a wish comes to for the layers of one network."""

from __future__ import annotations

from math import lcm

import msgspec

from mooring.plugins.coscheduling.topology.layers import Layout, domain_word
from mooring.workloads.topology_wishes import MUST, Wish

LARGEST = 2**31


class Rules(msgspec.Struct, frozen=True):
    """Rules as the solver has them, for the layers of one tree."""

    must: int  # the depth of the layer whose domains pods must not leave
    multiples: tuple[int, ...]  # by depth, the cluster first

    @property
    def multiples_below(self) -> tuple[int, ...]:
        """What pods of a domain are a multiple of because of all layers from its own down."""
        found: list[int] = [1]
        for multiple in reversed(self.multiples):
            found.append(_common(found[-1], multiple))
        return tuple(reversed(found[1:]))


def rules_for(layout: Layout, wish: Wish) -> Rules:
    """The deepest layer of a must rule holds; none means the whole cluster. Raises ManifestError."""
    must, multiples = 0, [1] * len(layout.names)
    for rule in wish.rules:
        depth = layout.depth(rule.layer, rule.field)
        multiples[depth] = _common(multiples[depth], rule.multiple)
        if rule.strategy == MUST:
            must = max(must, depth)
    return Rules(must, tuple(multiples))


def _common(one: int, other: int) -> int:
    """The least common multiple; the largest is more pods than any gang has, and stands for all beyond."""
    return min(lcm(one, other), LARGEST)


def multiples_in_words(layout: Layout, rules: Rules) -> str:
    """`in multiples of 8 to a block and 2 to a node`; "" when any number of pods will do."""
    pairs = zip(layout.names, rules.multiples, strict=True)
    parts = [f"{multiple} to a {domain_word(layer)}" for layer, multiple in pairs if multiple > 1]
    return f"in multiples of {' and '.join(parts)}" if parts else ""
