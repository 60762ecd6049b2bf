"""Placed pods, by uid and by row in the order they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.cluster.cluster import Cluster

Make = Callable[..., Any]


def names(cluster: Cluster, row: int) -> list[str]:
    return list(cluster.pods.on(row))


def test_pods_of_a_row_come_in_order(two_nodes: Cluster, pod: Make) -> None:
    with two_nodes.statement() as statement:
        for name in ("one", "two", "three"):
            statement.take(pod(name), "a")
        statement.take(pod("other"), "b")
    assert names(two_nodes, 0) == ["one", "two", "three"]
    assert names(two_nodes, 1) == ["other"]
    assert len(two_nodes.pods) == 4


def test_a_pod_whose_going_is_undone_is_back_at_its_turn(two_nodes: Cluster, pod: Make) -> None:
    with two_nodes.statement() as statement:
        for name in ("one", "two", "three"):
            statement.take(pod(name), "a")
    trial = two_nodes.statement()
    trial.give_back("one")
    trial.give_back("two")
    assert names(two_nodes, 0) == ["three"]
    trial.roll_back()
    assert names(two_nodes, 0) == ["one", "two", "three"]


def test_a_pod_that_comes_again_comes_last(two_nodes: Cluster, pod: Make) -> None:
    with two_nodes.statement() as statement:
        statement.take(pod("one"), "a")
        statement.take(pod("two"), "a")
        statement.give_back("one")
        statement.take(pod("one"), "a")
    assert names(two_nodes, 0) == ["two", "one"]


def test_the_order_outlives_the_node(two_nodes: Cluster, pod: Make, node: Make) -> None:
    with two_nodes.statement() as statement:
        for name in ("one", "two", "three"):
            statement.take(pod(name, on="a"), "a", bound=True)
    trial = two_nodes.statement()
    trial.drop_node("a")
    assert list(two_nodes.pods.homeless["a"]) == ["one", "two", "three"]
    trial.roll_back()
    assert names(two_nodes, 0) == ["one", "two", "three"]
    assert two_nodes.pods.homeless == {}


def test_asking_about_a_row_without_pods_is_fine(cluster: Cluster) -> None:
    assert cluster.pods.on(7) == {}
