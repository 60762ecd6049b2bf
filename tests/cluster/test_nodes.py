"""The node table: rows that are freed and used again, arrays that grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.nodes import FIRST_CAPACITY
from mooring.errors import QuantityError
from mooring.model.objects import Node

Make = Callable[..., Any]


def put(cluster: Cluster, *nodes: Node) -> None:
    with cluster.statement() as statement:
        for each in nodes:
            statement.put_node(each)


def drop(cluster: Cluster, *names: str) -> None:
    with cluster.statement() as statement:
        for name in names:
            statement.drop_node(name)


def furnished(node: Make, name: str) -> Node:
    """A node with something in every column."""
    more = {"ephemeral-storage": "10Gi", "nvidia.com/gpu": "8"}
    return node(
        name, labels={"zone": "z"}, taints=("t",), images={"app": 3}, unschedulable=True, **more
    )  # fmt: skip


def test_columns_come_from_the_object(cluster: Cluster, node: Make, column: Make) -> None:
    put(cluster, node("plain"), furnished(node, "full"))
    nodes = cluster.nodes
    assert nodes.rows == {"plain": 0, "full": 1}
    assert column(cluster, "cpu", "allocatable") == [4000, 4000]
    assert column(cluster, "nvidia.com/gpu", "allocatable") == [0, 8]
    assert nodes.max_pods.array[:2].tolist() == [110, 110]
    assert nodes.alive[:3].tolist() == [True, True, False]
    assert nodes.unschedulable[:2].tolist() == [False, True]
    assert [t.key for t in nodes.taint_sets.values[nodes.taint_set.at[1]]] == ["t"]
    assert nodes.labels.column("zone").matching(lambda zone: zone == "z")[:2].tolist() == [False, True]


def test_a_changed_object_keeps_its_row_and_its_turn(cluster: Cluster, node: Make, column: Make) -> None:
    put(cluster, furnished(node, "a"), node("b"))
    arrival = list(cluster.nodes.arrival)
    put(cluster, node("a", "2"))
    assert cluster.nodes.rows == {"a": 0, "b": 1}
    assert cluster.nodes.arrival == arrival
    assert column(cluster, "cpu", "allocatable") == [2000, 4000]
    assert column(cluster, "nvidia.com/gpu", "allocatable") == [0, 0]
    assert not cluster.nodes.unschedulable[0]


def test_freed_rows_are_all_zero_and_their_labels_absent(
    cluster: Cluster, node: Make, pod: Make, picture: Make
) -> None:
    put(cluster, furnished(node, "a"), node("b"))
    with cluster.statement() as statement:
        statement.take(pod("p", {"cpu": "1", "nvidia.com/gpu": "1"}, ports=(80,)), "a")
        statement.evict("p")
        statement.pipeline(pod("q", {"cpu": "2"}), "a")
        statement.drop_node("a")
    assert picture(cluster)["free"] == {0: {}}
    assert picture(cluster)["ports"] == {}
    assert cluster.nodes.taint_set.at[0] == 0
    assert len(cluster.nodes) == 1


def test_freed_rows_are_used_again_last_first(cluster: Cluster, node: Make) -> None:
    put(cluster, *(node(name) for name in "abcd"))
    drop(cluster, "b", "d")
    put(cluster, node("e"), node("f"), node("g"))
    assert cluster.nodes.rows == {"a": 0, "c": 2, "e": 3, "f": 1, "g": 4}
    assert cluster.nodes.high == 5


def test_a_new_node_on_an_old_row_inherits_nothing(cluster: Cluster, node: Make, picture: Make) -> None:
    put(cluster, furnished(node, "a"))
    drop(cluster, "a")
    put(cluster, node("b"))
    fresh = Cluster()
    put(fresh, node("b"))
    assert picture(cluster)["nodes"] == picture(fresh)["nodes"]


def test_a_node_that_comes_back_joins_last(cluster: Cluster, node: Make, picture: Make) -> None:
    put(cluster, node("a"), node("b"))
    drop(cluster, "a")
    put(cluster, node("a"))
    assert picture(cluster)["order"] == ["b", "a"]


def test_growing_past_the_capacity_keeps_everything(
    cluster: Cluster, node: Make, pod: Make, picture: Make
) -> None:
    names = [f"n{i}" for i in range(FIRST_CAPACITY)]
    put(cluster, *(furnished(node, name) for name in names))
    with cluster.statement() as statement:
        for i, name in enumerate(names):
            statement.take(pod(f"p{i}", {"cpu": f"{i}m", "nvidia.com/gpu": "1"}, ports=(80,)), name)
        statement.evict("p3")
        statement.pipeline(pod("later", {"memory": "1Gi"}), "n5")
    before, layout = picture(cluster), cluster.nodes.layout
    assert cluster.nodes.capacity == FIRST_CAPACITY
    put(cluster, node("one-more"))
    after = picture(cluster)
    assert after["nodes"].pop("one-more")["row"] == FIRST_CAPACITY
    assert after["nodes"] == before["nodes"]
    assert after["ports"] == before["ports"]
    assert cluster.nodes.capacity > FIRST_CAPACITY
    assert cluster.nodes.layout is not layout


def test_after_growing_single_values_and_arrays_are_the_same_memory(
    cluster: Cluster, node: Make, pod: Make, column: Make
) -> None:
    put(cluster, *(node(f"n{i}") for i in range(FIRST_CAPACITY + 1)))
    with cluster.statement() as statement:
        statement.take(pod("p", {"cpu": "1"}), f"n{FIRST_CAPACITY}")
    assert column(cluster, "cpu", "requested") == [0] * FIRST_CAPACITY + [1000]


def test_a_resource_first_named_after_growing_has_a_column_for_all(
    cluster: Cluster, node: Make, column: Make
) -> None:
    put(cluster, *(node(f"n{i}") for i in range(FIRST_CAPACITY)))
    put(cluster, node("gpu", **{"nvidia.com/gpu": "4"}))
    assert column(cluster, "nvidia.com/gpu", "allocatable") == [0] * FIRST_CAPACITY + [4]


def test_changes_are_written_to_the_journals(cluster: Cluster, node: Make, pod: Make) -> None:
    nodes = cluster.nodes
    put(cluster, node("a"), node("b"))
    rows, objects = nodes.journal.position, nodes.node_journal.position
    with cluster.statement() as statement:
        statement.take(pod("p", {"cpu": "1"}), "b")
    assert nodes.journal.since(rows) == [1]
    assert nodes.node_journal.since(objects) == []
    put(cluster, node("a", "8"))
    assert nodes.node_journal.since(objects) == [0]
    assert nodes.journal.since(rows) == [1, 0]


def test_a_node_of_nonsense_quantities_is_refused_whole(cluster: Cluster, node: Make, picture: Make) -> None:
    put(cluster, node("a"))
    before = picture(cluster)
    for name in ("a", "b"):
        with pytest.raises(QuantityError, match="apples"), cluster.statement() as statement:
            statement.put_node(node(name, "12 apples"))
        assert picture(cluster) == before


def test_nodes_with_different_amounts_of_anything_are_not_alike(cluster: Cluster, node: Make) -> None:
    put(cluster, node("a"), node("b"), node("c", **{"nvidia.com/gpu": "1"}), node("d", labels={"zone": "z"}))
    nodes = cluster.nodes
    a, b, c, d = (nodes.amounts(nodes.rows[name]) for name in "abcd")
    assert a == b == d != c
    put(cluster, *(node(f"n{number}") for number in range(FIRST_CAPACITY)), node("b", pods="7"))
    assert nodes.amounts(nodes.rows["a"]) == a
    assert nodes.amounts(nodes.rows["n1"]) == a
    assert nodes.amounts(nodes.rows["b"]) != a
