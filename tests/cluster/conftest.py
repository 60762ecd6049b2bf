"""Small clusters, and a full picture of one to compare with another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.pods import Placed
from mooring.cluster.view import ClusterView
from mooring.model.objects import (
    Container,
    ContainerImage,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Taint,
)

Make = Callable[..., Any]


def make_node(
    name: str,
    cpu: str = "4",
    *,
    labels: dict[str, str] | None = None,
    taints: tuple[str, ...] = (),
    images: dict[str, int] | None = None,
    unschedulable: bool = False,
    **more: Any,
) -> Node:
    """A node with room; more resources by keyword, images as {name: size}, taints by key."""
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110", **more}
    held = tuple(ContainerImage(names=(image,), size_bytes=size) for image, size in (images or {}).items())
    return Node(
        metadata=ObjectMeta(name=name, labels=labels or {}),
        spec=NodeSpec(
            taints=tuple(Taint(key=key, effect="NoSchedule") for key in taints), unschedulable=unschedulable
        ),
        status=NodeStatus(allocatable=allocatable, images=held),
    )


def make_pod(
    name: str,
    requests: dict[str, Any] | None = None,
    *,
    on: str = "",
    ports: tuple[int, ...] = (),
    labels: dict[str, str] | None = None,
    image: str = "",
    status: PodStatus | None = None,
    **meta: Any,
) -> Pod:
    """A pod whose uid is its name, with one container."""
    container = Container(
        name="main",
        image=image,
        resources=ResourceRequirements(requests=requests or {}),
        ports=tuple(ContainerPort(host_port=port) for port in ports),
    )
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=name, labels=labels or {}, **meta),
        spec=PodSpec(node_name=on, containers=(container,)),
        status=status or PodStatus(),
    )


def take_picture(cluster: Cluster) -> dict[str, Any]:
    """Everything anyone can learn of a cluster, by value: numbers that are given out freely do not show."""
    nodes = cluster.nodes
    return {
        "order": [node.name for node in ClusterView(nodes, cluster.pods).nodes],
        "nodes": {name: _row(cluster, row) for name, row in nodes.rows.items()},
        "free": {
            row: _leftovers(cluster, row) for row in range(nodes.high) if row not in nodes.rows.values()
        },
        "pods": {uid: _pod(placed) for uid, placed in cluster.pods.by_uid.items()},
        "homeless": {name: list(pods) for name, pods in cluster.pods.homeless.items()},
        "ports": {tuple(socket): deepcopy(rows) for socket, rows in nodes.ports._used.items()},
        "images": {name: (i.size_bytes, sorted(i.rows)) for name, i in nodes.images._images.items()},
        "image nodes": nodes.images.nodes,
        "counts": _counts(cluster),
        "books": {name: dict(book.items()) for name, book in cluster.books.by_name.items()},
    }


def _counts(cluster: Cluster) -> dict[Any, Any]:
    """What is kept of registered questions."""
    counts = cluster.counts
    selectors = {number: c.by_row for number, held in counts._selectors.items() if (c := held()) is not None}
    carried = {(name, t): c.by_row for name, terms in counts.carried.items() for t, c in terms.items()}
    assert all(c.total == sum(c.by_row.values()) for terms in counts.carried.values() for c in terms.values())
    return selectors | {term: rows for term, rows in carried.items() if rows}


def _row(cluster: Cluster, row: int) -> dict[str, Any]:
    nodes = cluster.nodes
    return {
        "row": row,
        "object": nodes.objects[row],
        "numbers": _numbers(cluster, row),
        "alive": bool(nodes.alive[row]),
        "unschedulable": bool(nodes.unschedulable[row]),
        "taints": nodes.taint_sets.values[nodes.taint_set.at[row]],
        "labels": _labels(cluster, row),
        "pods": list(cluster.pods.on(row)),
    }


def _numbers(cluster: Cluster, row: int) -> dict[str, int]:
    nodes = cluster.nodes
    found = {
        f"{name} {kind}": getattr(columns, kind).at[row]
        for name, columns in nodes.resources.items()
        for kind in ("allocatable", "requested")
    }
    for name in ("nonzero_cpu_milli", "nonzero_memory", "pods", "max_pods"):
        found[name] = getattr(nodes, name).at[row]
    return {name: number for name, number in found.items() if number}


def _labels(cluster: Cluster, row: int) -> dict[str, str]:
    columns = cluster.nodes.labels._columns.items()
    return {key: column.values.values[column.ids[row]] for key, column in columns if column.ids[row] >= 0}


def _leftovers(cluster: Cluster, row: int) -> dict[str, Any]:
    """What stands in a row without a node: all of it ought to be nothing."""
    nodes = cluster.nodes
    found = {
        "object": nodes.objects[row],
        "numbers": _numbers(cluster, row),
        "labels": _labels(cluster, row),
        "taints": nodes.taint_sets.values[nodes.taint_set.at[row]],
        "alive": bool(nodes.alive[row]),
        "unschedulable": bool(nodes.unschedulable[row]),
        "pods": list(cluster.pods.on(row)),
    }
    return {name: value for name, value in found.items() if value}


def _pod(placed: Placed) -> tuple[Any, ...]:
    return placed.pod, placed.node, placed.row, placed.hold, id(placed.charge)


@pytest.fixture(scope="session")
def node() -> Make:
    return make_node


@pytest.fixture(scope="session")
def pod() -> Make:
    return make_pod


@pytest.fixture(scope="session")
def picture() -> Make:
    return take_picture


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """An empty cluster, which must agree with itself when the test is over."""
    cluster = Cluster()
    yield cluster
    cluster.check()
    assert not any(take_picture(cluster)["free"].values())


@pytest.fixture
def two_nodes(cluster: Cluster) -> Cluster:
    """Nodes `a` and `b`, on rows 0 and 1."""
    with cluster.statement() as statement:
        statement.put_node(make_node("a"))
        statement.put_node(make_node("b"))
    return cluster


@pytest.fixture(scope="session")
def column() -> Make:
    """A resource's amounts of one kind over all rows."""

    def read(cluster: Cluster, resource: str, kind: str) -> list[int]:
        nodes = cluster.nodes
        amounts = getattr(nodes.of_resource(resource), kind)
        assert np.array_equal(amounts.array, np.asarray(amounts.at))
        return amounts.array[: nodes.high].tolist()

    return read
