"""Groups of pods: tried together, started together or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from engine.gang_world import gang, members, names
from engine.stage import BUILT_IN, Stage, made, node, pod
from mooring.engine.decisions import Bind, Wait
from mooring.framework.api.grouping import Group, GroupTrial, GroupWayOut, Plan, Room
from mooring.framework.api.status import unschedulable, wait
from mooring.framework.metrics.families import GROUP_ATTEMPTS
from mooring.framework.metrics.meter import Meter
from mooring.model.objects import Pod, Taint

GPU = "nvidia.com/gpu"


def test_members_are_bound_in_one_cycle() -> None:
    stage = Stage(gang(3)).nodes("a")
    stage.add(*members(3))
    assert names(stage.cycle(), Bind) == ["p0", "p1", "p2"]
    assert stage.cycle() is None


def test_one_too_few_binds_nothing_and_says_what_is_missing() -> None:
    stage = Stage(gang(3)).nodes(node("a", extra={GPU: 2}))
    stage.add(*members(3, extra={GPU: 1}))
    decisions = stage.cycle()
    assert names(decisions, Bind) == []
    assert decisions is not None
    assert {each.message for each in decisions if isinstance(each, Wait)} == {
        "gang default/g: 2 of 3 can be placed; 1 lacks nvidia.com/gpu"
    }
    assert [stage.holds(each) for each in members(3)] == ["", "", ""]


def test_a_roll_back_leaves_no_trace() -> None:
    stage = Stage(gang(5)).nodes(node("a", cpu=4), node("b", cpu=0))
    stage.add(pod("nominated", cpu=1, nominated="a", priority=5))
    stage.engine.queue.delete("nominated")
    table = stage.engine.cluster.nodes
    before = table.resources["cpu"].requested.array.tolist(), table.pods.array.tolist()
    stage.add(*members(5))
    assert names(stage.cycle(), Wait) == ["p0", "p1", "p2", "p3", "p4"]
    assert (table.resources["cpu"].requested.array.tolist(), table.pods.array.tolist()) == before
    assert stage.engine.nominator.node_of("nominated") == "a"
    assert stage.plugin("Gang").held == set()
    stage.engine.cluster.check()


def test_nominations_of_members_survive_a_failed_attempt() -> None:
    stage = Stage(gang(3)).nodes(node("a", cpu=2))
    pods = [*members(2), pod("p2", labels={"gang": "g"}, nominated="a")]
    stage.add(*pods)
    kept = stage.engine.nominator
    seen = []
    original = stage.engine.cycle.failures.fail

    def fail(*arguments: Any, **more: Any) -> Any:
        seen.append(kept.node_of("p2"))
        return original(*arguments, **more)

    stage.engine.cycle.failures.fail = fail  # type: ignore[method-assign]
    stage.cycle()
    assert seen[0] == "a"


def test_surplus_members_fail_for_themselves() -> None:
    stage = Stage(gang(2)).nodes(node("a", cpu=2))
    stage.add(*members(3))
    decisions = stage.cycle()
    assert names(decisions, Bind) == ["p0", "p1"]
    assert [each.message for each in decisions or () if isinstance(each, Wait)] == [
        "0/1 nodes are available: 1 Insufficient cpu."
    ]


def test_a_strict_member_without_a_place_keeps_all_from_starting() -> None:
    def group(self: Any, pod: Pod) -> Any:
        pods = tuple(self.known.values())
        return Group("default/g", "gang default/g", pods, 2, frozenset({"big"}))

    stage = Stage(gang(2, group=group)).nodes(node("a", cpu=3))
    pods = [pod(name, cpu=cpu, labels={"gang": "g"}) for name, cpu in (("big", 9), ("x", 1), ("y", 1))]
    stage.add(*pods)
    decisions = stage.cycle()
    assert names(decisions, Bind) == []
    assert {each.message for each in decisions or () if isinstance(each, Wait)} == {
        "gang default/g: 2 of 3 can be placed, and it starts with all of them or none; 1 lacks cpu"
    }
    assert [stage.holds(each) for each in pods] == ["", "", ""]


def test_a_strict_member_that_comes_too_late_changes_nothing() -> None:
    def group(self: Any, pod: Pod) -> Any:
        pods = tuple(self.known.values())
        return Group("default/g", "gang default/g", pods, 2, frozenset({"big"}))

    stage = Stage(gang(2, group=group)).nodes(node("a", cpu=3))
    stage.add(*(pod(name, cpu=cpu, labels={"gang": "g"}) for name, cpu in (("x", 1), ("y", 1), ("big", 9))))
    assert names(stage.cycle(), Bind) == ["x", "y"]


def test_a_gang_that_cannot_start_does_not_block_others() -> None:
    stage = Stage(gang(9)).nodes(node("a", cpu=4))
    stage.add(*members(9, priority=10), pod("single", cpu=4))
    assert stage.all() == {"single": "a"}


def test_all_are_tried_again_when_there_is_room() -> None:
    stage = Stage(gang(3)).nodes(node("a", cpu=2))
    stage.add(*members(3))
    stage.cycle()
    stage.nodes(node("b", cpu=1))
    stage.tick(30.0)
    assert sorted(stage.all()) == ["p0", "p1", "p2"]


def test_members_back_off_together() -> None:
    stage = Stage(gang(3)).nodes(node("a", cpu=1))
    pods = members(3)
    stage.add(*pods[:2])
    stage.cycle()
    stage.add(pods[2])
    stage.cycle()
    assert {stage.queued(each).unschedulable_count for each in pods} == {2}


def test_k26_all_feasible_and_all_waiting_is_unschedulable() -> None:
    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        return wait(60.0, "never")

    stage = Stage(gang(2, permit=permit)).nodes("a")
    stage.add(*members(2))
    decisions = stage.cycle()
    assert names(decisions, Wait) == ["p0", "p1"]
    assert {each.reason for each in decisions or () if isinstance(each, Wait)} == {"Unschedulable"}
    assert not stage.engine.waiting


def test_k27_one_unschedulable_and_another_permitted_is_a_success() -> None:
    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        return None

    stage = Stage(gang(1, permit=permit)).nodes(node("a", cpu=1))
    stage.add(pod("big", cpu=9, labels={"gang": "g"}), pod("small", cpu=1, labels={"gang": "g"}))
    decisions = stage.cycle()
    assert names(decisions, Bind) == ["small"]
    assert names(decisions, Wait) == ["big"]


def test_a_plugin_that_fails_costs_the_group_one_attempt() -> None:
    def reserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        if pod.name == "p2":
            raise RuntimeError("no")

    stage = Stage(gang(2, reserve=reserve)).nodes("a")
    stage.add(*members(3))
    decisions = stage.cycle()
    assert names(decisions, Bind) == []
    assert {each.reason for each in decisions or () if isinstance(each, Wait)} == {"SchedulerError"}
    assert stage.plugin("Gang").held == set()


@pytest.mark.parametrize("failing", ["p0", "p1"])  # p0 waits for the gang, p1 does not
def test_a_patch_that_fails_binds_nobody(failing: str) -> None:
    def pre_bind_patch(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        if pod.name == failing:
            raise RuntimeError("no")
        return {}

    stage = Stage(gang(2, pre_bind_patch=pre_bind_patch)).nodes("a")
    stage.add(*members(2))
    assert names(decisions := stage.cycle(), Bind) == []
    assert names(decisions, Wait) == ["p0", "p1"]
    assert [stage.holds(each) for each in members(2)] == ["", ""]
    stage.engine.check()


def test_a_group_that_fails_at_its_own_point_is_told() -> None:
    def group(self: Any, pod: Pod) -> Any:
        raise RuntimeError("no")

    stage = Stage(gang(2, group=group)).nodes("a")
    refused = stage.wait(pod("p0", labels={"gang": "g"}))
    assert "RuntimeError: no" in refused.message


def test_a_group_may_be_refused() -> None:
    def group(self: Any, pod: Pod) -> Any:
        return unschedulable("not yet")

    stage = Stage(gang(2, group=group)).nodes("a")
    refused = stage.wait(pod("p0", labels={"gang": "g"}))
    assert refused.message == "not yet"


def test_members_are_tried_where_the_plan_says() -> None:
    offers: list[dict[str, int]] = []

    def plan_group(self: Any, cycle: Any, group: Group, room: Room) -> Any:
        offers.append(room.offers())
        return Plan({member.uid: "b" for member in room.members})

    stage = Stage(gang(2, plan_group=plan_group)).nodes(node("a", cpu=9), node("b", cpu=2))
    stage.add(*members(2))
    assert stage.all() == {"p0": "b", "p1": "b"}
    assert offers == [{"a": 2, "b": 2}]


def test_a_plan_that_is_refused_is_told() -> None:
    def plan_group(self: Any, cycle: Any, group: Group, room: Room) -> Any:
        return unschedulable(f"no rack is large enough, {room.reasons()}")

    stage = Stage(gang(2, plan_group=plan_group)).nodes(node("a", cpu=1), node("b", cpu=0))
    stage.add(*members(2))
    decisions = stage.cycle()
    assert {each.message for each in decisions or () if isinstance(each, Wait)} == {
        "gang default/g: no rack is large enough, nodes take no more: 2 Insufficient cpu"
    }


def test_offers_count_members_in_their_order() -> None:
    found: list[dict[str, int]] = []

    def plan_group(self: Any, cycle: Any, group: Group, room: Room) -> Any:
        found.append(room.offers())

    stage = Stage(gang(3, plan_group=plan_group)).nodes(
        node("a", cpu=4), node("b", cpu=5), node("c", cpu=1), node("d", cpu=9, pods=2)
    )
    stage.add(pod("p0", cpu=3, labels={"gang": "g"}), *[pod(f"p{i}", labels={"gang": "g"}) for i in (1, 2)])
    stage.cycle()
    assert found == [{"a": 2, "b": 3, "d": 2}]


def test_offers_are_found_by_trying_where_more_than_resources_decides() -> None:
    found: list[dict[str, int]] = []

    def plan_group(self: Any, cycle: Any, group: Group, room: Room) -> Any:
        found.append(room.offers())

    def filter_(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return unschedulable("full") if len(list(node.pods)) >= 2 else None

    crowd = made("Crowd", filter=filter_)
    stage = Stage(gang(3, plan_group=plan_group), crowd).nodes(node("a", cpu=9), node("b", cpu=1))
    stage.add(*members(3))
    stage.cycle()
    assert found == [{"a": 2, "b": 1}]
    stage.engine.cluster.check()


def test_a_way_out_evicts_for_the_whole_group() -> None:
    def post_filter_group(self: Any, cycle: Any, group: Group, trial: GroupTrial) -> Any:
        assert trial.place() == {}
        trial.remove("low")
        found = trial.place()
        assert trial.still_fits("a")
        trial.put_back("low")
        assert not trial.still_fits("a")
        return GroupWayOut((self.low,), found)

    stage = Stage(gang(2, post_filter_group=post_filter_group)).nodes(node("a", cpu=2))
    stage.plugin("Gang").low = stage.running(pod("low", cpu=2), "a")
    pods = members(2, priority=9)
    stage.add(*pods)
    decisions = stage.cycle() or []
    assert [type(each).__name__ for each in decisions] == ["Evict", "Wait", "Wait"]
    assert [stage.engine.nominator.node_of(each.uid) for each in pods] == ["a", "a"]
    stage.delete(stage.plugin("Gang").low)
    stage.tick(30.0)
    assert sorted(stage.all()) == ["p0", "p1"]


def test_plain_pods_are_tried_alone() -> None:
    stage = Stage(gang(2)).nodes("a")
    assert stage.place(pod("plain")) == "a"


def test_gangs_are_sorted_by_when_they_began_to_wait() -> None:
    def order_of(self: Any, pod: Pod) -> Any:
        return (0.0, "default/g") if "gang" in pod.labels else None

    stage = Stage(gang(1, order_of=order_of), base=BUILT_IN).nodes("a")
    stage.now = 5.0
    stage.add(pod("plain"))
    stage.now = 7.0
    stage.add(*members(1))
    assert names(stage.cycle(), Bind) == ["p0"]


def test_attempts_at_groups_are_counted_by_result() -> None:
    def post_filter_group(self: Any, cycle: Any, group: Group, trial: GroupTrial) -> Any:
        low = getattr(self, "low", None)
        return GroupWayOut((low,), {}) if low is not None else unschedulable("no")

    meter = Meter(lambda: 0.0)
    stage = Stage(gang(2, post_filter_group=post_filter_group), meter=meter).nodes(node("a", cpu=1))
    stage.add(*members(2))
    stage.cycle()
    stage.plugin("Gang").low = stage.running(pod("low", cpu=0), "a")
    stage.tick(30.0)
    stage.cycle()
    stage.nodes("b")
    stage.tick(90.0)
    stage.cycle()
    results = ("unschedulable", "waiting_on_preemption", "scheduled", "error")
    counts = [meter.count(GROUP_ATTEMPTS, each, "default-scheduler").value for each in results]
    assert counts == [1, 1, 1, 0]


def test_what_else_keeps_members_away_is_told_as_well() -> None:
    taint = Taint(key="k", effect="NoSchedule")
    stage = Stage(gang(2)).nodes(node("a", cpu=1), node("b", cpu=9, taints=(taint,)))
    stage.add(*members(2))
    decisions = stage.cycle()
    assert {each.message for each in decisions or () if isinstance(each, Wait)} == {
        "gang default/g: 1 of 2 can be placed; 1 lacks cpu (0/2 nodes are available: "
        "1 Insufficient cpu, 1 node(s) had untolerated taint(s))"
    }


def test_a_group_waits_its_back_off_out() -> None:
    def order_of(self: Any, pod: Pod) -> Any:
        return (0.0, "default/g")

    stage = Stage(gang(3, order_of=order_of)).nodes(node("a", cpu=2))
    stage.add(*members(3))
    stage.cycle()
    stage.nodes(node("b", cpu=4))
    assert stage.cycle() is None
    stage.tick(2.0)
    assert len(names(stage.cycle(), Bind)) == 3


def test_a_group_that_waits_for_long_is_not_overtaken() -> None:
    """Room appears for one of two: the older has it, though it has just failed and the younger has not."""

    def order_of(self: Any, pod: Pod) -> Any:
        return (0.0, "default/g") if "gang" in pod.labels else None

    for since, first in ((70.0, "p0"), (50.0, "young")):
        stage = Stage(gang(2, order_of=order_of)).nodes(node("a", cpu=2))
        low = stage.running(pod("low", cpu=2), "a")
        stage.now = since
        stage.add(*members(2))
        assert names(stage.cycle(), Wait) == ["p0", "p1"]
        stage.add(pod("young", cpu=2))
        stage.delete(low)
        assert names(stage.cycle(), Bind)[0] == first
