"""Normalisers: from raw scores of any size to 0..100.

A normaliser is a function of the distinct raw values among the feasible nodes. It never sees nodes,
so the engine can normalise a handful of values instead of thousands of nodes, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

MAX_SCORE = 100

Normalizer = Callable[[Sequence[int]], Sequence[int]]


def maximum(values: Sequence[int]) -> list[int]:
    """The largest becomes 100, the others in proportion; all 0 when the largest is 0."""
    top = max(values)
    return [0] * len(values) if top == 0 else [MAX_SCORE * value // top for value in values]


def reversed_maximum(values: Sequence[int]) -> list[int]:
    """0 becomes 100 and the largest 0; all 100 when the largest is 0."""
    return [MAX_SCORE - score for score in maximum(values)]


def minimum_maximum(values: Sequence[int]) -> list[int]:
    """The smallest becomes 0 and the largest 100; all 0 when they are the same."""
    low, high = min(values), max(values)
    if low == high:
        return [0] * len(values)
    # The fraction first, as kube-scheduler does: 29 of 50 is 57, for want of a float that is 0.58.
    return [int(MAX_SCORE * ((value - low) / (high - low))) for value in values]
