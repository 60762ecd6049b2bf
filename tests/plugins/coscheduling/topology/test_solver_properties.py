"""What holds for every plan, against trying everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.plugins.coscheduling.topology.solver import NoPlace, solve
from mooring.plugins.coscheduling.topology.spaces import Request
from mooring.plugins.coscheduling.topology.tree import Tree
from mooring.workloads.topology_wishes import GatherRule
from plugins.coscheduling.topology.networks import (
    BLOCK,
    LAYERS,
    NODE,
    SPINE,
    Shape,
    labels,
    must,
    prefer,
    rules,
    tree,
)


class World(msgspec.Struct, frozen=True):
    """A network of at most six nodes, and a gang."""

    shape: Shape
    request: Request

    def domain(self, name: str, depth: int) -> tuple[str, ...]:
        own = labels(self.shape)[name]
        return ("", own["spine"], own["block"], name)[: depth + 1]

    def names(self) -> list[str]:
        return list(labels(self.shape))


@st.composite
def worlds(draw: st.DrawFn, *, bound: bool = False, multiples: bool = True) -> World:
    sizes = draw(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=2), min_size=1, max_size=2))
    shape: dict[str, dict[str, list[str]]] = {}
    count = 0
    for spine, blocks in enumerate(sizes):
        for block, size in enumerate(blocks):
            nodes = [f"n{count + number}" for number in range(size) if count + number < 6]
            count += size
            if nodes:
                shape.setdefault(f"s{spine}", {})[f"b{spine}{block}"] = nodes
    names = list(labels(shape))
    amounts = st.fixed_dictionaries(dict.fromkeys(names, st.integers(0, 4)))
    given: list[GatherRule] = []
    for layer in (SPINE, BLOCK, NODE):
        multiple = draw(st.sampled_from((1, 1, 2, 3, 4))) if multiples else 1
        given.append(draw(st.sampled_from((must, prefer, prefer)))(layer, multiple))
    few = st.fixed_dictionaries(dict.fromkeys(names, st.sampled_from((0, 0, 0, 1, 2, 3))))
    held = {name: n for name, n in draw(few).items() if n} if bound else {}
    drawn = draw(st.sampled_from(({}, dict.fromkeys(names[:2], 1))))
    request = Request(
        draw(st.integers(1, 9)), draw(amounts), rules(*given), existing=drawn, bound=held, costs=draw(few)
    )
    return World(shape, request)


def allowed(world: World, shares: Mapping[str, int], total: int, must_depth: int) -> bool:
    """Whether pods may be so on nodes, by the words of the rules."""
    request = world.request
    used = [name for name, count in shares.items() if count]
    if sum(shares.values()) != total or any(shares[name] > request.offers[name] for name in used):
        return False
    if len({world.domain(name, must_depth) for name in used}) > 1:
        return False
    homes = {world.domain(name, must_depth) for name in request.bound}
    if homes and used and world.domain(used[0], must_depth) not in homes:
        return False
    for depth, multiple in enumerate(request.rules.multiples):
        for domain in {world.domain(name, depth) for name in used}:
            inside = [name for name in world.names() if world.domain(name, depth) == domain]
            if sum(shares.get(name, 0) + request.bound.get(name, 0) for name in inside) % multiple:
                return False
    return True


def everything(world: World, total: int, must_depth: int) -> Iterator[dict[str, int]]:
    names = world.names()
    for counts in product(*(range(min(world.request.offers[name], total) + 1) for name in names)):
        if sum(counts) == total:
            shares = dict(zip(names, counts, strict=True))
            if allowed(world, shares, total, must_depth):
                yield shares


@settings(max_examples=500, deadline=None)
@given(worlds() | worlds(bound=True) | worlds(bound=True, multiples=False))
def test_a_plan_is_allowed_and_there_is_one_whenever_there_can_be(world: World) -> None:
    request = world.request
    found = solve(tree(world.shape), request)
    possible = next(everything(world, request.desired, request.rules.must), None)
    if isinstance(found, NoPlace):
        assert possible is None
    else:
        assert allowed(world, dict(found), request.desired, request.rules.must)


def lowest(world: World) -> tuple[int, set[tuple[str, ...]]]:
    """The deepest layer with a domain that takes all pods, and those domains."""
    desired = world.request.desired
    for depth in range(3, -1, -1):
        plans = list(everything(world, desired, max(depth, world.request.rules.must)))
        domains = {world.domain(next(n for n, c in plan.items() if c), depth) for plan in plans}
        if domains:
            return depth, domains
    raise AssertionError("there is none")


def offered(world: World, domain: tuple[str, ...]) -> int:
    """The most pods a domain takes, if it may take any number that its own layers allow."""
    depth = len(domain) - 1
    own = [1] * depth + list(world.request.rules.multiples[depth:])
    free = msgspec.structs.replace(world.request.rules, multiples=tuple(own))
    only = {n: c if world.domain(n, depth) == domain else 0 for n, c in world.request.offers.items()}
    inside = World(world.shape, msgspec.structs.replace(world.request, rules=free, offers=only))
    return next(n for n in range(sum(only.values()), -1, -1) if not n or any(everything(inside, n, 0)))


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_it_is_in_the_tightest_of_the_smallest_domains(world: World) -> None:
    bare = msgspec.structs.replace(world.request, existing={}, costs={})
    world = World(world.shape, bare)
    found = solve(tree(world.shape), bare)
    if isinstance(found, NoPlace):
        return
    depth, domains = lowest(world)
    used = {world.domain(name, depth) for name, _ in found}
    assert len(used) == 1
    chosen = used.pop()
    assert chosen in domains
    assert offered(world, chosen) == min(offered(world, domain) for domain in domains)


@settings(max_examples=100, deadline=None)
@given(worlds(multiples=False))
def test_no_fewer_nodes_would_do_in_the_domain(world: World) -> None:
    """Without pods to be near and nothing to pay, pods are on as few nodes of a block as can be."""
    bare = msgspec.structs.replace(world.request, existing={}, costs={})
    found = solve(tree(world.shape), bare)
    if isinstance(found, NoPlace) or len({world.domain(name, 2) for name, _ in found}) > 1:
        return
    block = world.domain(found[0][0], 2)
    rooms = sorted((bare.offers[n] for n in world.names() if world.domain(n, 2) == block), reverse=True)
    needed = next(n for n in range(1, len(rooms) + 1) if sum(rooms[:n]) >= bare.desired)
    assert len(found) == needed


@settings(max_examples=100, deadline=None)
@given(worlds(bound=True), st.randoms())
def test_the_order_nodes_are_told_in_makes_no_difference(world: World, source: Random) -> None:
    names = list(labels(world.shape).items())
    source.shuffle(names)
    assert solve(Tree(LAYERS, names), world.request) == solve(tree(world.shape), world.request)
