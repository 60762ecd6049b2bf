"""Counts of pods per row, by selector and by carried term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mooring.cluster import counts as counts_module
from mooring.cluster import labelsets
from mooring.cluster.cluster import Cluster
from mooring.cluster.row_counts import RowCounts
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


class Both:
    """The counts of a selector: of all pods, and of those that are not terminating."""

    def __init__(self, cluster: Cluster, key: str, test: Callable[..., bool]) -> None:
        self.all = cluster.counts.selector(key, test)
        self.staying = cluster.counts.selector(key, test, staying=True)


def seen(counts: Both) -> tuple[dict[int, int], dict[int, int]]:
    return counts.all.by_row, counts.staying.by_row


def carried(terms: Mapping[Any, RowCounts]) -> dict[Any, dict[int, int]]:
    """By row; terms that nobody carries any more may stay, at zero."""
    return {term: counts.by_row for term, counts in terms.items() if counts.total}


def test_pods_that_hold_a_place_are_counted_by_row(counted: Cluster) -> None:
    counts = Both(counted, "web", web)
    assert seen(counts) == ({0: 2, 1: 1}, {0: 1, 1: 1})
    assert counts.all.total == 3


def test_terms_are_counted_by_the_pods_that_carry_them(counted: Cluster) -> None:
    assert carried(counted.counts.carrier("images", images_of)) == {"x": {0: 1, 1: 1}, "y": {0: 1}}


def test_a_question_is_counted_once(counted: Cluster) -> None:
    counts = counted.counts
    assert counts.selector("web", web) is counts.selector("web", web)
    assert counts.carrier("images", images_of) is counts.carrier("images", images_of)


def test_counts_follow_pods_and_nodes(counted: Cluster, node: Make, pod: Make) -> None:
    counts, terms = Both(counted, "web", web), counted.counts.carrier("images", images_of)
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
    counts, terms = Both(counted, "web", web), counted.counts.carrier("images", images_of)
    with counted.statement() as statement:
        statement.confirm(pod("one", labels={"app": "web"}, image="z", on="a", **GONE))
        statement.confirm(pod("three", labels={"app": "db"}, image="x", on="b"))
        statement.confirm(pod("later", labels={"app": "web"}, on="b"))
    assert seen(counts) == ({0: 2, 1: 1}, {1: 1})
    assert carried(terms) == {"x": {1: 1}, "y": {0: 1}, "z": {0: 1}}


def test_rolling_back_restores_the_counts(counted: Cluster, pod: Make) -> None:
    counts, terms = Both(counted, "web", web), counted.counts.carrier("images", images_of)
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
    counts = Both(counted, "any", lambda _, labels: labels.get("app") in wanted)
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
    assert counted.counts.version == version  # nothing is matched differently


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("most", [2, 100])
def test_label_sets_met_anew_change_no_count(
    most: int, ahead: bool, two_nodes: Cluster, pod: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods whose labels were looked at before all sets were forgotten are matched by later selectors."""
    monkeypatch.setattr(labelsets, "UNUSED_SETS", most)
    counts = two_nodes.counts
    with two_nodes.statement() as statement:
        placed = [
            statement.take(pod(f"p{number}", labels={"app": "web", "pod": str(number)}), "ab"[number % 2])
            for number in range(6)
        ]
    if ahead:
        for each in placed:
            counts.note(each)
    first = Both(two_nodes, "web", web)
    later = Both(two_nodes, "odd", lambda namespace, labels: int(labels.get("pod", "0")) % 2 == 1)
    assert seen(first)[0] == {0: 3, 1: 3}
    assert seen(later)[0] == {1: 3}
    with two_nodes.statement() as statement:
        for each in placed[:3]:
            statement.give_back(each.pod.metadata.uid)
    assert (seen(first)[0], seen(later)[0]) == ({0: 1, 1: 2}, {1: 2})


def test_a_pod_whose_labels_change_is_looked_at_again(two_nodes: Cluster, pod: Make) -> None:
    with two_nodes.statement() as statement:
        placed = statement.take(pod("p", labels={"app": "db"}, on="a"), "a", bound=True)
    two_nodes.counts.note(placed)
    with two_nodes.statement() as statement:
        statement.confirm(pod("p", labels={"app": "web"}, on="a"))
    assert seen(Both(two_nodes, "web", web))[0] == {0: 1}


def test_counting_anew_looks_at_label_sets_that_were_forgotten(
    two_nodes: Cluster, pod: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labelsets, "UNUSED_SETS", 2)
    wanted = ["web"]
    counts = Both(two_nodes, "any", lambda _, labels: labels.get("app") in wanted)
    with two_nodes.statement() as statement:
        for app in ("web", "db", "cache", "queue"):
            statement.take(pod(app, labels={"app": app}), "a")
    assert seen(counts)[0] == {0: 1}
    wanted[:] = ["web", "db", "cache"]
    two_nodes.counts.recount()
    assert seen(counts)[0] == {0: 3}


def test_selectors_that_nobody_holds_are_forgotten(
    two_nodes: Cluster, pod: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts_module, "ASKED_LATELY", 2)
    monkeypatch.setattr(labelsets, "UNUSED_SELECTORS", 4)
    counts = two_nodes.counts
    held = counts.selector("web", web)
    for number in range(40):
        with two_nodes.statement() as statement:
            placed = statement.take(pod(f"p{number}", labels={"app": "web"}), "a")
        once = counts.selector(number, lambda _, labels: "app" in labels)
        assert once.by_row == {0: number + 1}
        assert counts.selector(number, web) is once
    assert held.by_row == {0: 40}
    assert len(counts._selectors) <= 5
    assert placed.labelset is not None
    assert len(placed.labelset.matches) <= 12
    assert counts.selector(3, web).by_row == {0: 40}


def test_terms_that_nobody_carries_are_forgotten_unless_somebody_holds_their_counts(
    two_nodes: Cluster, pod: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts_module, "IDLE_TERMS", 4)
    terms = two_nodes.counts.carrier("images", images_of)
    for number in range(40):
        with two_nodes.statement() as statement:
            statement.take(pod("held", image="held"), "b")
            statement.take(pod(f"p{number}", image=f"own-{number}"), "a")
            held = terms["held"]
            statement.give_back("held")
            statement.give_back(f"p{number}")
    assert len(terms) < 12
    with two_nodes.statement() as statement:
        statement.take(pod("again", image="held"), "b")
    assert terms["held"] is held
    assert held.by_row == {1: 1}
