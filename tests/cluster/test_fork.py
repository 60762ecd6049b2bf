"""A fork of a cluster goes its own way: whatever becomes of one is nothing to the other."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.sample_books import Everything, Numbers, Zones
from cluster.test_random_statements import (
    MOST_TAKEN,
    Model,
    Operation,
    Trial,
    cluster_module,
    nodes_module,
    operations,
    request_of,
    was_seen,
)
from mooring.cluster.books.book import Book
from mooring.cluster.charge import Charges
from mooring.cluster.cluster import Cluster
from mooring.room.for_pod.pod_kinds import Kinds

Make = Callable[..., Any]
CHANGEABLE = (dict, list, set, deque, np.ndarray)
PASSED_OVER = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, Charges, Book)


def changeable(root: object) -> dict[int, str]:
    """Everything that can be changed and can be reached from a cluster, by identity, with the way to it."""
    found: dict[int, str] = {}
    met: dict[int, object] = {}
    waiting: list[tuple[str, Any]] = [("cluster", root)]
    while waiting:
        way, each = waiting.pop()
        if id(each) in met or isinstance(each, PASSED_OVER):
            continue
        met[id(each)] = each
        if isinstance(each, CHANGEABLE):
            found[id(each)] = way
        if isinstance(each, dict):
            waiting += [(f"{way}[]", value) for value in each.values()]
        elif isinstance(each, list | tuple | set | frozenset | deque):
            waiting += [(f"{way}[]", value) for value in each]
        elif isinstance(each, types.MethodType):
            waiting.append((way, each.__self__))
        elif isinstance(each, msgspec.Struct):
            continue  # objects, and entries of pods, which are replaced rather than changed
        else:
            names = [*getattr(each, "__dict__", {}), *getattr(each, "__slots__", ())]
            waiting += [(f"{way}.{name}", getattr(each, name, None)) for name in names]
    return found


class Forked(Trial):
    """A trial that goes on with a fork of its cluster."""

    def __init__(self, of: Trial) -> None:
        self.cluster, self.model, self._picture = of.cluster.fork(), of.model.copy(), of._picture
        self.counts = [
            self.cluster.counts.selector("seen", was_seen, staying=staying) for staying in (False, True)
        ]
        self.cluster.counts.carrier("requests", request_of)
        self.books = [self.cluster.books.of(kind) for kind in (Zones, Numbers, Everything)]
        self.statement = self.cluster.statement()
        self.marks = [(0, self.model.copy(), self.picture())]
        self.past = [*of.past]


@settings(max_examples=30, deadline=None, database=None)
@given(before=operations, after=st.lists(st.tuples(st.booleans(), operations), max_size=3))
def test_a_fork_and_its_original_go_their_own_ways(
    node: Make, pod: Make, picture: Make, before: list[Operation], after: list[tuple[bool, list[Operation]]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (cluster_module, nodes_module):
            patch.setattr(module, "MOST_TAKEN", MOST_TAKEN)
        original = Trial(Model(node, pod), picture)
        for operation in before:
            original.run(operation)
        original.run(("commit", "", "", 0))
        fork = Forked(original)
        assert fork.picture() == original.picture()
        for of_fork, script in after:
            changed, other = (fork, original) if of_fork else (original, fork)
            unchanged = other.picture()
            for operation in script:
                changed.run(operation)
            changed.check()
            assert other.picture() == unchanged
            other.check()
        for each in (fork, original):
            each.run(("commit", "", "", 0))
            each.look_back()


def busy(node: Make, pod: Make) -> Cluster:
    cluster = Cluster()
    cluster.counts.selector("seen", was_seen)
    cluster.counts.carrier("requests", request_of)
    cluster.counts.tally("requests", request_of)
    for kind in (Zones, Numbers, Everything):
        cluster.books.of(kind)
    with cluster.statement() as statement:
        statement.put_node(
            node("a", labels={"zone": "one"}, taints=("t",), images={"app": 1}, **{"ex.io/f": "2"})
        )
        statement.take(pod("one", {"cpu": "1"}, ports=(80,)), "a")
        statement.take(pod("two", {"cpu": "1"}, on="a"), "a", bound=True)
        statement.take(pod("lost", on="b"), "b", bound=True)
        statement.evict("two")
        statement.take(pod("gone"), "a")
        statement.give_back("gone")
    return cluster


def test_nothing_that_can_be_changed_is_shared(node: Make, pod: Make) -> None:
    cluster = busy(node, pod)
    fork = cluster.fork()
    ours, theirs = changeable(cluster), changeable(fork)
    shared = {way for number, way in ours.items() if number in theirs}
    # Values of tables that are replaced as a whole.
    assert {way for way in shared if not way.endswith("_ordered")} == set()
    assert len(theirs) > 50
    cluster.check()
    fork.check()


def test_a_fork_of_a_fork(node: Make, pod: Make, picture: Make) -> None:
    cluster = busy(node, pod)
    second = cluster.fork().fork()
    assert picture(second) == picture(cluster)
    with second.statement() as statement:
        statement.drop_node("a")
    assert picture(second) != picture(cluster)
    second.check()
    cluster.check()


def test_what_was_noted_of_pods_is_not_taken_over(node: Make, pod: Make) -> None:
    cluster = busy(node, pod)
    kinds = Kinds(cluster.nodes, cluster.pods.kinds_from)
    numbers = [kinds.number(placed) for placed in cluster.pods.by_uid.values()]
    fork = cluster.fork()
    of_fork = Kinds(fork.nodes, fork.pods.kinds_from)
    other_way_round = [of_fork.number(placed) for placed in reversed(fork.pods.by_uid.values())]
    assert max(other_way_round) < len(of_fork.all)
    assert [kinds.number(placed) for placed in cluster.pods.by_uid.values()] == numbers


def test_who_asks_a_fork_is_asked_by_it(node: Make, pod: Make) -> None:
    """Functions that were registered before belong to others; those registered again take their place."""
    fork = busy(node, pod).fork()
    counts = fork.counts.selector("seen", lambda namespace, labels: True)
    carried = fork.counts.carrier("requests", lambda pod: ("mine",))
    tally = fork.counts.tally("requests", lambda pod: ("mine",))
    with fork.statement() as statement:
        statement.take(pod("new", {"cpu": "3"}), "a")
    assert (counts.by_row[0], carried["mine"].by_row[0], tally["mine"]) == (3, 3, 3)
    zones = fork.books.of(Zones)
    assert zones.count(("", "one")) == 3
    fork.check()
