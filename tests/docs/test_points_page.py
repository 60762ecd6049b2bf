"""The reference of points is what the code says; every point is told."""

from __future__ import annotations

import inspect

import pytest

from mooring.framework.api.points import POINTS
from mooring.framework.api.typed_points import Points
from tests.docs.points_page import PAGE, page


def test_the_page_is_that_of_the_code() -> None:
    assert PAGE.read_text() == page(), "run: python tests/docs/points_page.py"


@pytest.mark.parametrize("name", sorted(set(POINTS) - {"normalize"}))
def test_a_point_says_when_it_is_called_and_what_it_returns(name: str) -> None:
    when, found, answer = (inspect.getdoc(getattr(Points, name)) or "").partition("\n\nReturns: ")
    assert when.endswith(".")
    assert found
    assert answer.endswith(".")


def test_reserve_is_given_the_name_of_a_node() -> None:
    assert "`def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None`" in page()
