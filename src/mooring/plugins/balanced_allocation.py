"""NodeResourcesBalancedAllocation: prefers nodes that the pod makes more evenly used.

A node's balance is 100 when its resources are used in the same proportion, less the further apart they
are. The score is 75 when the pod leaves the balance as it is, up to 100 when it improves it and down to
50 when it spoils it. Both forms do the same operations on float64 in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.column import Column, Ints
from mooring.cluster.columns import Bools, NodeColumns
from mooring.cluster.nodes import NodeTable
from mooring.cluster.view import NodeView
from mooring.errors import ArgsError, FieldMistake
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin, PluginArgs, nothing_to_do, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.framework.running.many_pods import PodColumns
from mooring.model.objects import Pod, PodSpec
from mooring.plugins.kept import PerTable
from mooring.plugins.pod_amounts import Floats, PodAmounts
from mooring.plugins.scored_resources import CPU_AND_MEMORY, ResourceSpec, bypasses

Ask = tuple[int, Column, Column]  # amount, allocatable, requested
FEW_ROWS = 24  # changed: when more are, working all out is as quick
EXACT = 2**53  # integers below this are floats without rounding


class Usage(NamedTuple):
    """What is used of a resource, what there is, and the same to divide by: at least 1. No row has less
    than `least`."""

    used: Ints
    has: Ints
    divisor: NDArray[Any]
    least: int


class BalancedAllocationArgs(PluginArgs, frozen=True):
    """`resources` are compared with each other, so none weighs more than another."""

    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY

    def __post_init__(self) -> None:
        names = [resource.name for resource in self.resources]
        mistakes = []
        for number, resource in enumerate(self.resources):
            if resource.weight > 1:
                what = f"resource weight of {resource.name} should be 1"
                mistakes.append(FieldMistake(("resources", number, "weight"), what))
            if resource.name in names[:number]:
                what = f"resource {resource.name} is given twice"
                mistakes.append(FieldMistake(("resources", number, "name"), what))
        ArgsError.unless_right(mistakes)


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"
    scope = Scope.ROW
    Args = BalancedAllocationArgs
    amounts_only = True

    def __init__(self, args: BalancedAllocationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._names = tuple(resource.name for resource in args.resources or CPU_AND_MEMORY)
        self._kept = PerTable(self._asks)
        self._before = Before()

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        amounts = self._amounts(pod.spec)
        return amounts if any(amounts) else None

    @nothing_to_do
    def pre_score(self, cycle: Cycle, pod: Pod, nodes: object) -> None:
        """Nothing to prepare: pods that ask for nothing are told apart by `sign`."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        kept = self._kept
        if kept.spec is pod.spec and kept.layout is node._nodes.layout:
            asks = kept.value
        else:
            asks = kept.of(pod.spec, node._nodes)
        row = node.row
        if len(asks) == 2:
            (ask1, allocatable1, requested1), (ask2, allocatable2, requested2) = asks
            has1, has2 = allocatable1.at[row], allocatable2.at[row]
            if 0 < has1 < EXACT and 0 < has2 < EXACT:
                used1, used2 = requested1.at[row], requested2.at[row]
                return score_of_two(used1, used2, ask1, ask2, has1, has2)
        return _score(asks, row)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Ints:
        amounts = [
            (name, amount)
            for name, amount in zip(self._names, self._amounts(pod.spec), strict=True)
            if not bypasses(name, amount)
        ]
        used = [
            Usage(nodes.requested(n), nodes.allocatable(n), nodes.divisor(n), nodes.extent(n)[0])
            for n, _ in amounts
        ]
        with_pod = [
            Usage(u.used + amount, u.has, u.divisor, u.least)
            for (_, amount), u in zip(amounts, used, strict=True)
        ]
        scores = _balances(with_pod, len(nodes))
        scores -= self._before.of(nodes, tuple([name for name, _ in amounts]), used)
        scores += 150  # 50 + (50 + after - before) // 2
        scores >>= 1
        return scores

    def pod_columns(self) -> BalanceColumns | None:
        """None when a resource takes part only for pods that ask for some of it."""
        if any(bypasses(name, 0) for name in self._names):
            return None
        return BalanceColumns(self._names, self._amounts)

    def _amounts(self, spec: PodSpec) -> tuple[int, ...]:
        request = spec.request
        return tuple(map(request.amount, self._names))

    def _asks(self, spec: PodSpec, table: NodeTable) -> tuple[Ask, ...]:
        asks = []
        for name, amount in zip(self._names, self._amounts(spec), strict=True):
            if not bypasses(name, amount):
                columns = table.of_resource(name)
                asks.append((amount, columns.allocatable, columns.requested))
        return tuple(asks)


class Before:
    """How even nodes are without the pod: the same for all pods, and worked out anew where nodes changed."""

    def __init__(self) -> None:
        self._table: NodeTable | None = None
        self._as_of: Hashable = None
        self._position = -1
        self._balances: Ints = np.zeros(0, np.int64)

    def of(self, nodes: NodeColumns, names: tuple[str, ...], used: list[Usage]) -> Ints:
        table = nodes._nodes
        if not isinstance(nodes._at, slice):  # some rows only
            return _balances(used, len(nodes))
        as_of = (names, table.high, table.node_journal.position)
        known = table is self._table and as_of == self._as_of
        rows = table.journal.since(self._position) if known else None
        if rows is None or len(rows) > FEW_ROWS:
            self._balances, self._table, self._as_of = _balances(used, len(nodes)), table, as_of
        else:
            for row in set(rows):
                fractions = _fractions([u.used[row] for u in used], [u.has[row] for u in used])
                self._balances[row] = _balance(fractions)
        self._position = table.journal.position
        return self._balances


class BalanceColumns(PodColumns):
    """One node, asked about for many pods: what they ask for, by resource."""

    def __init__(self, names: tuple[str, ...], amounts: Callable[[PodSpec], tuple[int, ...]]) -> None:
        self._names = names
        self._amounts = amounts
        self._columns = [PodAmounts() for _ in names]

    def put(self, slot: int, pod: Pod) -> None:
        for column, amount in zip(self._columns, self._amounts(pod.spec), strict=True):
            column.put(slot, amount)

    def score(self, node: NodeView, slots: int) -> Ints:
        has = [node.allocatable(name) for name in self._names]
        used = [node.requested(name) for name in self._names]
        if len(has) == 2 and 0 < has[0] < EXACT and 0 < has[1] < EXACT:
            one, two = self._columns
            after = _balances_of_two(
                one.floats[:slots] + used[0], two.floats[:slots] + used[1], has[0], has[1]
            )
        else:
            usage = []
            for column, u, h in zip(self._columns, used, has, strict=True):
                whole = np.array([h])
                usage.append(Usage(column.ints[:slots] + u, whole, np.maximum(whole, 1), h))
            after = _balances(usage, slots)
        after += 150 - _balance(_fractions(used, has))  # 50 + (50 + after - before) // 2
        after >>= 1
        return after


def score_of_two(used1: int, used2: int, ask1: int, ask2: int, has1: int, has2: int) -> int:
    """`_score` for two resources that a node has both of: nearly every call."""
    one, two = used1 / has1, used2 / has2
    apart = (1.0 if one > 1 else one) - (1.0 if two > 1 else two)
    before = int((1 - (apart if apart > 0 else -apart) / 2) * 100)
    one, two = (used1 + ask1) / has1, (used2 + ask2) / has2
    apart = (1.0 if one > 1 else one) - (1.0 if two > 1 else two)
    return 50 + (50 + int((1 - (apart if apart > 0 else -apart) / 2) * 100) - before) // 2


def _score(asks: tuple[Ask, ...], row: int) -> int:
    rows = [(ask, allocatable.at[row], requested.at[row]) for ask, allocatable, requested in asks]
    has = [each[1] for each in rows]
    before = _balance(_fractions([used for _, _, used in rows], has))
    after = _balance(_fractions([used + ask for ask, _, used in rows], has))
    return 50 + (50 + after - before) // 2


def _fractions(used: Sequence[int], has: Sequence[int]) -> list[float]:
    """What is used of each resource that there is."""
    return [min(1.0, float(u) / float(h)) for u, h in zip(used, has, strict=True) if h]


def _balance(fractions: list[float]) -> int:
    """How evenly resources are used, 50..100, by the standard deviation of the used fractions."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = _sum(fractions) / len(fractions)
        squares = [(fraction - mean) * (fraction - mean) for fraction in fractions]
        deviation = sqrt(_sum(squares) / len(fractions))
    return int((1 - deviation) * 100)


def _sum(terms: list[float]) -> float:
    """One after the other: what Python's own `sum` rounds differs between its versions."""
    total = 0.0
    for term in terms:
        total += term
    return total


def _balances(usage: list[Usage], rows: int) -> Ints:
    """`_balance` of each row; a resource that a node has nothing of does not take part there.

    Arrays are written over where nobody needs them any more: making new ones is most of the time.
    """
    fractions = [_fraction(one) for one in usage]
    if len(usage) == 2:
        if not all(one.least for one in usage):
            there = (usage[0].has > 0) & (usage[1].has > 0)
            fractions = [fraction * there for fraction in fractions]  # one alone is even
        return _balance_of(*fractions)
    deviation = _deviation([one.has > 0 for one in usage], fractions, rows)
    np.subtract(1, deviation, out=deviation)
    deviation *= 100
    return deviation.astype(np.int64)


def _balances_of_two(used1: Floats, used2: Floats, has1: int, has2: int) -> Ints:
    """`_balances` for two resources that a node has both of: nearly every call. Writes over what is used."""
    used1 /= has1
    used2 /= has2
    return _balance_of(_at_most_one(used1), _at_most_one(used2))


def _balance_of(one: Floats, two: Floats) -> Ints:
    """`(1 - |one - two| / 2) * 100`, rounded as that is: halving is exact, so it may be done at the end.
    Writes over the first."""
    one -= two
    np.abs(one, out=one)
    np.subtract(2, one, out=one)
    one *= 50
    return one.astype(np.int64)


def _at_most_one(fraction: Floats) -> Floats:
    """In place. Looking is quicker than cutting, which is nearly never needed."""
    if len(fraction) and fraction[fraction.argmax()] > 1:
        np.minimum(fraction, 1.0, out=fraction)
    return fraction


def _fraction(usage: Usage) -> Floats:
    fraction = usage.used.astype(np.float64)  # integers would be divided by floats at half the pace
    fraction /= usage.divisor
    return _at_most_one(fraction)


def _deviation(parts: list[Bools], fractions: list[Floats], rows: int) -> Floats:
    """The standard deviation over the fractions that take part in each row."""
    taking = [fraction * part for part, fraction in zip(parts, fractions, strict=True)]
    count = np.maximum(_total(parts, rows), 1.0)
    mean = _total(taking, rows) / count
    squares = [(f - mean) * (f - mean) * part for part, f in zip(parts, taking, strict=True)]
    deviation = np.sqrt(_total(squares, rows) / count)
    return np.where(count == 2, _half_apart(parts, taking, rows), deviation)


def _half_apart(parts: list[Bools], taking: list[Floats], rows: int) -> Floats:
    """Half the distance between the first two fractions that take part, which is their deviation."""
    seen, first, second = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    for part, fraction in zip(parts, taking, strict=True):
        first = first + fraction * (seen == 0)
        second = second + fraction * (seen == 1)
        seen = seen + part
    return np.abs((first - second) / 2)


def _total(terms: Sequence[NDArray[Any]], rows: int) -> Floats:
    """One after the other, so that roundings are those of `_sum`."""
    total = np.zeros(rows)
    for term in terms:
        total = total + term
    return total
