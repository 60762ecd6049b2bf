"""How many candidates are enough, and arguments that make no sense."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.plugins.preemption.args import DefaultPreemptionArgs


@pytest.mark.parametrize(
    ("args", "nodes", "wanted"),
    [
        pytest.param({}, 50, 50, id="all of a few"),
        pytest.param({}, 500, 100, id="a hundred at least"),
        pytest.param({}, 5000, 500, id="a tenth of many"),
        pytest.param({"minCandidateNodesPercentage": 40, "minCandidateNodesAbsolute": 1}, 5, 2, id="V15"),
    ],
)
def test_wanted(args: dict[str, Any], nodes: int, wanted: int) -> None:
    assert msgspec.convert(args, DefaultPreemptionArgs).wanted(nodes) == wanted


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ({"minCandidateNodesPercentage": 101}, "minCandidateNodesPercentage 101 not in valid range [0, 100]"),
        ({"minCandidateNodesPercentage": -1}, "minCandidateNodesPercentage -1 not in valid range [0, 100]"),
        ({"minCandidateNodesAbsolute": -1}, "minCandidateNodesAbsolute -1 not in valid range [0, inf)"),
        ({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}, "cannot both be zero"),
    ],
)
def test_refused(args: dict[str, Any], what: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(args, DefaultPreemptionArgs)
    assert what in str(refused.value)
