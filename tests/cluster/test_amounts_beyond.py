"""Amounts that are too large to be added up, and resources that no node has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.nodes import MOST_TAKEN
from mooring.model.amounts import LARGEST

Make = Callable[..., Any]
RARE = "ex.io/rare"


@pytest.mark.parametrize("pods", [2, 3, 40])
def test_pods_that_ask_for_everything_are_counted_and_taken_off_again(
    two_nodes: Cluster, pod: Make, picture: Make, column: Make, pods: int
) -> None:
    """What ended the process: two pods with `nodeName` and `memory: 8E`."""
    with two_nodes.statement() as statement:
        statement.take(pod("plain", {"memory": "1Gi"}, on="a"), "a", bound=True)
    before = picture(two_nodes)
    for number in range(pods):
        with two_nodes.statement() as statement:
            statement.take(pod(f"p{number}", {"memory": "8E", "cpu": "8E"}, on="a"), "a", bound=True)
        two_nodes.check()
    assert column(two_nodes, "memory", "requested")[0] == min(pods * LARGEST + 2**30, MOST_TAKEN)
    assert two_nodes.overcommitted() == ["a: memory", "a: cpu"]
    with two_nodes.statement() as statement:
        for number in range(pods):
            statement.evict(f"p{number}")
        two_nodes.check()
        for number in range(pods):
            statement.give_back(f"p{number}")
            two_nodes.check()
    assert picture(two_nodes) == before


def test_a_resource_has_columns_as_long_as_a_node_has_any(
    two_nodes: Cluster, node: Make, pod: Make, column: Make
) -> None:
    layout = two_nodes.nodes.layout
    with two_nodes.statement() as statement:
        statement.take(pod("early", {RARE: "3"}, on="b"), "b", bound=True)
        statement.pipeline(pod("promised", {RARE: "5"}), "b")
    assert RARE not in two_nodes.nodes.resources
    assert two_nodes.nodes.layout is layout
    with two_nodes.statement() as statement:
        statement.put_node(node("a", **{RARE: "4"}))
    assert column(two_nodes, RARE, "requested") == [0, 3]
    two_nodes.check()
    with two_nodes.statement() as statement:
        statement.evict("early")
        statement.put_node(node("a"))
    assert RARE not in two_nodes.nodes.resources
    two_nodes.check()
    statement = two_nodes.statement()
    statement.put_node(node("b", **{RARE: "1"}))
    assert column(two_nodes, RARE, "requested") == [0, 3]
    statement.roll_back()
    assert RARE not in two_nodes.nodes.resources
    two_nodes.check()


def test_sums_of_the_largest_amounts_do_not_wrap_around(two_nodes: Cluster, pod: Make, column: Make) -> None:
    nodes = two_nodes.nodes
    with two_nodes.statement() as statement:
        for number in range(3):
            statement.take(pod(f"p{number}", {"memory": "8E"}, on="a"), "a", bound=True)
    requested = nodes.of_resource("memory").requested.array[:2]
    assert (requested + np.int64(LARGEST) > 0).all()
    assert (
        nodes.of_resource("memory").allocatable.array[:2] - requested - np.int64(LARGEST) < 0
    ).tolist() == [
        True,
        True,
    ]
