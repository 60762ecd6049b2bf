"""What vector plugins see, and that it is what per-node plugins see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import ROW_COLUMNS, NodeColumns, StaticColumns
from mooring.cluster.view import ClusterView, NodeView
from mooring.errors import ScopeError

Make = Callable[..., Any]
RESOURCES = ("cpu", "memory", "ephemeral-storage", "ex.io/f", "ex.io/unheard-of")


@pytest.fixture
def stage(cluster: Cluster, node: Make, pod: Make) -> Cluster:
    """Rows 0, 1 and 3 have nodes; row 2 is free."""
    with cluster.statement() as statement:
        statement.put_node(node("a", labels={"zone": "x"}, taints=("t",), **{"ex.io/f": "3"}))
        statement.put_node(node("b", "8", unschedulable=True, images={"app": 1}))
        statement.put_node(node("gone", labels={"zone": "x"}, taints=("t",), unschedulable=True))
        statement.put_node(node("d", "2", labels={"zone": "y"}, pods="5"))
        statement.take(pod("one", {"cpu": "1", "ex.io/f": "2"}, ports=(80,)), "a")
        statement.take(pod("two", {"memory": "1Mi"}), "a")
        statement.take(pod("three", {"cpu": "3"}), "d")
        statement.evict("three")
        statement.pipeline(pod("later", {"cpu": "2"}), "b")
        statement.drop_node("gone")
    return cluster


def columns(cluster: Cluster, rows: list[int] | None = None) -> NodeColumns:
    view = ClusterView(cluster.nodes, cluster.pods)
    return NodeColumns(cluster.nodes, view.view, None if rows is None else np.array(rows, np.intp))


@pytest.mark.parametrize("rows", [None, [3, 0], [1]], ids=["all", "some in any order", "one"])
def test_columns_agree_with_views(stage: Cluster, rows: list[int] | None) -> None:
    found = columns(stage, rows)
    alive = np.flatnonzero(found.alive).tolist()
    assert found.rows.tolist() == (rows or [0, 1, 2, 3])
    assert len(found) == len(found.rows)
    for index in alive:
        view = found.at_row(int(found.rows[index]))
        assert isinstance(view, NodeView)
        assert found.max_pods[index] == view.max_pods
        assert found.unschedulable[index] == view.unschedulable
        assert found.pod_count[index] == view.pod_count
        for resource in RESOURCES:
            for kind in ("allocatable", "requested", "free", "requested_nonzero"):
                one, many = getattr(view, kind)(resource), getattr(found, kind)(resource)
                assert many[index] == one, (kind, resource, view)
                assert len(many) == len(found)


def test_rows_line_up_with_what_is_asked_for(stage: Cluster) -> None:
    found = columns(stage, [3, 0])
    assert [found.at_row(row).name for row in found.rows.tolist()] == ["d", "a"]
    assert found.allocatable("cpu").tolist() == [2000, 4000]


def test_static_columns_show_static_nodes(stage: Cluster) -> None:
    static = StaticColumns(stage.nodes, ClusterView(stage.nodes, stage.pods).view).at_row(1)
    assert static.name == "b"
    with pytest.raises(ScopeError, match=r"reads node\.pods"):
        static.pods  # noqa: B018


def test_a_free_row_is_zero_everywhere(stage: Cluster) -> None:
    found = columns(stage)
    assert found.alive.tolist() == [True, True, False, True]
    numbers = [found.max_pods, found.pod_count, found.allocatable("cpu"), found.free("memory")]
    assert [column[2] for column in numbers] == [0, 0, 0, 0]
    assert not found.unschedulable[2]
    assert found.matching_label("zone", lambda zone: zone is None).tolist() == [False, True, True, False]


def test_labels_match_by_value_or_absence(stage: Cluster) -> None:
    found = columns(stage, [3, 1, 0])
    assert found.matching_label("zone", lambda zone: zone == "x").tolist() == [False, False, True]
    assert found.matching_label("nobody", lambda value: value is None).tolist() == [True] * 3


def test_taints_are_asked_about_once_per_distinct_set(stage: Cluster) -> None:
    asked: list[int] = []

    def count(taints: tuple[Any, ...]) -> int:
        asked.append(len(taints))
        return len(taints)

    assert columns(stage).by_taints(count).tolist() == [1, 0, 0, 0]
    assert sorted(asked) == [0, 1]


def test_rows_can_be_picked_by_name_and_number(stage: Cluster) -> None:
    found = columns(stage, [3, 1, 0])
    assert found.named(["d", "gone", "nobody"]).tolist() == [True, False, False]
    assert found.mask_of({0, 1}).tolist() == [False, True, True]
    assert found.mask_of([]).tolist() == [False] * 3


def test_port_clashes_show_on_their_rows(stage: Cluster) -> None:
    assert columns(stage).port_clashes([("0.0.0.0", "TCP", 80)]).tolist() == [True, False, False, False]
    assert columns(stage, [1]).port_clashes([("0.0.0.0", "TCP", 80)]).tolist() == [False]


def test_images_are_those_of_the_table(stage: Cluster) -> None:
    image = columns(stage).images.find("app")
    assert image is not None
    assert image.rows == {1}


@pytest.mark.parametrize("rows", [None, [0, 1]], ids=["all", "some"])
def test_columns_are_for_reading_only(stage: Cluster, rows: list[int] | None) -> None:
    found = columns(stage, rows)
    shown = [found.alive, found.unschedulable, found.max_pods, found.pod_count]
    shown += [found.allocatable("cpu"), found.requested("cpu"), found.requested_nonzero("cpu")]
    shown += [found.requested_nonzero("memory"), found.requested_nonzero("ex.io/f")]
    for column in shown:
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_reading_does_not_lock_the_table(stage: Cluster, pod: Make) -> None:
    found = columns(stage)
    before = found.requested("cpu").tolist()
    with stage.statement() as statement:
        statement.take(pod("four", {"cpu": "1"}), "b")
    assert before == [1000, 0, 0, 3000]
    assert found.requested("cpu").tolist() == [1000, 1000, 0, 3000]


def test_row_columns_are_all_that_pods_bring() -> None:
    assert {"pod_count", "requested", "free", "requested_nonzero", "port_clashes"} <= ROW_COLUMNS


@pytest.mark.parametrize("name", sorted(name for name in ROW_COLUMNS if not hasattr(StaticColumns, name)))
def test_static_columns_refuse_what_depends_on_pods(stage: Cluster, name: str) -> None:
    view = ClusterView(stage.nodes, stage.pods)
    with pytest.raises(ScopeError) as refusal:
        getattr(StaticColumns(stage.nodes, view.view), name)
    assert str(refusal.value) == f"reads nodes.{name}, which scope STATIC does not declare: use scope ROW"


def test_a_misspelt_column_is_an_attribute_error(stage: Cluster) -> None:
    with pytest.raises(AttributeError, match="node columns have no attribute 'allocateable'"):
        columns(stage).allocateable  # noqa: B018
