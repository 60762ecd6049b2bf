"""Counts of pods per row, by selector and by carried term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.counts import RowCounts, SelectorCounts
from mooring.model.objects import Pod

Make = Callable[..., Any]
GONE = {"deletion_timestamp": "2026-01-01T00:00:00Z"}


def web(namespace: str, labels: Mapping[str, str]) -> bool:
    return labels.get("app") == "web"


def images_of(pod: Pod) -> tuple[str, ...]:
    return tuple(container.image for container in pod.spec.containers if container.image)


@pytest.fixture
def counted(two_nodes: Cluster, pod: Make) -> Cluster:
    """Two web pods on `a`, one of them terminating, a web pod on `b` and another on a node nobody knows."""
    with two_nodes.statement() as statement:
        statement.take(pod("one", labels={"app": "web"}, image="x"), "a")
        statement.take(pod("two", labels={"app": "web"}, **GONE), "a")
        statement.take(pod("db", labels={"app": "db"}, image="y"), "a")
        statement.take(pod("three", labels={"app": "web"}, image="x"), "b")
        statement.take(pod("lost", labels={"app": "web"}, image="x", on="c"), "c", bound=True)
        statement.pipeline(pod("later", labels={"app": "web"}, image="x"), "b")
    return two_nodes


def seen(counts: SelectorCounts) -> tuple[dict[int, int], dict[int, int]]:
    return counts.all.by_row, counts.staying.by_row


def carried(terms: Mapping[Any, RowCounts]) -> dict[Any, dict[int, int]]:
    """By row; terms that nobody carries any more may stay, at zero."""
    return {term: counts.by_row for term, counts in terms.items() if counts.total}


def test_pods_that_hold_a_place_are_counted_by_row(counted: Cluster) -> None:
    counts = counted.counts.selector("web", web)
    assert seen(counts) == ({0: 2, 1: 1}, {0: 1, 1: 1})
    assert (counts.all.total, counts.all.on(0), counts.all.on(7)) == (3, 2, 0)


def test_terms_are_counted_by_the_pods_that_carry_them(counted: Cluster) -> None:
    assert carried(counted.counts.carrier("images", images_of)) == {"x": {0: 1, 1: 1}, "y": {0: 1}}


def test_a_question_is_counted_once(counted: Cluster) -> None:
    counts = counted.counts
    assert counts.selector("web", web) is counts.selector("web", web)
    assert counts.carrier("images", images_of) is counts.carrier("images", images_of)


def test_counts_follow_pods_and_nodes(counted: Cluster, node: Make, pod: Make) -> None:
    counts, terms = counted.counts.selector("web", web), counted.counts.carrier("images", images_of)
    with counted.statement() as statement:
        statement.give_back("one")
        statement.evict("three")  # it is there until it goes
        statement.put_node(node("c"))
    assert seen(counts) == ({0: 1, 1: 1, 2: 1}, {1: 1, 2: 1})
    assert carried(terms) == {"x": {1: 1, 2: 1}, "y": {0: 1}}
    with counted.statement() as statement:
        statement.drop_node("b")
        statement.give_back("db")
    assert seen(counts) == ({0: 1, 2: 1}, {2: 1})
    assert carried(terms) == {"x": {2: 1}}


def test_counts_follow_what_becomes_of_a_pod(counted: Cluster, pod: Make) -> None:
    counts, terms = counted.counts.selector("web", web), counted.counts.carrier("images", images_of)
    with counted.statement() as statement:
        statement.confirm(pod("one", labels={"app": "web"}, image="z", on="a", **GONE))
        statement.confirm(pod("three", labels={"app": "db"}, image="x", on="b"))
        statement.confirm(pod("later", labels={"app": "web"}, on="b"))
    assert seen(counts) == ({0: 2, 1: 1}, {1: 1})
    assert carried(terms) == {"x": {1: 1}, "y": {0: 1}, "z": {0: 1}}


def test_rolling_back_restores_the_counts(counted: Cluster, pod: Make) -> None:
    counts, terms = counted.counts.selector("web", web), counted.counts.carrier("images", images_of)
    statement = counted.statement()
    statement.drop_node("a")
    statement.confirm(pod("three", labels={"app": "db"}, on="b"))
    assert (seen(counts), carried(terms)) == (({}, {}), {})
    statement.roll_back()
    assert seen(counts) == ({0: 2, 1: 1}, {0: 1, 1: 1})
    assert carried(terms) == {"x": {0: 1, 1: 1}, "y": {0: 1}}


def test_the_version_moves_when_a_term_comes_or_goes(counted: Cluster, pod: Make) -> None:
    counted.counts.carrier("images", images_of)

    def moves(change: Callable[[Any], object]) -> bool:
        before = counted.counts.version
        with counted.statement() as statement:
            change(statement)
        return counted.counts.version != before

    assert not moves(lambda s: s.take(pod("more", image="x"), "b"))
    assert moves(lambda s: s.take(pod("new", image="new"), "b"))
    assert not moves(lambda s: s.give_back("more"))
    assert moves(lambda s: s.give_back("new"))


def test_counting_anew_asks_every_selector_again(counted: Cluster) -> None:
    wanted = ["web"]
    counts = counted.counts.selector("any", lambda _, labels: labels.get("app") in wanted)
    terms = counted.counts.carrier("images", images_of)
    version = counted.labelsets.version
    wanted[:] = ["db"]
    assert seen(counts)[0] == {0: 2, 1: 1}
    counted.counts.recount()
    assert seen(counts) == ({0: 1}, {0: 1})
    assert carried(terms) == {"x": {0: 1, 1: 1}, "y": {0: 1}}
    assert counted.labelsets.version != version


def test_a_tally_counts_wherever_pods_are(counted: Cluster, pod: Make) -> None:
    tally = counted.counts.tally("images", images_of)
    assert tally == {"x": 2, "y": 1}
    assert counted.counts.tally("images", images_of) is tally
    version = counted.counts.version
    statement = counted.statement()
    statement.give_back("db")
    statement.take(pod("more", image="x"), "b")
    statement.take(pod("new", image="new"), "b")
    assert tally == {"x": 3, "new": 1}
    counted.counts.recount()
    assert tally == {"x": 3, "new": 1}
    statement.roll_back()
    assert tally == {"x": 2, "y": 1}
    assert counted.counts.version == version + 1  # of counting anew
