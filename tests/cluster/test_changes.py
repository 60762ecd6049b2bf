"""The history: a fork as of any earlier moment, while the cluster stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.cluster import changes
from mooring.cluster.changes import History
from mooring.cluster.cluster import Cluster
from mooring.errors import ClusterError

Make = Callable[..., Any]


@pytest.fixture
def told(cluster: Cluster, node: Make, pod: Make, picture: Make) -> list[tuple[int, dict[str, Any]]]:
    """A cluster with a past: pictures of it by the position they were taken at."""
    steps: list[Callable[[Any], object]] = [
        lambda s: s.put_node(node("a", labels={"zone": "x"}, images={"app": 10})),
        lambda s: s.put_node(node("b", images={"app": 20})),
        lambda s: s.take(pod("one", {"cpu": "1"}, ports=(80,)), "a"),
        lambda s: s.take(pod("lost", {"cpu": "1"}, on="c"), "c", bound=True),
        lambda s: s.confirm(pod("one", {"cpu": "1"}, on="a", ports=(80,), labels={"seen": "yes"})),
        lambda s: s.evict("one"),
        lambda s: s.pipeline(pod("two", {"cpu": "3"}), "a"),
        lambda s: s.put_node(node("a", "2", taints=("t",))),
        lambda s: s.drop_node("a"),
        lambda s: s.put_node(node("c", labels={"zone": "y"})),
        lambda s: s.drop_node("b"),
        lambda s: s.give_back("one"),
        lambda s: s.put_node(node("a")),
        lambda s: s.confirm(pod("lost", {"cpu": "2"}, on="c")),
    ]
    seen = [(cluster.history.position, picture(cluster))]
    for step in steps:
        with cluster.statement() as statement:
            step(statement)
        seen.append((cluster.history.position, picture(cluster)))
    return seen


def without_free_rows(picture: dict[str, Any]) -> dict[str, Any]:
    """Rows once added stay, and are free: how many there are is no part of what was."""
    assert not any(picture["free"].values())
    return {name: part for name, part in picture.items() if name != "free"}


def test_every_earlier_moment_comes_back_and_now_stays(
    cluster: Cluster, told: list[tuple[int, dict[str, Any]]], picture: Make
) -> None:
    now = picture(cluster)
    for position, then in told:
        fork = cluster.as_of(position)
        fork.check()
        assert without_free_rows(picture(fork)) == without_free_rows(then)
        assert picture(cluster) == now
        assert not cluster.pods.shared


def test_who_looks_back_can_look_back_further(
    cluster: Cluster, told: list[tuple[int, dict[str, Any]]], picture: Make
) -> None:
    position, then = told[3]
    fork = cluster.as_of(told[9][0]).as_of(position)
    assert (fork.history.position, cluster.history.position) == (position, told[-1][0])
    assert without_free_rows(picture(fork)) == without_free_rows(then)
    assert picture(fork.as_of(0))["nodes"] == {}


def test_what_is_being_tried_may_stand_in_the_way(
    cluster: Cluster, told: list[tuple[int, dict[str, Any]]], picture: Make
) -> None:
    statement = cluster.statement()
    statement.give_back("two")
    now = picture(cluster)
    with pytest.raises(ClusterError, match="cannot be undone as things are"):
        cluster.as_of(0)
    assert picture(cluster) == now
    statement.roll_back()
    assert picture(cluster.as_of(0))["pods"] == {}


def test_what_is_rolled_back_leaves_no_history(two_nodes: Cluster, pod: Make) -> None:
    position = two_nodes.history.position
    statement = two_nodes.statement()
    statement.take(pod("one"), "a")
    assert two_nodes.history.position == position
    statement.roll_back()
    statement.commit()
    assert two_nodes.history.position == position


def test_the_history_forgets_what_is_long_past(monkeypatch: pytest.MonkeyPatch, node: Make) -> None:
    monkeypatch.setattr(changes, "REMEMBERED", 3)
    cluster = Cluster()
    for name in "abcde":
        with cluster.statement() as statement:
            statement.put_node(node(name))
    assert not cluster.history.reaches(1)
    assert cluster.history.reaches(2)
    with pytest.raises(ClusterError, match="the history does not reach change 1"):
        cluster.as_of(1)
    assert set(cluster.as_of(2).nodes.rows) == {"a", "b"}
    assert set(cluster.nodes.rows) == set("abcde")


def test_the_future_is_not_reached() -> None:
    assert History().reaches(0)
    assert not History().reaches(1)
