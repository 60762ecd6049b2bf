"""Normalisers, with kube-scheduler's arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.framework.api.normalize import maximum, minimum_maximum, reversed_maximum


@pytest.mark.parametrize(
    ("values", "straight", "reverse"),
    [
        pytest.param([1, 2, 3, 4], [25, 50, 75, 100], [75, 50, 25, 0], id="proportions"),
        pytest.param([1000, 10, 20, 30], [100, 1, 2, 3], [0, 99, 98, 97], id="one towers above"),
        pytest.param([1, 1, 1, 1], [100] * 4, [0] * 4, id="all the same"),
        pytest.param([1000, 1, 1, 1], [100, 0, 0, 0], [0, 100, 100, 100], id="rounded down to nothing"),
        pytest.param([0, 0, 0, 0], [0] * 4, [100] * 4, id="all zero"),
        pytest.param([3, 2], [100, 66], [0, 34], id="rounded down before it is reversed"),
        pytest.param([7], [100], [0], id="one value"),
    ],
)
def test_maximum_and_its_reverse(values: list[int], straight: list[int], reverse: list[int]) -> None:
    assert maximum(values) == straight
    assert reversed_maximum(values) == reverse


def test_large_values_are_exact() -> None:
    top = 2**62
    assert maximum([top, top - 1, top // 2]) == [100, 99, 50]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([5, 10, 15], [0, 50, 100], id="spread"),
        pytest.param([-10, 0, 10], [0, 50, 100], id="below zero"),
        pytest.param([4, 4], [0, 0], id="all the same"),
        pytest.param([0, 29, 50], [0, 57, 100], id="29 of 50 is less than 58 in floats"),
        pytest.param([0, 1, 3], [0, 33, 100], id="rounded down"),
    ],
)
def test_minimum_maximum(values: list[int], expected: list[int]) -> None:
    assert minimum_maximum(values) == expected


@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=8))
def test_results_are_within_bounds_and_keep_the_order(values: list[int]) -> None:
    for normalize, sign in ((maximum, 1), (reversed_maximum, -1), (minimum_maximum, 1)):
        scores = normalize(values)
        assert all(type(score) is int and 0 <= score <= 100 for score in scores)
        by_value = [score for _, score in sorted(zip(values, scores, strict=True))]
        assert by_value == sorted(by_value, key=lambda score: sign * score)
