"""The network as Volcano's HyperNodes have it: each is of a tier, and has nodes or HyperNodes as members.

The higher a tier, the coarser its domains. A node that is in none of a tier between others is there in a
domain of its own. So is a node that is in no HyperNode at all, for who may go anywhere; for others it is not
in the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from mooring.errors import ManifestError, did_you_mean
from mooring.model.objects import LabelSelector, Object
from mooring.model.plain import items, part, read, text
from mooring.model.selectors import SelectorError, matches_labels
from mooring.plugins.coscheduling.topology.layers import Layer, Layout
from mooring.workloads.topology_wishes import TIER

LONGEST_PATTERN = 256  # characters


class HyperNode(msgspec.Struct, frozen=True):
    """One domain. Nodes are its members by name, by a pattern somewhere in their name, or by their labels."""

    name: str
    tier: int
    tier_name: str = ""
    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    selectors: tuple[bytes, ...] = ()  # LabelSelectors, as JSON
    children: tuple[str, ...] = ()

    def has(self, node_name: str, labels: Mapping[str, str]) -> bool:
        return (
            node_name in self.names
            or any(_pattern(each).search(node_name) for each in self.patterns)
            or any(matches_labels(_selector(each), labels) for each in self.selectors)
        )


class HyperNodes(Layout, frozen=True):
    """A layer for each tier, the highest first."""

    nodes: tuple[HyperNode, ...] = ()

    @property
    def tiers(self) -> tuple[int, ...]:
        return tuple(sorted({each.tier for each in self.nodes}, reverse=True))

    def depth(self, name: str, field: str = "") -> int:
        """A tier by its number, or the next lower that there is; above all of them is the whole cluster."""
        tiers = self.tiers
        if (number := name.removeprefix(TIER)) == name or not number.isdecimal():
            return 1 + tiers.index(self._named(name, field))
        if int(number) > tiers[0]:
            return 0
        for depth, tier in enumerate(tiers, 1):
            if tier <= int(number):
                return depth
        raise ManifestError.at(field, f"there is no HyperNode of tier {number} or lower")

    def path(self, node_name: str, labels: Mapping[str, str]) -> tuple[str, ...] | None:
        chain = self._chain(node_name, labels)
        if not chain and not self.stand_ins:
            return None
        found, here = [], node_name
        for tier in reversed(self.tiers):
            here = chain.get(tier, here)
            found.append(here)
        return tuple(reversed(found))

    def _named(self, name: str, field: str) -> int:
        names = {each.tier_name: each.tier for each in self.nodes if each.tier_name}
        if name not in names:
            near = did_you_mean(name, tuple(names))
            raise ManifestError.at(field, f'there is no tier named "{name}" among HyperNodes.{near}')
        return names[name]

    def _chain(self, node_name: str, labels: Mapping[str, str]) -> dict[int, str]:
        """The HyperNodes around a node, by tier: the lowest it is in, and those above."""
        around = [each for each in self.nodes if each.has(node_name, labels)]
        here = min(around, key=lambda each: (each.tier, each.name), default=None)
        found: dict[int, str] = {}
        while here is not None and here.tier not in found:
            found[here.tier] = here.name
            inner = here.name
            above = (each for each in self.nodes if inner in each.children and each.tier > min(found))
            here = min(above, key=lambda each: (each.tier, each.name), default=None)
        return found


def from_hyper_nodes(objects: Iterable[Object]) -> HyperNodes:
    """The layers of all HyperNodes there are. Raises ManifestError."""
    nodes = tuple(sorted((_hyper_node(each) for each in objects), key=lambda each: each.name))
    tiers = sorted({each.tier for each in nodes}, reverse=True)
    return HyperNodes(tuple(Layer(f"{TIER}{tier}", ()) for tier in tiers), nodes=nodes)


def _hyper_node(found: Object) -> HyperNode:
    spec, where = part(found.data, "spec"), f"HyperNode {found.metadata.name}"
    tier = spec.get("tier")
    if not isinstance(tier, int) or isinstance(tier, bool) or tier < 0:
        raise ManifestError.at(f"{where}: spec.tier", f"must be a number, not {tier!r}")
    names: list[str] = []
    patterns: list[str] = []
    selectors: list[bytes] = []
    children: list[str] = []
    for number, member in enumerate(map(part, items(spec, "members"))):
        selector = part(member, "selector")
        exact = text(part(selector, "exactMatch"), "name")
        pattern = text(part(selector, "regexMatch"), "pattern")
        place = f"{where}: spec.members[{number}].selector"
        if text(member, "type") == "HyperNode":
            children += [exact] if exact else []
            continue
        names += [exact] if exact else []
        if pattern:
            patterns.append(_checked(pattern, f"{place}.regexMatch.pattern"))
        if "labelMatch" in selector:
            selectors.append(_encoded(part(selector, "labelMatch"), f"{place}.labelMatch"))
    return HyperNode(
        found.metadata.name,
        tier,
        text(spec, "tierName"),
        tuple(names),
        tuple(patterns),
        tuple(selectors),
        tuple(children),
    )


def _checked(pattern: str, place: str) -> str:
    try:
        if len(pattern) > LONGEST_PATTERN:
            raise ManifestError.at(place, f"must not be longer than {LONGEST_PATTERN} characters")
        _pattern(pattern)
    except re.error as error:
        raise ManifestError.at(place, f'"{pattern}" is not a regular expression: {error}') from None
    return pattern


def _encoded(selector: dict[str, Any], place: str) -> bytes:
    try:
        found = read(selector, LabelSelector)
        matches_labels(found, {})
        return msgspec.json.encode(found)
    except (msgspec.ValidationError, SelectorError) as error:
        raise ManifestError.at(place, str(error)) from None


@lru_cache(maxsize=1024)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@lru_cache(maxsize=1024)
def _selector(encoded: bytes) -> LabelSelector:
    return msgspec.json.decode(encoded, type=LabelSelector)
