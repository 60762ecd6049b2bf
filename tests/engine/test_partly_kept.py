"""A profile of which one plugin keeps nothing: what the others said is kept, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stage import Stage, made, node, pod
from engine.twice import place_twice
from mooring.cluster.view import NodeView
from mooring.engine.decisions import Bind, Wait
from mooring.engine.placement.node_by_node import normalized
from mooring.engine.placement.sampling import Sampling
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unschedulable
from mooring.framework.running.forms import Scorer
from mooring.model.objects import Pod, Taint

ASKED: Counter[str] = Counter()  # how often each policy was asked, by its name and point
ZONES = tuple({"topology.kubernetes.io/zone": zone} for zone in "abc")
PREFERRED = Taint("soft", "", "PreferNoSchedule")
KEEPING_OUT = Taint("hard", "", "NoSchedule")


class Undeclared(Plugin):
    """Looks around in the whole cluster: nothing it says lasts."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        ASKED["Undeclared filter"] += 1
        fullest = max(each.pod_count for each in self.handle.cluster.nodes)
        return unschedulable("fullest") if fullest and node.pod_count == fullest else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        return sum(each.pod_count for each in self.handle.cluster.nodes) * (node.row + 1) % 7


class RawUndeclared(Undeclared):
    """The same, with scores that are normalised."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        return super().score(cycle, pod, node) * 1000 - 3000

    @staticmethod
    def normalize(values: list[int]) -> list[int]:
        least, most = min(values), max(values)
        return [(value - least) * MAX_SCORE // max(1, most - least) for value in values]


class Crowded(Plugin):
    """Keeps its answers: few pods a node, empty nodes first. Raw scores are normalised."""

    scope = Scope.ROW

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        ASKED["Crowded filter"] += 1
        return unschedulable("crowded") if node.pod_count > 1 else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        return node.pod_count

    @staticmethod
    def normalize(values: list[int]) -> list[int]:
        return [MAX_SCORE - MAX_SCORE * value // max(1, *values) for value in values]


class Moody(Plugin):
    """Keeps its answers until something outside nodes and pods changes."""

    scope = Scope.ROW
    mood: ClassVar[int] = 0

    @property
    def version(self) -> Hashable:
        return Moody.mood

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        return unschedulable("mood") if node.row % 5 == Moody.mood else None


class Liking(Plugin):
    """Keeps its scores."""

    scope = Scope.ROW

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        return (node.row * 13 + node.pod_count + 7) % 10


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ASKED.clear()
    Moody.mood = 0


def below(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most - 1)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), below(3), below(4)),
        st.tuples(st.just("pod"), below(3), below(4)),
        st.tuples(st.just("node"), below(8), below(6)),
        st.tuples(st.just("drop"), below(8), st.just(0)),
        st.tuples(st.just("delete"), below(20), st.just(0)),
        st.tuples(st.just("mood"), below(4), st.just(0)),
    ),
    min_size=5,
    max_size=40,
)
KEEPING = [Crowded, Moody, Liking]
ORDERS = st.permutations([Undeclared, *KEEPING]) | st.permutations([RawUndeclared, *KEEPING])


class World:
    """A cluster that changes at random."""

    def __init__(self, policies: Any) -> None:
        self.stage = Stage(*policies, keep_scores=True)
        self.bound: list[Bind] = []
        self.made = 0
        for number in range(4):
            self.node(number, number)

    def node(self, name: int, kind: int) -> None:
        taints = ((), (PREFERRED,), (KEEPING_OUT,), (), (PREFERRED,), ())[kind]
        self.stage.change(node(f"n{name}", cpu=2 + kind, taints=taints, unschedulable=kind == 5))

    def drop(self, name: int, _: int) -> None:
        if f"n{name}" in self.stage.engine.cluster.nodes.rows:
            self.stage.delete(node(f"n{name}"))

    def pod(self, cpu: int, group: int) -> None:
        self.made += 1
        self.stage.add(pod(f"p{self.made}", cpu=f"{200 + 300 * cpu}m", labels={"group": str(group)}))
        for decision in self.stage.cycle() or ():
            if isinstance(decision, Bind):
                self.stage.bound(decision)
                self.bound.append(decision)
            elif isinstance(decision, Wait):
                self.stage.delete(decision.pod)

    def delete(self, index: int, _: int) -> None:
        if self.bound:
            gone = self.bound.pop(index % len(self.bound))
            self.stage.delete(gone.pod.on_node(gone.node))

    def mood(self, mood: int, _: int) -> None:
        Moody.mood = mood


@settings(max_examples=60, deadline=None)
@given(ORDERS, STEPS)
def test_what_is_kept_of_some_plugins_is_what_they_would_say(policies: Any, steps: Any) -> None:
    Moody.mood = 0
    world = World(policies)
    place_twice(world.stage.engine)
    for what, first, second in steps:
        getattr(world, what)(first, second)
    world.stage.engine.check()


VALUES = st.lists(st.integers(-50, 50) | st.integers(-(2**62), 2**62), min_size=1, max_size=30)


@given(VALUES, st.data())
def test_scores_are_normalised_over_the_nodes_of_a_mask(values: list[int], data: st.DataObject) -> None:
    ok = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    scorer = Scorer(Crowded(PluginArgs(), None), None, None)  # type: ignore[arg-type]
    scorer.normalize = lambda distinct: [index % 100 for index, _ in enumerate(sorted(distinct))]
    ranks = {
        value: rank
        for rank, value in enumerate(sorted({v for v, good in zip(values, ok, strict=True) if good}))
    }
    expected = [ranks[value] if good else 0 for value, good in zip(values, ok, strict=True)]
    assert normalized(scorer, np.array(values), np.array(ok)).tolist() == expected


def test_only_who_keeps_nothing_is_asked_again() -> None:
    stage = Stage(Undeclared, Crowded).nodes(*(f"n{number}" for number in range(10)))
    stage.place(pod("first"))
    ASKED.clear()
    stage.place(pod("second"))
    assert ASKED == {"Undeclared filter": 10, "Crowded filter": 1}  # of the node of the first


def test_a_plugin_invalidates_what_is_kept_of_it() -> None:
    stage = Stage(Undeclared, Crowded).nodes(*(f"n{number}" for number in range(10)))
    stage.place(pod("first"))
    ASKED.clear()
    stage.plugin("Crowded").handle.invalidate()
    stage.place(pod("second"))
    assert ASKED["Crowded filter"] == 10


class Failing(Plugin):
    """Keeps its answers, and has none for some nodes."""

    scope = Scope.ROW

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        if node.labels.get("broken"):
            raise RuntimeError("broken")
        return None


def test_a_plugin_that_fails_fails_where_it_would() -> None:
    """Where an earlier filter keeps a node away from it, it is not asked about that node."""
    out = node("n1", labels={"broken": "yes"}, taints=(KEEPING_OUT,))
    stage = Stage(Failing, Undeclared).nodes("n0", "n2", out)
    assert stage.place(pod("fits")) in ("n0", "n2")
    stage.change(node("n1", labels={"broken": "yes"}))
    refusal = stage.wait(pod("fails"))
    assert refusal.message == 'running "Failing" filter plugin: RuntimeError: broken'


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            101,
            'plugin "Odd" returns an invalid score 101, it should in the range of [0, 100]',
        ),
        (True, "failed with: returned True, which is not an integer"),
        (0.5, "failed with: returned 0.5, which is not an integer"),
        (2**70, f'plugin "Odd" returns an invalid score {2**70}'),
    ],
)
def test_what_is_no_score_is_said(given: Any, message: str) -> None:
    odd = made("Odd", score=lambda self, cycle, pod, node: given if node.name == "n1" else 1)
    assert message in Stage(odd).nodes("n0", "n1", "n2").wait(pod("p")).message


def test_integers_of_other_kinds_are_scores() -> None:
    odd = made("Odd", score=lambda self, cycle, pod, node: np.int32(50 if node.name == "n1" else 1))
    assert Stage(odd).nodes("n0", "n1", "n2").place(pod("p")) == "n1"


# some of the nodes


class Picky(Plugin):
    """Undeclared, and takes some nodes only."""

    take: ClassVar[int] = 1

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        ASKED["Picky filter"] += 1
        return None if node.row % Picky.take == 0 else unschedulable("picky")


def sampled(percentage: int) -> Stage:
    profile = "profiles: [{plugins: {multiPoint: {enabled: [{name: Picky}]}}}]"
    return Stage(Picky, text=f"percentageOfNodesToScore: {percentage}\n{profile}\n", keep_scores=True)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 99), st.integers(1, 9), st.lists(below(4), min_size=1, max_size=12), st.booleans())
def test_as_many_are_found_as_by_asking_all(percentage: int, take: int, pods: list[int], keeps: bool) -> None:
    Picky.take = take
    stage = sampled(percentage).nodes(
        *(node(f"n{number}", labels=ZONES[number % 3]) for number in range(230))
    )
    placer, table = stage.engine.placer, stage.engine.cluster.nodes
    placer.keep_evaluations = keeps
    reference = Sampling(table)
    find = placer.full.first

    def compared(pod_class: Any, cycle: Any, wanted: Pod, order: Any, count: int) -> Any:
        feasible = placer.full.feasible(pod_class, cycle, wanted, table.alive[: table.high].copy())
        expected = reference.first(set(np.flatnonzero(feasible).tolist()), None, count)
        found, looked_at = find(pod_class, cycle, wanted, order, count)
        assert np.flatnonzero(found).tolist() == sorted(expected)
        return found, looked_at

    placer.full.first = compared
    for number, cpu in enumerate(pods):
        stage.place(pod(f"p{number}", cpu=f"{100 + cpu}m"))
        assert placer._sampling._start == reference._start


def test_no_more_are_asked_than_needed() -> None:
    Picky.take = 1
    stage = sampled(50).nodes(*(f"n{number}" for number in range(300)))
    stage.place(pod("first"))
    assert ASKED["Picky filter"] == 150
