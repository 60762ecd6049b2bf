"""The cluster as a whole: its check, and what is held beyond what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.pods import Hold
from mooring.errors import InvariantError

Make = Callable[..., Any]


def set_number(cluster: Cluster, kind: str) -> None:
    getattr(cluster.nodes.resources["cpu"], kind).at[0] += 1


DAMAGE: dict[str, tuple[Callable[[Cluster], object], str]] = {
    "requested": (lambda c: set_number(c, "requested"), "row 0: requested cpu is 1001 in the column"),
    "pod count": (lambda c: c.nodes.pods.at.__setitem__(0, 5), "row 0: pods is 5 in the column and 1"),
    "nonzero cpu": (lambda c: c.nodes.nonzero_cpu_milli.at.__setitem__(0, 5), "row 0: nonzero cpu is 5"),
    "nonzero memory": (lambda c: c.nodes.nonzero_memory.at.__setitem__(0, 5), "row 0: nonzero memory is 5"),
    "hold": (lambda c: setattr(c.pods.by_uid["p"], "hold", Hold.PROMISED), "row 0: pods is 1 in the column"),
    "alive": (lambda c: c.nodes.alive.__setitem__(0, False), "row 0 is free and holds 1 pods"),
    "ports": (
        lambda c: c.nodes.ports.add(0, [("0.0.0.0", "TCP", 80)], -1),
        "row 0: ports of default/p are not marked as used",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_the_check_finds(node: Make, pod: Make, damage: Callable[[Cluster], object], message: str) -> None:
    cluster = Cluster()
    with cluster.statement() as statement:
        statement.put_node(node("a"))
        statement.take(pod("p", {"cpu": "1"}, ports=(80,)), "a")
    cluster.check()
    damage(cluster)
    with pytest.raises(InvariantError, match=message):
        cluster.check()


LEFT_OVER: dict[str, Callable[[Cluster], object]] = {
    "object": lambda c: c.nodes.objects.__setitem__(1, c.nodes.object_at(0)),
    "allocatable": lambda c: c.nodes.resources["memory"].allocatable.at.__setitem__(1, 1),
    "room for pods": lambda c: c.nodes.max_pods.at.__setitem__(1, 110),
    "cordon": lambda c: c.nodes.unschedulable.__setitem__(1, True),
    "taints": lambda c: c.nodes.taint_set.at.__setitem__(1, 1),
    "label": lambda c: c.nodes.labels.put(1, {"zone": "z"}),
    "alive": lambda c: c.nodes.alive.__setitem__(1, True),
    "name": lambda c: c.nodes.rows.__setitem__("b", 1),
    "free twice": lambda c: c.nodes._free.append(1),
    "journal": lambda c: c.nodes.journal.rows.pop(),
}


@pytest.mark.parametrize("leave", LEFT_OVER.values(), ids=LEFT_OVER)
def test_nothing_is_left_of_a_node_that_is_gone(node: Make, leave: Callable[[Cluster], object]) -> None:
    cluster = Cluster()
    with cluster.statement() as statement:
        statement.put_node(node("a"))
        statement.put_node(node("b"))
    with cluster.statement() as statement:
        statement.drop_node("b")
    cluster.check()
    leave(cluster)
    with pytest.raises(AssertionError):
        cluster.check()


def test_nodes_with_more_taken_than_there_is_are_named(two_nodes: Cluster, node: Make, pod: Make) -> None:
    with two_nodes.statement() as statement:
        statement.take(pod("one", {"cpu": "4"}), "a")
        statement.take(pod("two", {"cpu": "1", "ex.io/f": "1"}), "b")
    assert two_nodes.overcommitted() == ["b: ex.io/f"]
    with two_nodes.statement() as statement:
        statement.put_node(node("a", "3", pods="0"))
    assert two_nodes.overcommitted() == ["a: pods", "a: cpu", "b: ex.io/f"]


def test_promises_commit_nothing(two_nodes: Cluster, pod: Make) -> None:
    with two_nodes.statement() as statement:
        statement.pipeline(pod("one", {"cpu": "40"}), "a")
    assert two_nodes.overcommitted() == []
