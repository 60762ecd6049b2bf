"""Nodes that are alike are judged once: which are, and that it makes no difference to what is decided."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stage import BUILT_IN, Stage, node, pod
from engine.tiers import TIERS, hold_as
from engine.twice import place_twice
from mooring.cluster.amounts import MOST_RESOURCES
from mooring.cluster.cluster import Cluster
from mooring.engine.decisions import Bind, Wait
from mooring.engine.placement.kept import alike_rows as alike
from mooring.engine.placement.kept import matrix, rows
from mooring.engine.placement.kept.alike_rows import AlikeRows
from mooring.engine.placement.kept.rows import RowForms
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.running.many_pods import OverPods
from mooring.plugins.node_resources_fit import NodeResourcesFit

SORTS: dict[str, dict[str, Any]] = {
    "small": {"cpu": "2"},
    "large": {"cpu": "8", "memory": "64Gi"},
    "few pods": {"cpu": "2", "pods": 3},
    "gpu": {"cpu": "8", "memory": "64Gi", "extra": {"nvidia.com/gpu": "2"}},
}
SORT = st.sampled_from(list(SORTS))
WHICH = st.integers(0, 99)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), SORT, st.booleans()),
        st.tuples(st.just("change"), SORT, WHICH),
        st.tuples(st.just("drop"), WHICH),
        st.tuples(st.just("take"), st.sampled_from(["100m", "250m"]), WHICH),
        st.tuples(st.just("give back"), WHICH),
        st.tuples(st.just("follow")),
    ),
    max_size=40,
)


class Few:
    """A cluster that is changed at random."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self._made = 0
        for _ in range(12):
            self.do("add", "small", True)

    def do(self, what: str, *how: Any) -> None:
        self._made += 1
        nodes = list(self.cluster.nodes.rows)
        pods = list(self.cluster.pods.by_uid.values())
        with self.cluster.statement() as statement:
            if what == "add":
                sort, cordoned = how
                statement.put_node(node(f"n{self._made}", unschedulable=cordoned, **SORTS[sort]))
            elif what == "change" and nodes:
                statement.put_node(node(nodes[how[1] % len(nodes)], **SORTS[how[0]]))
            elif what == "drop" and nodes:
                name = nodes[how[0] % len(nodes)]
                if not any(placed.pod.spec.node_name == name for placed in pods):
                    statement.drop_node(name)
            elif what == "take" and nodes:
                name = nodes[how[1] % len(nodes)]
                statement.take(pod(f"p{self._made}", how[0], node_name=name), name, bound=True)
            elif what == "give back" and pods:
                statement.give_back(pods[how[0] % len(pods)].pod.metadata.uid)


@settings(max_examples=150, deadline=None)
@given(CHANGES)
def test_rows_have_one_number_when_nothing_is_different_on_them(changes: list[Any]) -> None:
    few = Few()
    nodes, numbers = few.cluster.nodes, AlikeRows(few.cluster.nodes)
    for what, *how in [*changes, ("follow",)]:
        if what != "follow":
            few.do(what, *how)
            continue
        if not numbers.follow():
            continue
        numbers.check()
        told: dict[int, Any] = {}
        for row in range(nodes.high):
            seen = nodes.amounts(row)
            assert told.setdefault(numbers.number_at[row], seen) == seen
        assert len(told) == len(set(told.values()))
        columns = numbers.columns()
        for number, row in ((numbers.number_at[row], row) for row in range(nodes.high)):
            assert columns.pod_count[number] == nodes.pods.at[row]
            assert columns.max_pods[number] == nodes.max_pods.at[row]
            assert (
                columns.free("cpu")[number]
                == few.cluster.nodes.resources["cpu"].allocatable.at[row]
                - (nodes.resources["cpu"].requested.at[row])
            )
            assert columns.divisor("memory")[number] == max(1, nodes.resources["memory"].allocatable.at[row])


def test_rows_that_differ_much_are_not_looked_at_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "LOOKS_AGAIN", 1)  # less than rows: as many changes as there are rows count
    few = Few()
    names, numbers = list(few.cluster.nodes.rows), AlikeRows(few.cluster.nodes)
    assert numbers.follow()

    def resize(cpus: dict[int, int]) -> None:
        with few.cluster.statement() as statement:
            for number, cpu in cpus.items():
                statement.put_node(node(names[number], cpu=cpu))

    resize({number: min(number, 3) + 1 for number in range(len(names))})
    assert not numbers.follow()  # four sorts of twelve rows
    for _ in range(12):
        assert not numbers.follow()  # too soon to look
        resize({0: 2})
    assert numbers.follow()
    assert len(numbers) == 3
    numbers.check()


def test_numbers_that_nobody_has_are_given_up_in_the_end() -> None:
    few = Few()
    name, numbers = next(iter(few.cluster.nodes.rows)), AlikeRows(few.cluster.nodes)
    seen = []
    for cpu in range(3, 20):
        with few.cluster.statement() as statement:
            statement.put_node(node(name, cpu=cpu))
        assert numbers.follow()
        numbers.check()
        seen.append((len(numbers), numbers.generation))
    assert max(seen)[0] == 6  # half as many as rows
    assert seen[-1][1] == 4


def test_nodes_with_many_resources_are_not_compared() -> None:
    few = Few()
    extra = {f"example.com/r{number}": "1" for number in range(MOST_RESOURCES)}
    few.do("add", "small", False)
    with few.cluster.statement() as statement:
        statement.put_node(node("rich", extra=extra))
    assert not AlikeRows(few.cluster.nodes).follow()


class LikesAll(Plugin):
    """Scores that all nodes have: they lie under everything else."""

    scope = Scope.STATIC

    def sign(self, made: Any) -> Any:
        return made.spec.priority

    def score(self, cycle: Any, made: Any, seen: Any) -> int:
        return 7 * (made.spec.priority or 0)


@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize(("slots", "pays_for"), [(matrix.FIRST_SLOTS, matrix.PAYS_FOR), (4, 30)])
def test_kinds_of_pods_on_nodes_that_are_alike(
    tier: str | None, slots: int, pays_for: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kinds that see all nodes and kinds that see some join one after the other, leave and come back, while
    nodes are cordoned, fill up and change."""
    monkeypatch.setattr(matrix, "PAYS_FOR", pays_for)
    monkeypatch.setattr(matrix, "FIRST_SLOTS", slots)
    draw = random.Random(2)
    stage = Stage(LikesAll, base=BUILT_IN, keep_scores=True)
    names = [f"n{number}" for number in range(200)]
    pools = {name: {"pool": "ab"[number % 2]} for number, name in enumerate(names)}
    stage.nodes(*(node(name, cpu="2", memory="4Gi", labels=pools[name]) for name in names))
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    running: list[Any] = []
    for turn in range(160):
        kind = turn % 13 if turn < 60 else draw.randrange(turn // 6)
        where = {"pool": "a"} if kind % 5 == 0 else {}
        cpu = f"{100 + 100 * (kind % 4) if kind < 13 else 10 * kind}m"
        new = pod(f"p{turn}", cpu, "64Mi", node_selector=where, priority=kind % 3 // 2)
        running.append(new)
        if kind % 7 == 0:
            stage.delete(running.pop(draw.randrange(len(running))))
        stage.add(new)
        stage.all()
        if turn % 9 == 0:
            name = draw.choice(names)
            cordoned, room = draw.random() < 0.5, draw.choice(["2", "4"])
            changed = node(name, cpu=room, memory="4Gi", labels=pools[name], unschedulable=cordoned)
            stage.change(changed)
        stage.engine.check()
        stage.engine.placer.kept.check()


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("cordoned", [False, True])
def test_a_score_that_all_nodes_have(tier: str, cordoned: bool) -> None:
    """Under kinds of pods that fit everywhere and kinds that do not; also when it is not all any more."""
    stage = Stage(LikesAll, base=BUILT_IN, keep_scores=True)
    stage.nodes(*(node(f"n{number}", cpu="2" if number % 14 else "12") for number in range(40)))
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    for turn in range(24):
        stage.add(pod(f"p{turn}", f"{1 + turn % 6}", priority=1))
        stage.all()
        stage.engine.placer.kept.check()
        if turn == 3 and cordoned:
            stage.change(node("n14", cpu="12", unschedulable=True))


@pytest.mark.parametrize("tier", ["matrix", "shifting"])
def test_rows_are_numbered_anew_again_and_again(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of eight sizes come and go, so that nearly all nodes are empty and numbers soon too many."""
    monkeypatch.setattr(alike, "MOST", 6)
    stage = Stage(base=BUILT_IN, keep_scores=True)
    stage.nodes(*(node(f"n{number}") for number in range(40)))
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    running: list[Any] = []
    for turn in range(80):
        running.append(new := pod(f"p{turn}", f"{200 + 450 * (turn % 8)}m"))
        stage.add(new)
        stage.all()
        stage.engine.placer.kept.check()
        if len(running) == 2:
            stage.delete(running.pop(0))
    (held,) = stage.engine.placer.kept._matrices.values()
    assert held._alike is not None
    assert held._alike.generation > 4


def test_what_is_known_from_before_is_not_mixed_up_with_a_newcomer() -> None:
    """Two of six kinds leave. Of the one that takes the place of one, nothing is known by number, since fewer
    are left than it is done for; then there are six again."""
    stage = Stage(base=BUILT_IN, keep_scores=True)
    stage.nodes(*(node(f"n{number}") for number in range(40)))
    place_twice(stage.engine)

    def place(name: str, cpu: str) -> None:
        stage.add(pod(name, cpu))
        stage.all()

    kinds = [*(f"{10 + number}m" for number in range(matrix.FEWEST - 2)), "3500m", "3600m"]
    for turn in range(2):
        for cpu in kinds:
            place(f"{cpu}-{turn}", cpu)
    for gone in list(stage.engine.placer.kept)[-2:]:
        gone.start_over()
    for turn in range(3):
        for number, cpu in enumerate(["20m", "21m", *kinds[:4]]):
            place(f"later-{turn}-{number}", cpu)
            stage.engine.placer.kept.check()
    (held,) = stage.engine.placer.kept._matrices.values()
    assert len(held) == matrix.FEWEST


def test_what_is_known_of_a_node_is_not_asked_of_its_like(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"over pods": 0, "by number": 0}
    over_pods, by_number = OverPods.ask, RowForms.by_number

    def counted_over_pods(self: Any, *arguments: Any) -> Any:
        asked["over pods"] += 1
        return over_pods(self, *arguments)

    def counted_by_number(self: Any, *arguments: Any) -> Any:
        asked["by number"] += 1
        return by_number(self, *arguments)

    monkeypatch.setattr(OverPods, "ask", counted_over_pods)
    monkeypatch.setattr(RowForms, "by_number", counted_by_number)
    stage = Stage(base=BUILT_IN)
    stage.nodes(*(node(f"n{number}") for number in range(300)))
    hold_as(stage.engine, "matrix")
    for turn in range(200):
        stage.add(pod(f"p{turn}", f"{100 + turn % 10}m"))
        stage.all()
    assert asked == {"over pods": 10, "by number": 10}


def test_what_was_said_of_a_row_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    score = NodeResourcesFit.score

    def counted(self: Any, cycle: Any, made: Any, seen: Any) -> int:
        asked.append(seen.row)
        return score(self, cycle, made, seen)

    monkeypatch.setattr(NodeResourcesFit, "score", counted)
    stage = Stage(base=BUILT_IN)
    stage.nodes(*(node(f"n{number}") for number in range(30)))
    for turn in range(90):
        stage.add(pod(f"p{turn}", "100m"))
        stage.all()
    assert len(asked) == 3  # a node with one, with two and with three of them


def test_nothing_is_kept_of_rows_that_are_all_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_KNOWN", 4)
    stage = Stage(base=BUILT_IN)
    stage.nodes(*(node(f"n{number}", cpu=10 + number) for number in range(30)))
    for turn in range(10):
        stage.add(pod(f"p{turn}", "100m"))
        stage.all()
    (kept,) = stage.engine.placer.kept
    assert not kept._rows._knows


class Moody(Plugin):
    """Reads amounts alone, and judges them by something that changes."""

    scope = Scope.ROW
    amounts_only = True
    mood = 0

    @property
    def version(self) -> int:
        return self.mood

    def sign(self, made: Any) -> int:
        return 0

    def score(self, cycle: Any, made: Any, seen: Any) -> int:
        return max(0, 100 - int(seen.pod_count * 10 * self.mood))

    def score_nodes(self, cycle: Any, made: Any, seen: Any) -> Any:
        return np.maximum(0, 100 - seen.pod_count * 10 * self.mood)


@pytest.mark.parametrize("tier", [None, *TIERS])
def test_what_was_said_before_a_change_of_mind_is_forgotten(tier: str | None) -> None:
    stage = Stage(Moody, base=BUILT_IN, keep_scores=True)
    stage.nodes(*(node(f"n{number}") for number in range(30)))
    place_twice(stage.engine)
    hold_as(stage.engine, tier)
    for turn in range(30):
        if turn % 10 == 9:
            stage.plugin("Moody").mood += 1
        stage.add(pod(f"p{turn}", "100m"))
        stage.all()
        stage.engine.placer.kept.check()


@pytest.mark.parametrize("tier", [None, *TIERS])
def test_pods_that_want_what_no_node_has_ever_had(tier: str | None, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(base=BUILT_IN, keep_scores=True)
    stage.nodes(*(node(f"n{number}") for number in range(30)))
    hold_as(stage.engine, tier)
    for turn in range(40):
        wants = {f"example.com/r{turn % 5}": "1"} if turn % 2 else {}
        stage.add(pod(f"p{turn}", f"{100 + turn % 10}m", extra=wants))
        while (decisions := stage.cycle()) is not None:
            for decision in decisions:
                if isinstance(decision, Bind):
                    stage.bound(decision)
                else:
                    assert isinstance(decision, Wait)
                    assert "Insufficient example.com/r" in decision.message
        if turn == 20:
            stage.change(node("n1", extra={"example.com/r1": "2"}))
        stage.engine.placer.kept.check()
    assert len(stage.engine.cluster.pods) == 22  # two of them on the node that has some now
    assert not caplog.records  # no plugin failed on the way


def test_an_engine_that_nobody_has_any_more_is_freed() -> None:
    """Whatever is kept for all classes is kept by one engine, and goes with it."""
    stage = Stage(base=BUILT_IN)
    stage.nodes(*(node(f"n{number}") for number in range(30)))
    for turn in range(40):
        stage.add(pod(f"p{turn}", f"{100 + turn % 10}m"))
        stage.all()
    engine = weakref.ref(stage.engine)
    del stage
    gc.collect()
    assert engine() is None
