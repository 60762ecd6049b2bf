"""Trying a group with some pods gone: what a plugin that looks for a way out is offered."""

from __future__ import annotations

from typing import Any

from engine.gang_world import gang, members
from engine.stage import Stage, made, node, pod
from mooring.engine.decisions import Decision, Wait
from mooring.framework.api.grouping import Group, GroupTrial, GroupWayOut, Plan, Room
from mooring.framework.api.node_trial import Demand
from mooring.framework.api.status import unresolvable
from mooring.model.objects import Pod


def tried_with(look: Any, *pods: Pod, cpus: tuple[int, ...] = (2, 2), low: int = 2) -> list[Decision]:
    """One attempt at a gang on full nodes, with a look at its trial. Nothing of it is left behind."""

    def post_filter_group(self: Any, cycle: Any, group: Group, trial: GroupTrial) -> Any:
        return look(trial)

    stage = Stage(gang(len(pods), post_filter_group=post_filter_group))
    stage.nodes(*(node("abc"[number], cpu=cpu) for number, cpu in enumerate(cpus)))
    for number in range(len(cpus)):
        stage.running(pod(f"low-{'abc'[number]}", cpu=low), "abc"[number])
    stage.add(*pods)
    table = stage.engine.cluster.nodes
    before = table.resources["cpu"].requested.array.tolist(), table.pods.array.tolist()
    nominations = [stage.engine.nominator.node_of(each.uid) for each in pods]
    original = stage.engine.cycle.failures.fail
    kept: list[list[str]] = []

    def fail(*arguments: Any, **more: Any) -> Any:
        kept.append([stage.engine.nominator.node_of(each.uid) for each in pods])
        return original(*arguments, **more)

    stage.engine.cycle.failures.fail = fail  # type: ignore[method-assign]
    decisions = stage.cycle() or []
    assert (table.resources["cpu"].requested.array.tolist(), table.pods.array.tolist()) == before
    assert kept[0] == nominations
    return decisions


def test_a_member_is_seated_on_the_first_node_that_takes_it() -> None:
    def look(trial: GroupTrial) -> None:
        assert trial.seat("p0", ("b", "a")) == ""
        for name in ("a", "b"):
            trial.remove(f"low-{name}")
        assert trial.seat("p0", ("b", "a")) == "b"
        assert trial.seat("p1", ("b", "a")) == "a"
        assert trial.still_fits("a")
        assert trial.seat("p2", ("b", "nowhere")) == ""
        assert trial.place({"p2": "b"}) == {"p2": "b"}

    tried_with(look, *members(3, cpu=2))


def test_a_seat_keeps_to_what_the_pre_filter_leaves() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Pod) -> Any:
        return {"b"}

    def post_filter_group(self: Any, cycle: Any, group: Group, trial: GroupTrial) -> Any:
        found.append(trial.seat("p0", ("a", "b")))
        demand = trial.demand("p0")
        assert isinstance(demand, Demand)
        found.append(demand.open.tolist())

    found: list[Any] = []
    stage = Stage(gang(3, post_filter_group=post_filter_group), made("Only", pre_filter=pre_filter))
    stage.nodes(node("a", cpu=9), node("b", cpu=2))
    stage.add(*members(3))
    stage.cycle()
    assert found == ["b", [False, True]]


def test_a_trial_says_what_members_need() -> None:
    def look(trial: GroupTrial) -> None:
        demand = trial.demand("p1")
        assert isinstance(demand, Demand)
        assert (demand.amounts, demand.alone) == ((("cpu", 2000),), True)
        assert trial.room({"p1"}).members == (pods[1],)

    pods = members(2, cpu=2)
    tried_with(look, *pods)


def test_a_member_that_is_refused_before_any_node_is_asked_says_so() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Pod) -> Any:
        return unresolvable("no disk") if pod.name == "p1" else None

    def post_filter_group(self: Any, cycle: Any, group: Group, trial: GroupTrial) -> Any:
        said.append(trial.demand("p1"))
        assert trial.seat("p1", ("a",)) == ""

    said: list[Any] = []
    stage = Stage(gang(2, post_filter_group=post_filter_group), made("Disk", pre_filter=pre_filter))
    stage.nodes("a")
    stage.add(*members(2))
    stage.cycle()
    assert [each.reasons for each in said] == [("no disk",)]


def test_in_a_trial_nobody_is_held_to_an_earlier_nomination() -> None:
    def look(trial: GroupTrial) -> None:
        assert dict(trial.nominated) == {"p1": "a"}
        trial.remove("low-a")
        assert trial.seat("p0", ("a",)) == "a"

    tried_with(
        look, pod("p0", cpu=2, labels={"gang": "g"}), pod("p1", cpu=2, labels={"gang": "g"}, nominated="a")
    )


def test_a_plan_is_not_held_to_earlier_nominations() -> None:
    def plan_group(self: Any, cycle: Any, group: Group, room: Room) -> Any:
        assert room.offers() == {"a": 1, "b": 1}
        return Plan({"p0": "b", "p1": "a"})

    stage = Stage(gang(2, plan_group=plan_group)).nodes(node("a", cpu=2), node("b", cpu=2))
    stage.add(*(pod(f"p{i}", cpu=2, labels={"gang": "g"}, nominated="ab"[i]) for i in range(2)))
    assert stage.all() == {"p0": "b", "p1": "a"}


def tried_with_failure(look: Any) -> list[Decision]:
    def post_filter_group(self: Any, cycle: Any, group: Group, trial: GroupTrial) -> Any:
        return look(trial)

    stage = Stage(gang(2, post_filter_group=post_filter_group)).nodes(node("a", cpu=1))
    stage.add(*members(2))
    return stage.cycle() or []


def test_a_way_out_that_cannot_be_taken_costs_the_group_one_attempt() -> None:
    def look(trial: GroupTrial) -> Any:
        return GroupWayOut((pod("nobody"),), {"p0": "a"})

    decisions = tried_with_failure(look)
    assert {each.reason for each in decisions if isinstance(each, Wait)} == {"SchedulerError"}


def test_what_a_way_out_says_is_told() -> None:
    def look(trial: GroupTrial) -> Any:
        return GroupWayOut((), {"p0": "a"}, message="on its way")

    decisions = tried_with_failure(look)
    said = {each.message for each in decisions if isinstance(each, Wait)}
    assert said == {"gang default/g: 1 of 2 can be placed; 1 lacks cpu; on its way"}


def test_members_do_not_overtake_each_other() -> None:
    def look(trial: GroupTrial) -> Any:
        return GroupWayOut((), {"p0": "a", "p1": "a"})

    pods = [
        pod("p0", cpu=2, priority=9, labels={"gang": "g"}),
        pod("p1", cpu=2, priority=5, labels={"gang": "g"}, nominated="a"),
    ]
    stage = Stage(gang(2, post_filter_group=lambda self, cycle, group, trial: look(trial)))
    stage.nodes(node("a", cpu=2))
    stage.add(*pods)
    decisions = stage.cycle() or []
    assert [type(each) for each in decisions] == [Wait, Wait]
    assert [stage.engine.nominator.node_of(each.uid) for each in pods] == ["a", "a"]
