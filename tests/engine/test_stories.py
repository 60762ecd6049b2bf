"""Why a pod is where it is: told as of the moment it was decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.gang_world import gang, members, names
from engine.stage import Stage, made, node, pod
from mooring.engine import story as stories
from mooring.engine.decisions import Bind, Wait
from mooring.engine.placement import nominator
from mooring.engine.story import Rejection
from mooring.framework.api.grouping import Plan
from mooring.framework.api.status import unschedulable
from mooring.framework.running.budget import Budgets
from mooring.model.objects import (
    Affinity,
    LabelSelectorRequirement,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Taint,
)


def state(stage: Stage) -> Any:
    """Everything a story might disturb."""
    nodes = stage.engine.cluster.nodes
    return (
        {name: (row, nodes.object_at(row), nodes.arrival[row]) for name, row in nodes.rows.items()},
        [[column.array[: nodes.high].tolist() for column in columns] for columns in nodes.resources.values()],
        nodes.pods.array[: nodes.high].tolist(),
        {uid: (p.node, p.row, p.hold) for uid, p in stage.engine.cluster.pods.by_uid.items()},
        stage.engine.cluster.history.position,
    )


def test_rejections_are_counted() -> None:
    stage = Stage().nodes(
        "n", "m", node("t", taints=(Taint(key="k", effect="NoSchedule"),)), node("c", unschedulable=True)
    )
    stage.now = 12.0
    refusal = stage.wait(pod("p", "8", "64Gi"))
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.pod, story.at, story.node, story.message) == ("default/p", 12.0, "", refusal.message)
    assert (story.nodes, story.feasible, story.best) == (4, 0, ())
    assert set(story.rejections) == {
        Rejection("NodeResourcesFit", "Insufficient cpu", 2),
        Rejection("NodeResourcesFit", "Insufficient memory", 2),
        Rejection("TaintToleration", "node(s) had untolerated taint(s)", 1),
        Rejection("NodeUnschedulable", "node(s) were unschedulable", 1),
    }


def test_the_best_nodes_with_the_parts_of_their_totals() -> None:
    stage = Stage(keep_scores=True).nodes(node("big", "64", "64Gi"), "n", node("full", "500m"))
    assert stage.place(pod("p", "1", "1Gi")) == "big"
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.nodes, story.feasible) == ("big", 3, 2)
    assert story.rejections == (Rejection("NodeResourcesFit", "Insufficient cpu", 1),)
    assert [candidate.node for candidate in story.best] == ["big", "n"]
    assert {c.node: c.total for c in story.best} == stage.engine.scores["default/p"]
    for candidate in story.best:
        assert sum(candidate.parts.values()) == candidate.total
        assert candidate.parts["TaintToleration"] == 300


def test_the_chosen_node_is_always_among_the_best() -> None:
    stage = Stage().nodes(*(f"n{i}" for i in range(20)))
    for i in range(10):
        chosen = stage.place(pod(f"p{i}", "100m"))
        story = stage.engine.story(f"default/p{i}")
        assert story is not None
        assert len(story.best) == 5
        assert chosen in [candidate.node for candidate in story.best]


def test_a_story_is_told_as_of_its_moment() -> None:
    stage = Stage().nodes("n", "m")
    chosen = stage.place(pod("p", "3"))
    then = stage.engine.story("default/p")
    other = "m" if chosen == "n" else "n"
    stage.place(pod("q", "2"))
    stage.nodes("late")
    stage.delete(node(other))
    stage.nodes(node("later", "64"))
    stage.change(node(chosen, "1", labels={"x": "y"}))
    stage.delete(pod("p"))
    before = state(stage)
    assert stage.engine.story("default/p") == then
    assert state(stage) == before
    stage.engine.check()
    story = stage.engine.story("default/q")
    assert story is not None
    assert (story.nodes, story.feasible, story.node) == (2, 1, other)
    assert state(stage) == before
    assert stage.place(pod("r", "100m")) in ("late", "later", chosen)


def test_a_story_of_many_pods_ago() -> None:
    stage = Stage().nodes(*(f"n{i}" for i in range(4)))
    stage.place(pod("first", "100m"))
    then = stage.engine.story("default/first")
    for i in range(50):
        stage.place(pod(f"p{i}", "100m"))
    before = state(stage)
    assert stage.engine.story("default/first") == then
    assert state(stage) == before


def test_the_last_decision_is_the_one_told() -> None:
    stage = Stage().nodes("n")
    stage.wait(pod("p", "6"))
    stage.now = 5.0
    stage.nodes(node("big", "64"))
    assert stage.all() == {"p": "big"}
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.at) == ("big", 5.0)


def test_pods_that_went_are_told_of_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stories, "GONE_KEPT", 4)
    stage = Stage().nodes("n")
    pods = [pod(f"p{i}", "100m") for i in range(4)]
    stage.place(pod("stays", "100m"))
    for each in pods:
        stage.place(each)
        stage.delete(each)
    told = [stage.engine.story(each.key) is not None for each in pods]
    assert told == [False, False, True, True]
    stage.place(pod("p3", "200m"))  # the name is used again: the pod that is there is told of
    again = stage.engine.story("default/p3")
    assert again is not None
    assert again.node == "n"
    assert stage.engine.story("default/stays") is not None


def test_there_are_no_nodes() -> None:
    stage = Stage()
    stage.wait(pod("p"))
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.message, story.node, story.nodes) == ("no nodes available to schedule pods", "", 0)


def test_nobody_knows_of_other_pods() -> None:
    assert Stage().nodes("n").engine.story("default/unheard-of") is None


def test_nodes_a_pod_may_not_go_to_are_told() -> None:
    pin = LabelSelectorRequirement(key="metadata.name", operator="In", values=("m",))
    terms = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(pin,)),))
    affinity = Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=terms))
    stage = Stage().nodes("n", "m", "o")
    assert stage.place(pod("p", affinity=affinity)) == "m"
    story = stage.engine.story("default/p")
    assert story is not None
    assert story.feasible == 1
    assert [candidate.node for candidate in story.best] == ["m"]
    reason = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    assert story.rejections == (Rejection("NodeAffinity", reason, 2),)


def test_a_plugin_that_cannot_say_it_again_spoils_no_story() -> None:
    broken: list[bool] = []

    def look(self: Any, cycle: Any, pod: Any, node: Any) -> Any:
        if broken:
            raise RuntimeError("no")
        return unschedulable("no")

    stage = Stage(made("Moody", filter=look)).nodes("n")
    refusal = stage.wait(pod("p"))
    broken.append(True)
    before = state(stage)
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.message, story.rejections) == (refusal.message, ())
    assert state(stage) == before


def test_plugins_that_schedule_are_not_asked() -> None:
    """Others are, about the cluster of then, while the one that schedules stays as it is."""
    asked: list[tuple[Any, int, int]] = []

    def score(self: Any, cycle: Any, pod: Any, node: Any) -> int:
        asked.append((self, len(self.handle.cluster), len(stage.engine.view)))
        return 0

    stage = Stage(made("Looks", score=score)).nodes("n", "m")
    stage.place(pod("p"))
    stage.nodes("late")
    asked.clear()
    assert stage.engine.story("default/p") is not None
    assert [(then, now) for _, then, now in asked] == [(2, 3), (2, 3)]
    assert stage.plugin("Looks") not in {plugin for plugin, _, _ in asked}


def test_plugins_that_are_asked_know_of_the_same_pods() -> None:
    def seen(self: Any, pod: Any) -> None:
        self.pods = {*getattr(self, "pods", ()), pod.name}

    def look(self: Any, cycle: Any, pod: Any, node: Any) -> Any:
        return unschedulable(f"knows of {' '.join(sorted(self.pods))}")

    stage = Stage(made("Follows", pod_seen=seen, filter=look)).nodes("n")
    stage.running(pod("there"), "n")
    refusal = stage.wait(pod("p"))
    story = stage.engine.story("default/p")
    assert story is not None
    assert [each.reason for each in story.rejections] == ["knows of p there"]
    assert "knows of p there" in refusal.message


def test_a_story_is_told_in_short_from_within() -> None:
    """What is tried at the moment is in the cluster, and not in its history."""
    told: list[Any] = []

    def look(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        told.append(stage.engine.story("default/p"))

    stage = Stage(made("Asks", filter=look)).nodes("n")
    stage.place(pod("p"))
    told.clear()
    stage.place(pod("q"))
    (story,) = told
    assert (story.node, story.nodes, story.best) == ("n", 0, ())
    assert stage.engine.story("default/p").nodes == 1


def test_a_statement_that_is_open_spoils_no_story() -> None:
    stage = Stage().nodes("n")
    stage.place(pod("p"))
    then = stage.engine.story("default/p")
    statement = stage.engine.cluster.statement()
    statement.give_back(pod("p").uid)
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.nodes) == ("n", 0)
    statement.roll_back()
    stage.engine.check()
    assert stage.engine.story("default/p") == then


class Notes:
    """What a policy keeps in a cycle: an object of its own."""

    def __init__(self) -> None:
        self.nodes = {"seen": ["n"]}


def test_a_plugin_that_is_asked_cannot_change_the_cycle_of_a_pod_that_is_being_bound() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Any) -> None:
        cycle.write("list", [["kept"]])
        cycle.write("own", Notes())
        cycle.write("pair", ({"kept": 1}, np.arange(2)))

    def spoil(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        if self is not stage.plugin("Writes"):
            asked.append(node.name)
            cycle.read("list")[0].append("spoilt")
            cycle.read("own").nodes["seen"].append("spoilt")
            cycle.read("pair")[0]["spoilt"] = 1
            cycle.read("pair")[1][0] = 7

    asked: list[str] = []
    stage = Stage(made("Writes", pre_filter=pre_filter, filter=spoil)).nodes("n")
    bind = stage.try_pod(pod("p"))
    assert isinstance(bind, Bind)
    assert stage.engine.story("default/p") is not None
    assert asked == ["n"]
    state = stage.engine.binding_state(bind)
    assert state is not None
    cycle = state.cycle
    assert cycle.read("list") == [["kept"]]
    assert cycle.read("own").nodes == {"seen": ["n"]}
    assert (cycle.read("pair")[0], cycle.read("pair")[1].tolist()) == ({"kept": 1}, [0, 1])


def test_what_cannot_be_copied_is_told_in_short() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Any) -> None:
        cycle.write("lines", (line for line in ()))

    stage = Stage(made("Writes", pre_filter=pre_filter, filter=lambda *about: None)).nodes("n")
    stage.place(pod("p"))
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.nodes) == ("n", 0)
    assert story.remarks == ("told in short: what was written to its cycle cannot be copied: TypeError",)


def feasible(stage: Stage, name: str) -> tuple[int, set[tuple[str, int]]]:
    """How many nodes take a pod, and why how many others do not, as its story has it."""
    story = stage.engine.story(f"default/{name}")
    assert story is not None
    assert story.nodes
    return story.feasible, {(each.reason, each.nodes) for each in story.rejections}


# members of gangs


def test_members_of_a_gang_that_starts_are_told_as_they_were_tried() -> None:
    stage = Stage(gang(3)).nodes(node("a", "1"), node("b", "1"), node("c", "1"))
    stage.add(*members(4))
    assert names(stage.cycle(), Bind) == ["p0", "p1", "p2"]
    stage.nodes("late")
    assert feasible(stage, "p0") == (3, set())
    assert feasible(stage, "p1") == (2, {("Insufficient cpu", 1)})
    assert feasible(stage, "p2") == (1, {("Insufficient cpu", 2)})
    assert feasible(stage, "p3") == (0, {("Insufficient cpu", 3)})


def test_members_of_a_gang_that_does_not_start_are_told_with_the_others_where_they_would_be() -> None:
    stage = Stage(gang(3)).nodes(node("a", "1"), node("b", "1"))
    stage.add(*members(3))
    assert names(stage.cycle(), Wait) == ["p0", "p1", "p2"]
    before = state(stage)
    assert feasible(stage, "p0") == (2, set())
    assert feasible(stage, "p1") == (1, {("Insufficient cpu", 1)})
    assert feasible(stage, "p2") == (0, {("Insufficient cpu", 2)})
    assert state(stage) == before
    stage.engine.check()


def test_members_that_were_given_a_node_are_told_so() -> None:
    def plan_group(self: Any, cycle: Any, group: Any, room: Any) -> Any:
        return Plan({each.uid: "b" for each in group.members})

    stage = Stage(gang(2, plan_group=plan_group)).nodes("a", "b", "c")
    stage.add(*members(2))
    assert names(stage.cycle(), Bind) == ["p0", "p1"]
    assert feasible(stage, "p1") == (1, {("node(s) didn't satisfy plugin(s) [Gang]", 2)})


# nominated pods


def test_pods_that_were_nominated_then_are_counted() -> None:
    stage = Stage().nodes("n")
    vip = pod("vip", "3", priority=10)
    stage.engine.nominator.nominate(vip, "n")
    refusal = stage.wait(pod("p", "2"))
    stage.engine.nominator.remove("vip")
    stage.engine.nominator.nominate(pod("later", "1", priority=10), "n")
    assert "Insufficient cpu" in refusal.message
    assert feasible(stage, "p") == (0, {("Insufficient cpu", 1)})
    stage.tick(400.0)
    assert stage.all() == {"p": "n"}
    assert feasible(stage, "p") == (1, set())


def test_who_went_where_it_was_nominated_to_is_told_so() -> None:
    stage = Stage().nodes("n", "m")
    assert stage.place(pod("p", nominated="m")) == "m"
    story = stage.engine.story("default/p")
    assert story is not None
    assert story.remarks == ("it was nominated to m, which took it: no other node was looked at",)


def test_nominations_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nominator, "CHANGES_KNOWN", 3)
    stage = Stage().nodes("n")
    stage.place(pod("p"))
    for number in range(10):
        stage.engine.nominator.nominate(pod(f"vip{number}"), "n")
    story = stage.engine.story("default/p")
    assert story is not None
    assert story.remarks == ("told in short: too many pods were nominated to nodes since",)


# how long it may take


class Clock:
    """It goes on by so much whenever it is read."""

    def __init__(self) -> None:
        self.now = self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_a_story_that_takes_too_long_is_told_in_short() -> None:
    """Also when it is the doing of plugins that are built in: a pod may have any number of terms."""
    clock = Clock()
    stage = Stage(budgets=Budgets(clock)).nodes(*(f"n{number}" for number in range(50)))
    stage.place(pod("p"))
    in_full = stage.engine.story("default/p")
    assert in_full is not None
    assert in_full.nodes == 50
    clock.step = 0.3
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.nodes) == (in_full.node, 0)
    assert story.remarks == ("told in short: asking all plugins again takes too long",)
    clock.step = 0.0
    assert stage.engine.story("default/p") == in_full


def test_plugins_have_the_time_of_a_story_together(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()

    def look(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        clock.now += 0.4 if asking else 0.0

    asking = False
    slow = [made(name, filter=look) for name in ("One", "Another")]
    stage = Stage(*slow, budgets=Budgets(clock)).nodes("n", "m")
    stage.place(pod("p"))
    asking = True
    story = stage.engine.story("default/p")
    assert story is not None
    assert "takes too long" in story.remarks[0]
    assert "over its budget" not in caplog.text  # it is not, in an attempt


def test_a_pod_that_was_refused_before_any_node_was_asked_is_told_so() -> None:
    def refuse(self: Any, cycle: Any, pod: Any) -> Any:
        return unschedulable("not now")

    stage = Stage(made("Refuses", pre_filter=refuse, filter=lambda *about: None)).nodes("n", "m")
    stage.wait(pod("p"))
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.feasible, story.rejections, story.best) == (0, (Rejection("Refuses", "not now", 2),), ())
