"""Who is evicted for a gang, who never is, and what is said when that does not help."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.stage import made, node, pod
from mooring.framework.api.status import unresolvable, unschedulable
from mooring.model.objects import Pod
from room.for_gang.arena import HIGH, Arena, gang_pods, leaving, nodes_of, started


def arena_of(*names: str, **low: Any) -> Arena:
    """Nodes of 32 cpu, each full with a pod of a low priority."""
    arena = Arena()
    arena.nodes(*nodes_of(*names))
    for name in names:
        arena.running(pod(f"low-{name}", cpu=32, **low), name)
    return arena


# nobody is evicted


def test_nobody_goes_when_the_whole_gang_does_not_fit() -> None:
    arena = arena_of("a", "b")
    arena.nodes(node("c", cpu=32))
    arena.running(pod("same", cpu=32, priority=HIGH), "c")
    before = arena.columns()
    found = arena.attempt(*gang_pods("g", 3, cpu=20))
    assert (found.nominated, found.victims) == ({}, [])
    assert found.message == (
        "gang default/g: 0 of 3 can be placed; 3 lack cpu; "
        "preemption: with every pod of a lower priority evicted, 2 of 3 would have a place"
    )
    assert arena.columns() == before


def test_preemption_can_be_switched_off() -> None:
    arena = Arena(enablePreemption="false")
    arena.nodes(node("a", cpu=32))
    arena.running(pod("low", cpu=32), "a")
    assert arena.attempt(*gang_pods("g", 2, cpu=16)).victims == []


def test_a_member_that_never_preempts_keeps_all_from_it() -> None:
    arena = arena_of("a")
    pods = [*gang_pods("g", 2, cpu=16)]
    spec = msgspec.structs.replace(pods[1].spec, preemption_policy="Never")
    found = arena.attempt(pods[0], msgspec.structs.replace(pods[1], spec=spec))
    assert found.victims == []
    assert found.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_without_possible_victims_it_is_no_use() -> None:
    arena = arena_of("a", "b", priority=HIGH)
    found = arena.attempt(*gang_pods("g", 2, cpu=16))
    assert found.victims == []
    assert found.message == "gang default/g: 0 of 2 can be placed; 2 lack cpu"


@pytest.mark.parametrize(
    "label",
    [
        {"scheduling.koordinator.sh/disable-preemptible": "true"},
        {"quota.scheduling.koordinator.sh/preemptible": "false"},
    ],
)
def test_pods_that_say_so_are_not_evicted(label: dict[str, str]) -> None:
    arena = arena_of("a", "b")
    arena.nodes(node("c", cpu=32))
    arena.running(pod("protected", cpu=32, labels=label), "c")
    assert arena.attempt(*gang_pods("g", 3, cpu=20)).victims == []
    arena.delete(pod("g-2"))
    assert arena.attempt(*gang_pods("h", 2, cpu=20)).victims == ["low-a", "low-b"]


def test_the_lowest_priority_of_needed_members_counts() -> None:
    arena = arena_of("a", "b", priority=50)
    pods = [*gang_pods("g", 1, 2, cpu=20), *gang_pods("g", 3, 2, cpu=20, priority=10)[1:]]
    assert arena.attempt(*pods).victims == []


def test_the_most_important_members_are_needed() -> None:
    """Though g-0 is tried first, and has room."""
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    arena.running(pod("low", cpu=32, priority=60), "a")
    arena.running(pod("rest", cpu=20, priority=200), "b")
    first = gang_pods(
        "g", 1, 2, cpu=10, priority=50, notes={"mode": "NonStrict", "network-topology-index": "0"}
    )
    others = gang_pods("g", 3, 2, cpu=12, notes={"mode": "NonStrict"})[1:]
    found = arena.attempt(*first, *others)
    assert found.nominated == {"g-1": "b", "g-2": "a"}
    assert found.victims == ["low"]


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
def test_a_less_important_member_is_not_promised_what_another_would_take(mode: str) -> None:
    """g-1 has room for itself; but g-0 and g-2 come before it, and would take it."""
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    low = arena.running(pod("low", cpu=32, priority=1), "a")
    arena.running(pod("rest", cpu=20, priority=200), "b")
    pods = gang_pods("g", 3, 2, cpu=20, notes={"mode": mode})
    notes = pods[0].metadata.annotations
    found = arena.attempt(
        pods[0],
        pod("g-1", cpu=10, priority=50, annotations=notes),
        pod("g-2", cpu=12, priority=HIGH, annotations=notes),
    )
    assert found.nominated == {"g-0": "a", "g-2": "b"}
    arena.delete(low)
    arena.tick(60.0)
    assert found.nominated.items() <= arena.all().items()


def test_members_that_are_not_needed_cost_nobody_a_place() -> None:
    arena = arena_of("a", "b", "c")
    found = arena.attempt(*gang_pods("g", 3, 2, cpu=20))
    assert found.victims == ["low-a", "low-b"]
    assert found.nominated == {"g-0": "a", "g-1": "b"}


def without_disk(**notes: str) -> Arena:
    """A node with room for two, and a gang of three that needs two, of which the first has no disk."""

    def pre_filter(self: Any, cycle: Any, pod: Pod) -> Any:
        return unresolvable("no disk") if pod.name == "g-0" else None

    arena = Arena(made("Disk", pre_filter=pre_filter))
    arena.nodes(node("a", cpu=32))
    arena.running(pod("low", cpu=32), "a")
    arena.add(*gang_pods("g", 3, 2, cpu=16, notes=notes))
    return arena


def test_a_member_that_fits_nowhere_is_replaced_by_another() -> None:
    found = without_disk(mode="NonStrict").attempt()
    assert found.nominated == {"g-1": "a", "g-2": "a"}


def test_a_strict_gang_does_not_start_without_its_first_members() -> None:
    found = without_disk(mode="Strict").attempt()
    assert (found.nominated, found.victims) == ({}, [])
    assert found.message.endswith("preemption: default/g-0 fits nowhere: no disk")


def test_a_gang_with_too_many_members_that_fit_nowhere_says_why() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Pod) -> Any:
        return unresolvable("no disk") if pod.name == "g-0" else None

    arena = Arena(made("Disk", pre_filter=pre_filter))
    arena.nodes(node("a", cpu=32))
    arena.running(pod("low", cpu=32), "a")
    found = arena.attempt(*gang_pods("g", 2, cpu=16))
    assert found.victims == []
    assert found.message.endswith("preemption: default/g-0 fits nowhere: no disk")


# again


def test_nobody_else_goes_while_victims_are_on_their_way_out() -> None:
    arena = arena_of("a", "b", "c")
    pods = gang_pods("g", 2, cpu=20)
    first = arena.attempt(*pods)
    assert first.victims == ["low-a", "low-b"]
    for each in pods:
        arena.change(msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, tolerations=())))
    arena.engine.activate(pods)
    again = arena.attempt()
    assert again.victims == []
    assert again.nominated == first.nominated
    assert again.message.endswith("not eligible due to a terminating pod on the nominated node.")


@pytest.mark.parametrize(("for_us", "victims"), [(True, []), (False, ["low-b"])])
def test_only_pods_that_make_room_are_waited_for(for_us: bool, victims: list[str]) -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    arena.running(leaving(pod("low-a", cpu=4), for_us=for_us), "a")
    arena.running(pod("low-a-2", cpu=28, priority=HIGH), "a")
    arena.running(pod("low-b", cpu=32), "b")
    arena.add(*gang_pods("g", 1, cpu=20, nominated="a"))
    assert arena.attempt().victims == victims


def test_victims_are_looked_for_again_when_the_node_has_become_useless() -> None:
    arena = arena_of("a", "b", "c")
    pods = gang_pods("g", 2, cpu=20)
    arena.attempt(*pods)
    for name in ("a", "b"):
        arena.change(node(name, cpu=32, unschedulable=True))
    arena.nodes(node("d", cpu=32))
    arena.running(pod("low-d", cpu=32), "d")
    arena.engine.activate(pods)
    again = arena.attempt()
    assert again.victims == ["low-c", "low-d"]


def test_pods_that_are_leaving_anyhow_are_not_evicted() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    arena.running(pod("low-a", cpu=32), "a")
    arena.running(pod("leaving", cpu=32, deleting="2026-01-01T00:00:00Z"), "b")
    found = arena.attempt(*gang_pods("g", 2, cpu=20))
    assert found.victims == ["low-a"]
    assert sorted(found.nominated.values()) == ["a", "b"]


# choice


def test_nodes_with_victims_of_a_low_priority_are_cleared_first() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    for name, priority in (("a", 7), ("b", 5), ("c", 3)):
        arena.running(pod(f"low-{name}", cpu=32, priority=priority), name)
    assert arena.attempt(*gang_pods("g", 2, cpu=20)).victims == ["low-b", "low-c"]


def test_fewer_and_larger_pods_go_when_they_cost_the_same() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    for number in range(16):
        arena.running(pod(f"small-{number}", cpu=2), "a")
    arena.running(pod("large", cpu=32), "b")
    assert arena.attempt(*gang_pods("g", 2, cpu=16)).victims == ["large"]


def test_the_more_important_of_two_stays() -> None:
    arena = Arena()
    arena.nodes(node("a", cpu=32))
    arena.running(started(pod("old", cpu=16), "2026-01-01T00:00:00Z"), "a")
    arena.running(started(pod("new", cpu=16), "2026-02-01T00:00:00Z"), "a")
    assert arena.attempt(*gang_pods("g", 1, cpu=16)).victims == ["new"]


def test_where_other_filters_decide_they_are_asked() -> None:
    """At most two pods to a node; the gang needs one node alone and a place on another."""

    def filter_(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return unschedulable("full") if len(node.pods) >= 2 else None

    arena = Arena(made("Crowd", filter=filter_))
    arena.nodes(*nodes_of("a", "b"))
    for number in range(4):
        arena.running(pod(f"low-{number}", cpu=1), "ab"[number % 2])
    found = arena.attempt(*gang_pods("g", 3, cpu=1))
    assert len(found.victims) == 3
    assert sorted(found.nominated.values()) in (["a", "a", "b"], ["a", "b", "b"])
    before = arena.columns()
    assert len(before[2][0]) == 2


# budgets


def test_a_budget_is_kept_when_there_is_another_way() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    arena.budget("web", 0, app="web")
    arena.running(pod("web-1", cpu=32, labels={"app": "web"}), "a")
    arena.running(pod("other", cpu=32, priority=50), "b")
    assert arena.attempt(*gang_pods("g", 1, cpu=20)).victims == ["other"]


def test_a_budget_is_broken_when_nothing_else_helps() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    arena.budget("web", 0, app="web")
    arena.running(pod("web-1", cpu=32, labels={"app": "web"}), "a")
    arena.running(pod("same", cpu=32, priority=HIGH), "b")
    assert arena.attempt(*gang_pods("g", 1, cpu=20)).victims == ["web-1"]


def test_budgets_are_counted_over_all_nodes() -> None:
    """One of the two may go, and the other node has somebody else."""
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    arena.budget("web", 1, app="web")
    arena.running(pod("web-1", cpu=32, labels={"app": "web"}), "a")
    arena.running(pod("web-2", cpu=32, labels={"app": "web"}), "b")
    arena.running(pod("other", cpu=32, priority=50), "c")
    assert arena.attempt(*gang_pods("g", 2, cpu=20)).victims == ["other", "web-1"]


def test_those_a_budget_protects_come_back_first() -> None:
    """One of the small ones can stay, and the large one has to go."""
    arena = Arena()
    arena.nodes(node("a", cpu=32))
    arena.budget("web", 0, app="web")
    arena.running(pod("large", cpu=16, labels={"app": "web"}), "a")
    arena.running(pod("small", cpu=8, labels={"app": "web"}, priority=1), "a")
    arena.running(pod("other", cpu=8, priority=50), "a")
    assert arena.attempt(*gang_pods("g", 1, cpu=24)).victims == ["large", "other"]


def test_as_few_budgets_as_can_be_are_broken() -> None:
    """Without the pods of `a` one is too many, with them it would be two."""
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    arena.budget("web", 1, app="web")
    arena.budget("db", 0, app="db")
    for number in (1, 2):
        arena.running(pod(f"db-{number}", cpu=16, labels={"app": "db"}), "a")
    arena.running(pod("web-1", cpu=32, labels={"app": "web"}, priority=9), "b")
    arena.running(pod("web-2", cpu=32, labels={"app": "web"}, priority=9), "c")
    assert arena.attempt(*gang_pods("g", 2, cpu=20)).victims == ["web-1", "web-2"]


# others that are to come


def test_room_is_left_for_those_that_are_to_come_first() -> None:
    """Of the three pods two must go: for the gang, and for the pod that is nominated there."""
    arena = Arena()
    arena.nodes(node("a", cpu=30))
    low = [arena.running(pod(f"low-{number}", cpu=10), "a") for number in range(3)]
    arena.add(pod("first", cpu=10, priority=HIGH, nominated="a", scheduler_name="default-scheduler"))
    arena.all()
    arena.engine.nominator.nominate(pod("first", cpu=10, priority=HIGH), "a")
    found = arena.attempt(*gang_pods("g", 1, cpu=10))
    assert found.victims == ["low-1", "low-2"]
    assert found.nominated == {"g-0": "a"}
    for each in low[1:]:
        arena.delete(each)
    arena.tick(60.0)
    assert arena.all()["g-0"] == "a"


def test_room_that_is_promised_does_not_make_a_node_look_cheap() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b"))
    for number in range(54):
        arena.running(pod(f"low-{number}", cpu=1), "a" if number < 24 else "b")
    arena.engine.nominator.nominate(pod("first", cpu=8, priority=HIGH), "a")
    found = arena.attempt(*gang_pods("g", 1, cpu=8))
    assert found.nominated == {"g-0": "b"}
    assert len(found.victims) == 6


def test_two_gangs_do_not_count_on_the_same_room() -> None:
    arena = arena_of("a", "b", "c", "d")
    assert arena.attempt(*gang_pods("g", 2, cpu=20)).victims == ["low-a", "low-b"]
    assert arena.attempt(*gang_pods("h", 2, cpu=20)).victims == ["low-c", "low-d"]
