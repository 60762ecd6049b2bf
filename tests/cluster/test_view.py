"""What plugins see of one node, and of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ROW_ATTRIBUTES, ClusterView, NodeView, StaticNode
from mooring.errors import ScopeError

Make = Callable[..., Any]
MIB = 2**20


@pytest.fixture
def view(cluster: Cluster, node: Make, pod: Make) -> ClusterView:
    with cluster.statement() as statement:
        statement.put_node(
            node("a", labels={"zone": "x"}, taints=("t",), unschedulable=True, **{"ex.io/f": "3"})
        )
        statement.put_node(node("b"))
        statement.take(pod("one", {"cpu": "1", "ex.io/f": "2"}), "a")
        statement.take(pod("two", {"memory": "1Mi"}, on="a"), "a", bound=True)
        statement.evict("two")
        statement.pipeline(pod("later", {"cpu": "2"}), "a")
    return ClusterView(cluster.nodes, cluster.pods)


def test_the_object_shows(view: ClusterView) -> None:
    a = view.node("a")
    assert a is not None
    assert (a.name, a.labels, a.annotations, a.unschedulable) == ("a", {"zone": "x"}, {}, True)
    assert [taint.key for taint in a.taints] == ["t"]
    assert (a.allocatable("cpu"), a.allocatable("ex.io/f"), a.max_pods) == (4000, 3, 110)
    assert repr(a) == "<node a>"


def test_the_pods_and_what_they_hold_show(view: ClusterView) -> None:
    a = view.node("a")
    assert a is not None
    assert [pod.name for pod in a.pods] == ["one", "two"]  # a promised pod holds nothing
    assert a.pod_count == 2
    assert (a.requested("cpu"), a.free("cpu")) == (1000, 3000)
    assert (a.requested("ex.io/f"), a.free("ex.io/f")) == (2, 1)
    assert a.requested_nonzero("cpu") == 1000 + 100
    assert a.requested_nonzero("memory") == 200 * MIB + MIB
    assert a.requested_nonzero("ex.io/f") == 2


def test_a_resource_nobody_named_is_none_of(view: ClusterView, cluster: Cluster) -> None:
    a = view.node("a")
    assert a is not None
    asked = (a.allocatable, a.requested, a.free, a.requested_nonzero)
    assert [ask("ex.io/unheard-of") for ask in asked] == [0, 0, 0, 0]
    assert "ex.io/unheard-of" not in cluster.nodes.resources


def test_free_is_negative_when_the_node_shrank(view: ClusterView, cluster: Cluster, node: Make) -> None:
    with cluster.statement() as statement:
        statement.put_node(node("a", "500m"))
    a = view.node("a")
    assert a is not None
    assert a.free("cpu") == -500


def test_a_view_follows_its_node(view: ClusterView, cluster: Cluster, pod: Make) -> None:
    b = view.node("b")
    assert b is not None
    with cluster.statement() as statement:
        statement.take(pod("three", {"cpu": "3"}), "b")
    assert (b.free("cpu"), b.pod_count) == (1000, 1)


def test_nodes_come_in_the_order_they_joined(view: ClusterView, cluster: Cluster, node: Make) -> None:
    with cluster.statement() as statement:
        statement.drop_node("a")
        statement.put_node(node("c"))  # on the row of `a`
    assert [node.name for node in view.nodes] == ["b", "c"]
    assert [node.row for node in view.nodes] == [1, 0]
    assert len(view) == 2
    assert view.node("a") is None


def test_pods_are_found_by_uid(view: ClusterView) -> None:
    found = view.pod("one")
    assert found is not None
    assert found.name == "one"
    assert view.pod("nobody") is None


def test_row_attributes_are_all_that_pods_bring() -> None:
    expected = {"pods", "pod_count", "requested", "free", "requested_nonzero"}
    assert expected == ROW_ATTRIBUTES


@pytest.mark.parametrize("name", sorted(ROW_ATTRIBUTES))
def test_a_static_view_refuses_what_depends_on_pods(view: ClusterView, cluster: Cluster, name: str) -> None:
    static = StaticNode(cluster.nodes, cluster.pods, 0)
    with pytest.raises(ScopeError) as refusal:
        getattr(static, name)
    assert str(refusal.value) == f"reads node.{name}, which scope STATIC does not declare: use scope ROW"


def test_a_static_view_shows_the_object(view: ClusterView, cluster: Cluster) -> None:
    static = StaticNode(cluster.nodes, cluster.pods, 0)
    assert (static.name, static.allocatable("cpu"), static.unschedulable) == ("a", 4000, True)


@pytest.mark.parametrize("kind", [StaticNode, NodeView])
def test_a_misspelt_attribute_is_an_attribute_error(
    view: ClusterView, cluster: Cluster, kind: type[StaticNode]
) -> None:
    with pytest.raises(AttributeError, match="a node has no attribute 'lables'"):
        kind(cluster.nodes, cluster.pods, 0).lables  # noqa: B018
