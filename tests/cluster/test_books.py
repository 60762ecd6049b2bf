"""Books follow the pods of a cluster, wherever they take or give back a place, and every undoing of it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cluster.sample_books import Everything, Numbers, Zones
from mooring.cluster.books.book import Book
from mooring.cluster.books.books import _are_equal
from mooring.cluster.cluster import Cluster
from mooring.cluster.view import StaticNode
from mooring.errors import BookError, InvariantError
from mooring.model.objects import Pod

Make = Callable[..., Any]


@pytest.fixture
def cluster(node: Make) -> Cluster:
    cluster = Cluster()
    with cluster.statement() as statement:
        statement.put_node(node("a", labels={"zone": "one"}))
        statement.put_node(node("b", labels={"zone": "two"}))
    return cluster


def entries(cluster: Cluster, name: str) -> dict[Any, Any]:
    cluster.check()
    return dict(cluster.books.by_name[name].items())


def test_a_book_made_late_knows_the_pods_that_are_there(cluster: Cluster, pod: Make) -> None:
    with cluster.statement() as statement:
        statement.take(pod("one", on="a"), "a", bound=True)
        statement.take(pod("lost", on="c"), "c", bound=True)
    zones = cluster.books.of(Zones)
    assert dict(zones.items()) == {("", "one"): 1}
    assert zones is cluster.books.of(Zones)
    assert (zones.count(("", "one")), zones.count(("", "two")), len(zones)) == (1, 0, 1)
    assert (zones.get(("", "two")), ("", "one") in zones, list(zones)) == (None, True, [("", "one")])


class Chosen(Zones):
    """Of some pods only."""

    def __init__(self, uids: set[str]) -> None:
        self.concerns = uids


@pytest.mark.parametrize("others", [(), (Zones,)])
def test_a_book_is_told_of_no_pod_but_those_it_concerns(
    cluster: Cluster, pod: Make, node: Make, others: tuple[type[Book[Any, Any]], ...]
) -> None:
    chosen = cluster.books.of(Chosen, {"one"})
    for kind in others:
        cluster.books.of(kind)
    assert ("one" in cluster.books.taking, "two" in cluster.books.taking) == (True, bool(others))
    statement = cluster.statement()
    statement.take(pod("one"), "a")
    statement.take(pod("two"), "a")
    statement.evict("two")
    assert entries(cluster, "Chosen") == {("", "one"): 1}
    mark = statement.checkpoint()
    taken_off = [statement.give_back(uid) for uid in ("two", "one")]
    assert entries(cluster, "Chosen") == {}
    for placed in taken_off:
        statement.put_back(placed)
    statement.put_node(node("a", labels={"zone": "three"}))
    assert entries(cluster, "Chosen") == {("", "three"): 1}
    statement.roll_back(mark)
    assert entries(cluster, "Chosen") == {("", "one"): 1}
    statement.roll_back()
    assert dict(chosen.items()) == {}


def test_without_books_nobody_is_told(cluster: Cluster) -> None:
    assert "one" not in cluster.books.taking


def test_two_books_of_one_name_are_a_mistake(cluster: Cluster) -> None:
    cluster.books.of(Zones)
    other = type("Zones", (Book,), {})
    with pytest.raises(BookError, match="two books are named Zones"):
        cluster.books.of(other)


def test_pods_are_told_anew_around_a_change_of_their_node(cluster: Cluster, pod: Make, node: Make) -> None:
    cluster.books.of(Zones)
    cluster.books.of(Everything)
    statement = cluster.statement()
    statement.take(pod("one"), "a")
    statement.evict("one")
    mark = statement.checkpoint()
    statement.put_node(node("a", labels={"zone": "three"}))
    assert entries(cluster, "Zones") == {("", "three"): 1}
    statement.drop_node("a")
    assert entries(cluster, "Zones") == {}
    statement.put_node(node("a", labels={"zone": "four"}))
    assert entries(cluster, "Zones") == {("", "four"): 1}
    assert entries(cluster, "Everything")["leaving", "a four 0"] == 1
    statement.roll_back(mark)
    assert entries(cluster, "Zones") == {("", "one"): 1}
    statement.roll_back()
    assert entries(cluster, "Zones") == {}


def test_pods_are_told_anew_around_a_change_of_their_labels(cluster: Cluster, pod: Make) -> None:
    cluster.books.of(Zones)
    cluster.books.of(Numbers)
    with cluster.statement() as statement:
        statement.take(pod("one"), "a")
    with cluster.statement() as statement:
        statement.confirm(pod("one", on="a", labels={"seen": "yes"}))
    assert entries(cluster, "Zones") == {("yes", "one"): 1}
    assert entries(cluster, "Numbers") == {"one": 0}


def test_what_was_chosen_comes_back_exactly(cluster: Cluster, pod: Make) -> None:
    numbers = cluster.books.of(Numbers)
    with cluster.statement() as statement:
        for name in "xyz":
            statement.take(pod(name), "a")
        statement.give_back("x")
    statement = cluster.statement()
    statement.give_back("z")
    statement.take(pod("new"), "b")
    assert dict(numbers.items()) == {"y": 1, "new": 0}
    statement.roll_back()
    assert entries(cluster, "Numbers") == {"y": 1, "z": 2}


def test_a_pod_put_back_in_a_trial_has_what_it_had(cluster: Cluster, pod: Make) -> None:
    cluster.books.of(Numbers)
    cluster.books.of(Zones)
    with cluster.statement() as statement:
        for name in "xyz":
            statement.take(pod(name), "a")
    statement = cluster.statement()
    gone = [statement.give_back(name) for name in "xz"]
    for placed in gone:
        statement.put_back(placed)
    assert entries(cluster, "Numbers") == {"x": 0, "y": 1, "z": 2}
    assert entries(cluster, "Zones") == {("", "one"): 3}
    statement.roll_back()
    assert entries(cluster, "Numbers") == {"x": 0, "y": 1, "z": 2}


def test_what_others_count_meanwhile_stays(cluster: Cluster, pod: Make) -> None:
    """A statement is made final while another one is open, and is not undone with it."""
    cluster.books.of(Zones)
    with cluster.statement() as statement:
        statement.take(pod("old"), "a")
    trial = cluster.statement()
    trial.take(pod("new"), "a")
    with cluster.statement() as statement:
        statement.give_back("old")
    trial.roll_back()
    assert entries(cluster, "Zones") == {}


def test_what_is_written_between_belongs_to_the_open_statement(cluster: Cluster, pod: Make) -> None:
    numbers = cluster.books.of(Numbers)
    before = cluster.history.position
    numbers.set("loose", 7)  # for good: nothing is open
    assert cluster.history.position == before + 1
    trial = cluster.statement()
    trial.take(pod("one"), "a")
    numbers.set("one", 5)
    numbers.drop("loose")
    numbers.drop("nothing")
    trial.roll_back()
    assert dict(numbers.items()) == {"loose": 7}
    assert not cluster.books.open
    assert entries(cluster.as_of(before), "Numbers") == {}
    assert dict(numbers.items()) == {"loose": 7}


def test_rows_are_marked_when_it_is_final_and_when_it_is_undone(cluster: Cluster, pod: Make) -> None:
    class Marking(Book[str, int]):
        def added(self, pod: Pod, node: StaticNode) -> None:
            self.add("pods")
            self.touch("b")
            self.touch("nowhere")

    cluster.books.of(Marking)
    position = cluster.nodes.journal.position
    trial = cluster.statement()
    trial.take(pod("one"), "a")
    assert cluster.nodes.journal.since(position) == [0, 1]
    trial.roll_back()
    assert cluster.nodes.journal.since(position) == [0, 1, 1, 0]
    assert cluster.books.attend() == {}
    with cluster.statement() as statement:
        statement.take(pod("one"), "a")
    assert cluster.books.unattended
    assert cluster.books.attend() == {"Marking": {"b": None, "nowhere": None}}
    assert not cluster.books.unattended


class Picky(Book[str, int]):
    """Fails on pods labelled so, after it has written half of what it writes."""

    fails: str = ""

    def added(self, pod: Pod, node: StaticNode) -> None:
        self._count("added", pod, 1)

    def removed(self, pod: Pod, node: StaticNode) -> None:
        self._count("removed", pod, -1)

    def _count(self, hook: str, pod: Pod, amount: int) -> None:
        self.add("half", amount)
        if pod.labels.get("bad") == hook:
            raise ValueError(hook)
        self.add("whole", amount)


def test_a_pod_that_a_book_cannot_take_in_is_left_out(
    cluster: Cluster, pod: Make, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.books.of(Picky)
    cluster.books.of(Zones)
    with cluster.statement() as statement:
        for name in "xyz":
            statement.take(pod(name, labels={"bad": "added"} if name != "x" else {}), "a")
    assert entries(cluster, "Picky") == {"half": 1, "whole": 1}
    assert entries(cluster, "Zones") == {("", "one"): 3}
    assert [record.getMessage() for record in caplog.records] == ["book Picky failed at added"]
    with cluster.statement() as statement:
        statement.give_back("y")
        statement.confirm(pod("z", on="a"))  # readable now
    assert entries(cluster, "Picky") == {"half": 2, "whole": 2}
    assert not cluster.books.by_name["Picky"]._left_out


def test_a_pod_left_out_stays_so_when_that_is_undone(cluster: Cluster, pod: Make) -> None:
    picky = cluster.books.of(Picky)
    with cluster.statement() as statement:
        statement.take(pod("x", labels={"bad": "added"}), "a")
    trial = cluster.statement()
    trial.give_back("x")
    assert not picky._left_out
    trial.roll_back()
    with cluster.statement() as statement:
        statement.give_back("x")
    assert entries(cluster, "Picky") == {}
    assert not picky._left_out


def test_a_book_that_fails_otherwise_is_made_anew(cluster: Cluster, pod: Make) -> None:
    picky = cluster.books.of(Picky)
    with cluster.statement() as statement:
        statement.take(pod("x", labels={"bad": "removed"}), "a")
        statement.take(pod("y"), "a")
        statement.give_back("x")
    with pytest.raises(BookError, match="the book Picky failed"):
        picky.count("whole")
    cluster.check()
    position = cluster.history.position
    cluster.books.attend()
    assert entries(cluster, "Picky") == {"half": 1, "whole": 1}
    with pytest.raises(BookError):  # nobody keeps what it was
        cluster.as_of(position).books.by_name["Picky"].count("whole")
    assert entries(cluster, "Picky") == {"half": 1, "whole": 1}


def test_a_book_that_fails_all_the_time_is_made_anew_ever_less(cluster: Cluster, pod: Make) -> None:
    picky = cluster.books.of(Picky)
    with cluster.statement() as statement:
        for number in range(20):
            statement.take(pod(f"p{number}", labels={"bad": "removed"}), "a")
    anew = told = 0
    for number in range(20):
        with cluster.statement() as statement:
            statement.give_back(f"p{number}")
        was_broken = picky._broken
        cluster.books.attend()
        if was_broken and not picky._broken:
            anew += 1
            told += len(cluster.pods)
    assert anew >= 1
    assert told <= 2 * 20  # as often as it was told or looked at, of which each happened twenty times


def test_what_is_counted_comes_back_to_nothing(cluster: Cluster) -> None:
    zones: Any = cluster.books.of(Numbers)
    key = "one"
    for amount in (Fraction("0.1"), Fraction("0.2"), Fraction("-0.3")):
        zones.add(key, amount)
    zones.add(key, np.int64(1))
    assert dict(zones.items()) == {key: 1}
    assert type(zones[key]) is not np.int64
    for amount in (0.1, np.float32(0.1), "1", None):
        with pytest.raises(TypeError, match="a book counts whole numbers and fractions, not"):
            zones.add(key, amount)
    assert dict(zones.items()) == {key: 1}


def test_what_a_broken_book_said_before_is_told_when_it_is_made_anew(cluster: Cluster, pod: Make) -> None:
    class Chosen(Numbers):
        def leaving(self, pod: Pod, node: StaticNode) -> None:
            if "fixed" not in self:
                raise ValueError("leaving")

        def begun(self, before: Any) -> None:
            self.set("fixed", 1)

    chosen = cluster.books.of(Chosen)
    with cluster.statement() as statement:
        for name in "xyz":
            statement.take(pod(name), "a")
        statement.give_back("x")
        statement.evict("z")
    cluster.books.attend()
    assert dict(chosen.items()) == {"fixed": 1, "y": 1, "z": 2}


def test_no_copies_of_a_book_that_is_made_anew_again_and_again_are_kept(cluster: Cluster, pod: Make) -> None:
    picky = cluster.books.of(Picky)
    for number in range(5):
        with cluster.statement() as statement:
            statement.take(pod(f"p{number}", labels={"bad": "removed"}), "a")
            statement.give_back(f"p{number}")
        entries = picky._entries
        cluster.books.attend()
        assert picky._entries is not entries
    remembered = [each for _, arguments in cluster.history._reverses for each in arguments]
    assert not [each for each in remembered if isinstance(each, dict)]


def test_a_book_that_says_something_else_is_found(cluster: Cluster, pod: Make) -> None:
    zones = cluster.books.of(Zones)
    with cluster.statement() as statement:
        statement.take(pod("one"), "a")
    zones._entries["", "one"] += 1
    with pytest.raises(InvariantError, match="book Zones: of .*, 2 is kept and 1 found"):
        cluster.check()


def test_arguments_that_cannot_be_compared_are_not_the_same() -> None:
    assert _are_equal((1, "a"), (1, "a"))
    assert not _are_equal((np.arange(2),), (np.arange(2),))
