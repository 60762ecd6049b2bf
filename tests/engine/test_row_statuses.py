"""Statuses by row: they read as the dictionary they stand for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.engine.placement.row_statuses import RowStatuses
from mooring.framework.api.answers import Rejections
from mooring.framework.api.status import Code, unresolvable, unschedulable

ROWS = 6
STATUSES = (unschedulable("a"), unschedulable("b"), unresolvable("a"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, ROWS - 1), st.sampled_from((None, *STATUSES))),
        st.tuples(st.just("many"), st.lists(st.sampled_from(STATUSES), min_size=1, max_size=ROWS), st.none()),
        st.tuples(st.just("copy"), st.none(), st.none()),
    ),
    max_size=20,
)


def put_many(statuses: RowStatuses, expected: dict[int, Any], given: list[Any]) -> None:
    """To rows that have none."""
    rows = [row for row in range(ROWS) if row not in expected][: len(given)]
    distinct = tuple(dict.fromkeys(given[: len(rows)]))
    numbers = np.array([distinct.index(status) for status in given[: len(rows)]], np.intp)
    statuses.put_many(np.array(rows, np.intp), Rejections(distinct, numbers))
    expected.update(zip(rows, given, strict=False))


@given(STEPS)
def test_what_is_put_is_there(steps: list[Any]) -> None:
    statuses, expected = RowStatuses(ROWS), {}
    for what, where, status in steps:
        if what == "many":
            put_many(statuses, expected, where)
        elif what == "copy":
            before, statuses = statuses, statuses.copy()
            before.put(0, None if 0 in before else STATUSES[0])  # which the copy does not see
        else:
            statuses.put(where, status)
            expected[where] = status
        expected = {row: each for row, each in expected.items() if each is not None}
        assert statuses == expected
        assert len(statuses) == len(expected)
        assert statuses.counts() == Counter(expected.values())
        helps = [row in expected and expected[row].code is Code.UNSCHEDULABLE for row in range(ROWS)]
        assert statuses.resolvable().tolist() == helps


def test_statuses_that_nobody_gives_any_more_are_not_kept() -> None:
    statuses = RowStatuses(ROWS)
    for moment in range(100):
        statuses.put(1, unschedulable(f"at {moment}"))
    assert len(statuses.counts()) == 1
    assert len(statuses._distinct) < ROWS


@pytest.mark.parametrize("row", [-1, 0, ROWS])
def test_a_row_without_a_status_is_not_there(row: int) -> None:
    statuses = RowStatuses(ROWS)
    assert statuses.get(row) is None
    with pytest.raises(KeyError):
        statuses[row]
