"""What plugins have written and whom they have evicted, carried out in a world."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.engine.decisions import Evict, Look
from mooring.engine.events import Event, PodDeleted
from mooring.framework.api.writes import Write
from mooring.model.objects import Object, ObjectMeta
from mooring.sim.clock import Clock
from mooring.sim.history import History
from mooring.sim.performer import Performer
from mooring.sim.world.world import World
from sim.builders import node, pod

GROUP = "scheduling.sigs.k8s.io/v1alpha1"
PODGROUPS, OTHERS = f"{GROUP}/podgroups", "scheduling.x-k8s.io/v1alpha1/podgroups"
BODY: dict[str, Any] = {"apiVersion": GROUP, "kind": "PodGroup", "spec": {"minMember": 2}}
GANG = "default/gang"


@pytest.fixture
def heard(world: World) -> list[Event]:
    events: list[Event] = []
    world.subscribe(events.append)
    return events


@pytest.fixture
def performer(world: World) -> Performer:
    return Performer(world, History(()), lambda event: None, lambda bind: None)


def install(world: World, group: str = "scheduling.sigs.k8s.io") -> None:
    meta = ObjectMeta(name=f"podgroups.{group}")
    kind = "CustomResourceDefinition"
    world.create_object(Object(api_version="apiextensions.k8s.io/v1", kind=kind, metadata=meta, data={}))


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_an_object_is_made_changed_and_removed(
    world: World, performer: Performer, heard: list[Event]
) -> None:
    install(world)
    performer.perform(Write("create", PODGROUPS, GANG, BODY))
    made = world.store.object(PODGROUPS, GANG)
    assert (made.api_version, made.kind, made.key) == (GROUP, "PodGroup", GANG)
    assert made.data["spec"] == {"minMember": 2}
    before = world.version
    performer.perform(Write("patch", PODGROUPS, GANG, {"status": {"phase": "Running"}}, sub="status"))
    assert world.store.object(PODGROUPS, GANG).data["status"] == {"phase": "Running"}
    assert world.version == before  # a status keeps no run going
    performer.perform(Write("delete", PODGROUPS, GANG))
    performer.perform(Write("delete", PODGROUPS, GANG))
    assert names(heard)[1:] == ["ObjectAdded", "ObjectChanged", "ObjectDeleted"]


def test_a_status_is_all_that_a_write_of_the_status_changes(world: World, performer: Performer) -> None:
    install(world)
    performer.perform(Write("create", PODGROUPS, GANG, BODY))
    both = {"spec": {"minMember": 9}, "status": {"phase": "Running"}}
    performer.perform(Write("patch", PODGROUPS, GANG, both, sub="status"))
    assert world.store.object(PODGROUPS, GANG).data["spec"] == {"minMember": 2}
    performer.perform(Write("patch", PODGROUPS, GANG, both))
    assert world.store.object(PODGROUPS, GANG).data["spec"] == {"minMember": 9}


def test_a_kind_that_is_not_installed_is_left_alone(
    world: World, performer: Performer, heard: list[Event]
) -> None:
    install(world, "scheduling.x-k8s.io")
    performer.perform(Write("create", PODGROUPS, GANG, BODY))
    performer.perform(Write("create", PODGROUPS, GANG, {}))
    assert len(heard) == 1


def test_what_is_there_or_gone_already_is_left_alone(
    world: World, performer: Performer, heard: list[Event]
) -> None:
    install(world)
    performer.perform(Write("create", PODGROUPS, GANG, BODY))
    performer.perform(Write("create", PODGROUPS, GANG, {**BODY, "spec": {}}))
    performer.perform(Write("patch", PODGROUPS, "default/gone", {"spec": {}}))
    performer.perform(Write("delete", OTHERS, GANG))
    assert names(heard) == ["ObjectAdded", "ObjectAdded"]
    assert world.store.object(PODGROUPS, GANG).data["spec"] == {"minMember": 2}


def test_the_next_object_of_the_same_name_is_left_alone(world: World, performer: Performer) -> None:
    install(world)
    performer.perform(Write("create", PODGROUPS, GANG, BODY))
    uid = world.store.object(PODGROUPS, GANG).metadata.uid
    performer.perform(Write("delete", PODGROUPS, GANG, {"metadata": {"uid": "another"}}))
    patch = {"metadata": {"uid": "another", "labels": {"a": "b"}}}
    performer.perform(Write("patch", PODGROUPS, GANG, patch))
    assert world.store.object(PODGROUPS, GANG).metadata.labels == {}
    performer.perform(Write("patch", PODGROUPS, GANG, {"metadata": {"uid": uid, "labels": {"a": "b"}}}))
    assert world.store.object(PODGROUPS, GANG).metadata.labels == {"a": "b"}
    performer.perform(Write("delete", PODGROUPS, GANG, {"metadata": {"uid": uid}}))
    assert GANG not in world.store.of_kind(GROUP, "PodGroup")


def test_pods_and_nodes_can_be_written(world: World, performer: Performer) -> None:
    world.create_node(node("n1"))
    world.create_pod(pod("a"))
    performer.perform(Write("patch", "Node", "n1", {"spec": {"unschedulable": True}}))
    performer.perform(Write("patch", "v1/pods", "default/a", {"metadata": {"labels": {"x": "y"}}}))
    body = {"metadata": {"labels": {"made": "yes"}}, "spec": {"containers": [{"name": "c"}]}}
    performer.perform(Write("create", "Pod", "default/b", body))
    assert world.nodes["n1"].spec.unschedulable
    assert world.pods["default/a"].labels == {"x": "y"}
    assert world.pods["default/b"].labels == {"made": "yes"}
    performer.perform(Write("delete", "Pod", "default/a"))
    performer.perform(Write("delete", "Node", "n1"))
    assert (list(world.pods), list(world.nodes)) == (["default/b"], [])


def test_a_pod_that_goes_for_a_reason_of_its_own_says_so(
    world: World, performer: Performer, clock: Clock
) -> None:
    world.create_node(node("n1"))
    made = world.create_pod(pod("a", on="n1", termination_grace_period_seconds=30))
    performer.perform(Evict(made, "", "QuotaExceeded", "too much", node="n1"))
    (event,) = world.events
    assert (event.reason, event.action, event.message) == ("QuotaExceeded", "Evicting", "too much")
    leaving = world.pods["default/a"]
    assert leaving.terminating
    (condition,) = [each for each in leaving.status.conditions if each.type == "DisruptionTarget"]
    assert (condition.reason, condition.message) == ("QuotaExceeded", "too much")


def test_the_last_state_of_a_pod_is_looked_up(world: World) -> None:
    told: list[Event] = []
    performer = Performer(world, History(()), told.append, lambda bind: None)
    world.create_node(node("n1"))
    made = world.create_pod(pod("a", on="n1"))
    performer.perform(Look(made))
    gone = pod("b")
    performer.perform(Look(gone))
    assert told == [PodDeleted(world.pods["default/a"]), PodDeleted(gone)]
