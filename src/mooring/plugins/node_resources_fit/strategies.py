"""What a node is worth to a pod, by how much of it would be used: three strategies, in two forms each.

`one` looks at a row through the columns of each resource, `many` at all rows. Per resource a score is
worked out and truncated, then the scores are weighed. A resource a node has nothing of does not count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.column import Column, Ints
from mooring.framework.api.normalize import MAX_SCORE
from mooring.plugins.node_resources_fit.args import ScoringStrategy, UtilizationShapePoint
from mooring.plugins.pod_amounts import Floats
from mooring.plugins.scored_resources import CPU_AND_MEMORY, MOST_WEIGHT

NO_RESOURCES = "resources not found"
SHAPE_SCALE = 10  # shapes give scores of 0 to 10
EXACT = 2**53 // MAX_SCORE  # a hundred times this is a float64 without rounding

Ask = tuple[int, int, Column, Column]  # weight, amount, allocatable, used


class ResourceOverPods(NamedTuple):
    """One resource over pods: what each asks for, and what is used and allocatable on the node."""

    weight: int
    amounts: Ints
    as_floats: Floats
    used: int
    has: int


class Use(NamedTuple):
    """One resource over rows: what would be used with the pod, and what there is. Or over pods, for which
    there is the same. No row has less than `least` or more than `most`."""

    weight: int
    used: Ints
    allocatable: Ints
    divisor: Floats  # what there is, at least 1
    least: int
    most: int


class Strategy(ABC):
    """One way to score."""

    def __init__(self, resources: Sequence[tuple[str, int]]) -> None:
        for name, weight in resources:
            if not 1 <= weight <= MOST_WEIGHT:
                raise ValueError(f"resource weight of {name} not in valid range (0, {MOST_WEIGHT}]")
        self.resources = tuple(resources)

    @abstractmethod
    def one(self, asks: Sequence[Ask], row: int) -> int: ...

    @abstractmethod
    def many(self, uses: Sequence[Use], rows: int) -> Ints: ...

    def over_pods(self, asked: Sequence[ResourceOverPods], pods: int) -> Ints:
        """The same for one node and many pods."""
        uses = []
        for weight, amounts, _, used, has in asked:
            divisor = np.array([max(has, 1)], np.float64)
            uses.append(Use(weight, amounts + used, np.array([has]), divisor, has, has))
        return self.many(uses, pods)


class LeastAllocated(Strategy):
    """The more is left, the better."""

    def one(self, asks: Sequence[Ask], row: int) -> int:
        total = weights = 0
        for weight, amount, allocatable, used in asks:
            has = allocatable.at[row]
            if has:
                weights += weight
                left = has - used.at[row] - amount
                if left > 0:
                    total += left * 100 // has * weight
        return total // weights if weights else 0

    def many(self, uses: Sequence[Use], rows: int) -> Ints:
        scores = []
        for use in uses:
            left = use.allocatable - use.used
            _not_below_zero(left)
            scores.append(_percent_of(use, left))
        return _weighed(scores, uses, rows)

    def over_pods(self, asked: Sequence[ResourceOverPods], pods: int) -> Ints:
        """What is left is worked out in place: making arrays is most of the time."""
        total, weights = None, 0
        for weight, _, amounts, used, has in asked:
            if not 0 < has <= EXACT:
                return super().over_pods(asked, pods)
            left = (has - used) - amounts
            _not_below_zero(left)
            left *= 100.0
            left /= has
            np.floor(left, out=left)
            if weight != 1:
                left *= weight
            total = left if total is None else np.add(total, left, out=left)
            weights += weight
        assert total is not None
        _divide(total, weights)
        return total.astype(np.int64)


class MostAllocated(Strategy):
    """The less is left, the better."""

    def one(self, asks: Sequence[Ask], row: int) -> int:
        total = weights = 0
        for weight, amount, allocatable, used in asks:
            has = allocatable.at[row]
            if has:
                weights += weight
                taken = used.at[row] + amount
                total += (taken * 100 // has if taken < has else 100) * weight
        return total // weights if weights else 0

    def many(self, uses: Sequence[Use], rows: int) -> Ints:
        scores = [_percent_of(use, np.minimum(use.used, use.allocatable)) for use in uses]
        return _weighed(scores, uses, rows)


class RequestedToCapacityRatio(Strategy):
    """Utilization is worth what a shape says. Resources worth nothing do not count at all."""

    def __init__(self, resources: Sequence[tuple[str, int]], shape: Sequence[UtilizationShapePoint]) -> None:
        super().__init__(resources)
        points = [(point.utilization, point.score * SHAPE_SCALE) for point in shape]
        self._worth = [piecewise(points, utilization) for utilization in range(101)]
        self._worths = np.array(self._worth, np.int64)

    def one(self, asks: Sequence[Ask], row: int) -> int:
        total = weights = 0
        for weight, amount, allocatable, used in asks:
            has = allocatable.at[row]
            if has:
                taken = used.at[row] + amount
                worth = self._worth[taken * 100 // has if taken < has else 100]
                if worth > 0:
                    total += worth * weight
                    weights += weight
        return (2 * total + weights) // (2 * weights) if weights else 0

    def many(self, uses: Sequence[Use], rows: int) -> Ints:
        total, weights = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        for use in uses:
            utilization = _percent_of(use, np.minimum(use.used, use.allocatable))
            worth = self._worths[utilization.astype(np.intp)]
            counts = (worth > 0) & (use.allocatable > 0)
            total += worth * counts * use.weight
            weights += counts * use.weight
        # Rounded to the nearest, halves up.
        return np.asarray((2 * total + weights) // np.maximum(2 * weights, 1))


def strategy_of(args: ScoringStrategy) -> Strategy:
    """The strategy a configuration asks for."""
    resources = [(resource.name, resource.weight or 1) for resource in args.resources or CPU_AND_MEMORY]
    if args.type == "LeastAllocated":
        return LeastAllocated(resources)
    if args.type == "MostAllocated":
        return MostAllocated(resources)
    assert args.requested_to_capacity_ratio is not None
    return RequestedToCapacityRatio(resources, args.requested_to_capacity_ratio.shape)


def piecewise(points: Sequence[tuple[int, int]], at: int) -> int:
    """The height at a place of the line through the points, level beyond them; cut towards zero."""
    left, height = points[0]
    if at <= left:
        return height
    for right, next_height in points[1:]:
        if at <= right:
            rise, over = (next_height - height) * (at - left), right - left
            return height + (rise // over if rise >= 0 else -(-rise // over))
        left, height = right, next_height
    return height


def _not_below_zero(amounts: NDArray[Any]) -> None:
    """In place. Looking is quicker than cutting, which is nearly never needed."""
    if len(amounts) and amounts[amounts.argmin()] < 0:
        np.maximum(amounts, 0, out=amounts)


def _percent_of(use: Use, part: Ints) -> Floats:
    return percent(part, use.allocatable, use.divisor, use.most)


def percent(part: Ints, whole: Ints, divisor: Floats, most: int) -> Floats:
    """`part * 100 // whole`, exactly; 0 where the whole is 0. The part is within 0 and the whole, which is at
    most so much."""
    if most > EXACT:  # hundreds of terabytes: slowly but rightly
        whole = np.broadcast_to(np.maximum(whole, 1), part.shape)
        pairs = zip(part.tolist(), whole.tolist(), strict=True)
        return np.fromiter((p * 100 // d for p, d in pairs), np.float64, len(part))
    # In floats, which is several times faster than dividing integers, and rounds nothing at this size. Made
    # floats first: numbers of two kinds are multiplied several times slower.
    scaled = part.astype(np.float64)
    scaled *= 100.0
    scaled /= divisor
    return np.floor(scaled, out=scaled)


def _divide(total: Floats, by: int) -> None:
    """In place. Multiplying is quicker, and as exact for powers of two."""
    if by & (by - 1):
        total /= by
    elif by > 1:
        total *= 1 / by


def _weighed(scores: Sequence[Floats], uses: Sequence[Use], rows: int) -> Ints:
    """Writes over the scores."""
    if not uses:
        return np.zeros(rows, np.int64)
    total, *others = [s if use.weight == 1 else s * use.weight for s, use in zip(scores, uses, strict=True)]
    for score in others:
        total += score
    if all(use.least for use in uses):
        _divide(total, sum(use.weight for use in uses))
    else:
        there = [use.weight * (use.allocatable > 0) for use in uses]
        total /= np.maximum(sum(there), 1)
    return total.astype(np.int64)
