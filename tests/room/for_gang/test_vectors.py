"""Koordinator's cases of preemption for gangs, and the quirks it has that are put right."""

from __future__ import annotations

from engine.stage import node, pod
from room.for_gang.arena import HIGH, Arena, gang_pods, nodes_of


def test_gp1_all_members_go_where_it_costs_least() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("node-1", "node-2"))
    for number, name in enumerate(("node-1", "node-1", "node-2", "node-2"), 1):
        arena.running(pod(f"existing-pod-{number}", cpu=16), name)
    before = arena.columns()
    found = arena.attempt(*gang_pods("g", 2, cpu=16))
    assert found.nominated == {"g-0": "node-1", "g-1": "node-1"}
    assert found.victims == ["existing-pod-1", "existing-pod-2"]
    assert "2 pods are evicted to make room; 0 of 2 need none" in found.message
    assert arena.columns()[0] == before[0]


def test_gp2_a_member_that_has_room_costs_nobody_a_place() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("node-1", "node-2"))
    for number, name in enumerate(("node-1", "node-1", "node-2"), 1):
        arena.running(pod(f"existing-pod-{number}", cpu=16), name)
    found = arena.attempt(*gang_pods("g", 2, cpu=16))
    assert sorted(found.nominated.values()) == ["node-1", "node-2"]
    assert found.victims == ["existing-pod-2"]
    assert found.message == (
        "gang default/g: 1 of 2 can be placed; 1 lacks cpu; 1 pod is evicted to make room; 1 of 2 need none"
    )


def test_the_gang_starts_once_its_victims_have_gone() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("node-1", "node-2"))
    low = [arena.running(pod(f"low-{number}", cpu=32), f"node-{number}") for number in (1, 2)]
    found = arena.attempt(*gang_pods("g", 2, cpu=20))
    assert found.victims == ["low-1", "low-2"]
    for each in low:
        arena.delete(each)
    arena.tick(30.0)
    assert arena.all() == found.nominated


def test_q3_later_members_see_where_earlier_ones_are() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    for name in ("a", "b", "c"):
        arena.running(pod(f"low-{name}", cpu=32), name)
    found = arena.attempt(*gang_pods("g", 2, cpu=20))
    assert found.nominated == {"g-0": "a", "g-1": "b"}
    assert found.victims == ["low-a", "low-b"]


def test_q5_nominations_on_every_used_node_are_taken_back() -> None:
    arena = Arena()
    arena.nodes(*nodes_of("a", "b", "c"))
    for name in ("a", "b", "c"):
        arena.running(pod(f"low-{name}", cpu=32), name)
    arena.add(pod("waiting-a", cpu=33, nominated="a", priority=5))
    arena.add(pod("waiting-c", cpu=33, nominated="c", priority=5))
    arena.all()
    nominator = arena.engine.nominator
    for each in ("a", "c"):
        nominator.nominate(arena.engine.queue.get(f"waiting-{each}").pod, each)  # type: ignore[union-attr]
    found = arena.attempt(*gang_pods("g", 3, cpu=20))
    assert found.victims == ["low-a", "low-b", "low-c"]
    assert found.overtaken == ["waiting-a", "waiting-c"]
    assert [nominator.node_of(f"waiting-{each}") for each in ("a", "c")] == ["", ""]


T1 = {"node-8": "b1", "node-1": "b1", "node-7": "b2", "node-2": "b2"}
T1 |= {"node-6": "b3", "node-3": "b3", "node-5": "b4", "node-4": "b4"}
MUST_SPINE = '{"gatherStrategy": [{"layer": "spine", "strategy": "MustGather"}]}'


def two_spines(**args: object) -> Arena:
    arena = Arena(networkTopology="[spine, block]", **args)
    for name, block in T1.items():
        spine = "s1" if block in ("b1", "b2") else "s2"
        arena.nodes(node(name, cpu=16, labels={"spine": spine, "block": block}))
    for name in ("node-1", "node-4"):
        arena.running(pod(f"low-{name}", cpu=16), name)
    return arena


def test_nt4_no_spine_is_large_enough() -> None:
    arena = two_spines(enablePreemption="false")
    found = arena.attempt(*gang_pods("g", 4, cpu=16, notes={"network-topology-spec": MUST_SPINE}))
    assert found.message.endswith(
        "needs 4 slots in one spine; the best spine, s1, has 3; nodes take no more: 8 Insufficient cpu"
    )
    assert (found.nominated, found.victims) == ({}, [])


def test_nt5_one_spine_is_cleared() -> None:
    arena = two_spines()
    found = arena.attempt(*gang_pods("g", 4, cpu=16, notes={"network-topology-spec": MUST_SPINE}))
    assert found.nominated == {"g-0": "node-1", "g-1": "node-8", "g-2": "node-2", "g-3": "node-7"}
    assert found.victims == ["low-node-1"]
    assert found.message.endswith("; 1 pod is evicted to make room; 3 of 4 need none")


def test_q4_between_domains_the_cheaper_is_cleared() -> None:
    arena = two_spines()
    arena.delete(pod("low-node-1").on_node("node-1"))
    arena.running(pod("middle", cpu=16, priority=50), "node-1")
    found = arena.attempt(*gang_pods("g", 4, cpu=16, notes={"network-topology-spec": MUST_SPINE}))
    assert found.victims == ["low-node-4"]


def test_a_gang_that_waited_for_a_domain_starts_there_when_its_victims_have_gone() -> None:
    arena = two_spines()
    found = arena.attempt(*gang_pods("g", 4, cpu=16, notes={"network-topology-spec": MUST_SPINE}))
    arena.delete(pod("low-node-1", cpu=16).on_node("node-1"))
    arena.tick(30.0)
    assert arena.all() == found.nominated


def test_a_plan_that_no_eviction_helps_is_told() -> None:
    arena = two_spines()
    arena.running(pod("same", cpu=16, priority=HIGH), "node-8")
    arena.running(pod("same-2", cpu=16, priority=HIGH), "node-5")
    found = arena.attempt(*gang_pods("g", 4, cpu=16, notes={"network-topology-spec": MUST_SPINE}))
    assert (found.nominated, found.victims) == ({}, [])
    assert "; preemption: needs 4 slots in one spine; the best spine, s1, has 3" in found.message
