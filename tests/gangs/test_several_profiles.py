"""One table of gangs, whatever profiles there are, come and go: what gangs there are is nobody's own."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import BUILT_IN, HEADER, Stage, node
from mooring.config.load import load_config
from mooring.engine.decisions import Bind, Evict
from mooring.engine.events import PodAdded
from mooring.errors import InvariantError
from mooring.model.objects import Pod
from mooring.plugins.coscheduling import Coscheduling
from mooring.plugins.preemption import DefaultPreemption
from mooring.workloads.declared import MatchPolicy
from mooring.workloads.gang import State
from room.for_gang.arena import gang_pods

ARGS = "defaultTimeout: 60s, defaultMatchPolicy: waiting-and-running"
FIRST = "- schedulerName: first\n"
SECOND = f"- schedulerName: second\n  pluginConfig: [{{name: Coscheduling, args: {{{ARGS}}}}}]\n"
OFF = "  plugins: {multiPoint: {disabled: [{name: Coscheduling}]}}\n"


def staged(*profiles: str) -> Stage:
    text = "profiles:\n" + "".join(profiles)
    return Stage(DefaultPreemption, Coscheduling, base=BUILT_IN, text=text).nodes(node("a"), node("b"))


def swapped(stage: Stage, *profiles: str) -> None:
    config = load_config(HEADER + "profiles:\n" + "".join(profiles), "config.yaml", stage.registry)
    stage.engine.swap(stage.engine.table(config.profiles, stage.registry), stage.now)
    stage.engine.check()


def members(count: int, least: int, *names: str, **more: Any) -> list[Pod]:
    """The pods of a gang, of schedulers by turns."""
    made = [gang_pods("g", count, least, scheduler_name=name, **more) for name in names]
    return [made[number % len(names)][number] for number in range(count)]


def gang(stage: Stage) -> Any:
    return stage.engine._parts.gangs.gangs["default/g"]


def states(stage: Stage) -> list[State]:
    return [each.state for each in gang(stage).members.values()]


def test_there_is_one_table() -> None:
    stage = staged(FIRST, SECOND)
    one, other = (stage.plugin("Coscheduling", name) for name in ("first", "second"))
    assert one.gangs is other.gangs is stage.engine._parts.gangs


@pytest.mark.parametrize(
    ("name", "policy", "wait_s"),
    [("first", MatchPolicy.ONCE_SATISFIED, 600), ("second", MatchPolicy.WAITING_AND_RUNNING, 60)],
)
def test_what_a_gang_does_not_say_the_profile_of_its_members_does(
    name: str, policy: MatchPolicy, wait_s: float
) -> None:
    stage = staged(FIRST, SECOND)
    stage.add(*members(2, 2, name))
    assert (gang(stage).policy, gang(stage).wait_s) == (policy, wait_s)


def test_members_of_two_profiles_wait_and_are_told_so() -> None:
    stage = staged(FIRST, SECOND)
    pods = members(2, 2, "first", "second")
    stage.add(*pods)
    assert stage.all() == {}
    said = "gang default/g: its pods have different schedulerNames: first, second"
    gates = [stage.plugin("Coscheduling", pod.spec.scheduler_name).pre_enqueue(pod) for pod in pods]
    assert [gate.message for gate in gates] == [said, said]


def test_they_start_once_all_are_of_one_profile() -> None:
    stage = staged(FIRST, SECOND)
    stage.add(*members(3, 2, "first", "first", "second"))
    assert stage.all() == {}
    stage.delete(members(3, 2, "second")[2])
    assert stage.all().keys() == {"g-0", "g-1"}


def test_one_of_another_profile_goes_alone_once_the_gang_has_started() -> None:
    stage = staged(FIRST, SECOND)
    stage.add(*members(2, 2, "first"))
    assert len(stage.all()) == 2
    stage.add(members(3, 2, "second")[2])
    assert stage.all().keys() == {"g-2"}


@pytest.mark.parametrize("profiles", [(FIRST,), (FIRST, SECOND + OFF)])
def test_pods_that_nobody_collects_do_not_count(profiles: tuple[str, ...]) -> None:
    """Those of a scheduler that is not ours, and of a profile that does not look after gangs."""
    stage = staged(*profiles)
    stage.add(*members(2, 2, "first", "second"))
    assert states(stage) == [State.PENDING, State.ASIDE]
    gate = stage.plugin("Coscheduling", "first").pre_enqueue(members(2, 2, "first")[0])
    assert gate.message == "gang default/g: needs 2 pods; 1 is there, 1 is missing"


def test_gangs_that_start_together_are_of_one_profile() -> None:
    stage = staged(FIRST, SECOND)
    notes = {"groups": '["default/x", "default/y"]'}
    x = gang_pods("x", 1, 1, scheduler_name="first", notes=notes)
    y = gang_pods("y", 1, 1, scheduler_name="second", notes=notes)
    stage.add(*x, *y)
    assert stage.all() == {}
    stage.delete(y[0])
    stage.add(*gang_pods("y", 1, 1, scheduler_name="first", notes=notes))
    assert stage.all().keys() == {"x-0", "y-0"}


def test_a_gang_left_partly_bound_is_given_back_once() -> None:
    stage = staged(FIRST, SECOND)
    stage.running(members(2, 2, "first")[0], "a")
    stage.add(members(2, 2, "first", cpu=8)[1])
    stage.cycle()
    stage.tick(700.0)
    evicted = [each.pod.name for each in stage.cycle() or () if isinstance(each, Evict)]
    assert evicted == ["g-0"]


def test_a_profile_without_gangs_knows_those_that_are_there() -> None:
    stage = staged(FIRST + OFF, SECOND)
    for pod, name in zip(members(2, 2, "second", cpu=4, priority=0), "ab", strict=True):
        stage.running(pod, name)
    stage.add(*gang_pods("p", 1, 1, scheduler_name="first", cpu=4))
    evicted = sorted(each.pod.name for each in stage.cycle() or () if isinstance(each, Evict))
    assert evicted == ["g-0", "g-1"]


def test_gangs_are_followed_while_no_profile_looks_after_them() -> None:
    stage = staged(FIRST)
    pods = members(3, 2, "first", cpu=4)
    stage.running(pods[0], "a")
    swapped(stage, FIRST + OFF)
    stage.delete(pods[0].on_node("a"))
    stage.running(pods[1], "b")
    swapped(stage, FIRST)
    assert states(stage) == [State.BOUND]
    stage.add(pods[2])
    stage.engine.check()


def test_a_table_that_is_only_built_changes_nothing() -> None:
    stage = staged(FIRST)
    stage.add(*members(2, 2, "first", cpu=8))
    config = load_config(HEADER + "profiles:\n" + SECOND, "config.yaml", stage.registry)
    stage.engine.table(config.profiles, stage.registry)
    assert states(stage) == [State.PENDING, State.PENDING]
    assert gang(stage).wait_s == 600


def test_members_that_are_being_bound_are_known_to_a_plugin_that_comes() -> None:
    stage = staged(FIRST)
    stage.add(*members(2, 2, "first"))
    binds = [each for each in stage.cycle() or () if isinstance(each, Bind)]
    swapped(stage, SECOND.replace("second", "first"))
    assert states(stage) == [State.WAITING, State.WAITING]
    stage.bind_failed(binds[0])
    assert states(stage) == [State.PENDING, State.WAITING]
    stage.bound(binds[1], confirm=False)
    assert states(stage) == [State.PENDING, State.BOUND]
    stage.engine.check()


def test_a_fork_has_a_table_of_its_own() -> None:
    stage = staged(FIRST)
    pods = members(3, 2, "first")
    stage.add(*pods[:2])
    binds = [each for each in stage.cycle() or () if isinstance(each, Bind)]
    fork = stage.engine.fork()
    fork.check()
    fork.handle(PodAdded(pods[2]), stage.now)
    assert [each.state for each in fork._parts.gangs.members.values()] == [
        State.BOUND,
        State.BOUND,
        State.PENDING,
    ]
    assert states(stage) == [State.WAITING, State.WAITING]
    stage.bind_failed(binds[0])
    assert fork._parts.gangs.members["g-0"].state is State.BOUND
    stage.engine.check()
    fork.check()


def test_a_table_that_is_wrong_is_found() -> None:
    stage = staged(FIRST)
    stage.add(*members(2, 2, "first"))
    stage.engine._parts.gangs.pod_gone(members(2, 2, "first")[0])
    with pytest.raises(InvariantError, match="default/g"):
        stage.engine.check()


def test_a_count_that_is_wrong_is_found() -> None:
    stage = staged(FIRST)
    stage.add(*members(2, 2, "first"))
    stage.cycle()
    stage.engine._parts.gang_places.note(gang(stage).members["g-0"], -1)
    with pytest.raises(InvariantError, match="GangPlaces"):
        stage.engine.check()


@pytest.mark.parametrize("least", [2, 4])
def test_a_minimum_that_every_member_changes_is_the_gangs(least: int) -> None:
    stage = staged(FIRST)
    stage.add(*members(3, 3 if least == 2 else 2, "first"))
    for each in members(3, least, "first"):
        stage.change(each)
    assert gang(stage).terms.least == least
    stage.engine.check()


def test_what_a_member_said_goes_with_it() -> None:
    stage = staged(FIRST)
    stage.add(*members(1, 5, "first"), *members(3, 2, "first")[1:])
    assert gang(stage).terms.least == 5
    stage.delete(members(1, 5, "first")[0])
    assert gang(stage).terms.least == 2
    stage.engine.check()


@pytest.mark.parametrize("names", [("first", "second"), ("second", "first")])
def test_whose_rules_a_mixed_gang_has_does_not_depend_on_who_came_first(names: tuple[str, ...]) -> None:
    stage = staged(FIRST, SECOND)
    stage.add(*members(2, 2, *names))
    assert gang(stage).wait_s == 600
    stage.engine.check()
