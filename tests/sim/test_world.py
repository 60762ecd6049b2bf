from __future__ import annotations

import pytest
from msgspec.structs import replace

from mooring.engine.events import Event, NodeAdded, NodeDeleted, PodAdded, PodChanged, PodDeleted
from mooring.errors import ApiError
from mooring.model.objects import Object, ObjectMeta, Pod, PodCondition, PodSchedulingGate
from mooring.sim.clock import Clock
from mooring.sim.world.workloads import RUNS_FOR
from mooring.sim.world.world import World

from .builders import node, pod


@pytest.fixture
def heard(world: World) -> list[Event]:
    events: list[Event] = []
    world.subscribe(events.append)
    return events


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def live_on(clock: Clock) -> None:
    while len(clock):
        clock.pop()()


def running(world: World, name: str = "a", seconds: str = "", **spec: object) -> Pod:
    """A pod bound to node n, which is made if need be."""
    if "n" not in world.nodes:
        world.create_node(node("n"))
    made = pod(name, **spec)
    if seconds:
        made = replace(made, metadata=replace(made.metadata, annotations={RUNS_FOR: seconds}))
    world.create_pod(made)
    return world.bind(f"default/{name}", "n")


def test_created_objects_get_uid_version_and_time(world: World, clock: Clock) -> None:
    clock.advance(61)
    meta = world.create_pod(pod("a")).metadata
    assert meta.uid
    assert (meta.resource_version, meta.creation_timestamp) == ("1", "1970-01-01T00:01:01Z")


def test_a_pod_is_created_once(world: World) -> None:
    world.create_pod(pod("a"))
    with pytest.raises(ApiError, match='pods "a" already exists') as caught:
        world.create_pod(pod("a"))
    assert caught.value.code == 409


def test_generated_names_do_not_collide(world: World) -> None:
    base = replace(pod(""), metadata=ObjectMeta(generate_name="a-", namespace="default"))
    made = {world.create_pod(base).name for _ in range(50)}
    assert len(made) == 50


def test_bound_pods_run_at_once(world: World, clock: Clock, heard: list[Event]) -> None:
    clock.advance(5)
    bound = running(world)
    assert (bound.spec.node_name, bound.status.phase) == ("n", "Running")
    assert bound.status.start_time == "1970-01-01T00:00:05Z"
    assert bound.status.conditions == (PodCondition(type="PodScheduled", status="True"),)
    assert heard[-1] == PodChanged(bound)


def refuse_bind(world: World, key: str, name: str, uid: str = "") -> tuple[int, str]:
    with pytest.raises(ApiError) as caught:
        world.bind(key, name, uid=uid)
    return caught.value.code, str(caught.value)


CONFLICT = 'Operation cannot be fulfilled on pods/binding "a": '


def test_binding_what_is_not_there(world: World) -> None:
    world.create_node(node("n"))
    assert refuse_bind(world, "default/a", "n") == (404, 'pods "a" not found')
    world.create_pod(pod("a"))
    assert refuse_bind(world, "default/a", "m") == (404, 'nodes "m" not found')


def test_binding_twice(world: World) -> None:
    running(world)
    world.create_node(node("m"))
    expected = (409, CONFLICT + 'pod a is already assigned to node "n"')
    assert refuse_bind(world, "default/a", "m") == expected


def test_binding_another_pod_of_that_name(world: World) -> None:
    world.create_node(node("n"))
    made = world.create_pod(pod("a"))
    code, message = refuse_bind(world, "default/a", "n", uid="other")
    assert code == 409
    assert (
        message
        == CONFLICT + f"Precondition failed: UID in precondition: other, UID in object meta: {made.uid}"
    )


def test_binding_a_gated_pod(world: World) -> None:
    world.create_node(node("n"))
    world.create_pod(pod("a", scheduling_gates=(PodSchedulingGate(name="wait"),)))
    assert refuse_bind(world, "default/a", "n") == (
        409,
        CONFLICT + "pod a has non-empty .spec.schedulingGates",
    )


def test_binding_a_pod_that_is_being_deleted(world: World) -> None:
    made = running(world, termination_grace_period_seconds=30)
    world.delete_pod(made.key)
    expected = (409, CONFLICT + "pod a is being deleted, cannot be assigned to a host")
    assert refuse_bind(world, "default/a", "n") == expected


def test_gated_pods_say_so(world: World) -> None:
    made = world.create_pod(pod("a", scheduling_gates=(PodSchedulingGate(name="wait"),)))
    [condition] = made.status.conditions
    assert (condition.type, condition.status, condition.reason) == (
        "PodScheduled",
        "False",
        "SchedulingGated",
    )


def test_status_patches_replace_conditions_of_their_type(world: World, heard: list[Event]) -> None:
    world.create_pod(pod("a"))
    first = PodCondition(type="PodScheduled", status="False", message="one")
    second = PodCondition(type="PodScheduled", status="False", message="two")
    version = world.version
    assert world.patch_status("default/a", conditions=(first,))
    assert world.patch_status("default/a", conditions=(second,), nominated="n")
    status = world.pods["default/a"].status
    assert (status.conditions, status.nominated_node_name) == ((second,), "n")
    assert names(heard) == ["PodAdded", "PodChanged", "PodChanged"]
    assert world.version == version


def test_status_patches_that_change_nothing_are_not_told(world: World, heard: list[Event]) -> None:
    world.create_pod(pod("a"))
    assert not world.patch_status("default/a", nominated="")
    assert names(heard) == ["PodAdded"]


def test_merge_patches(world: World) -> None:
    world.create_pod(pod("a"))
    spec = world.pods["default/a"].spec
    world.patch("Pod", "default/a", {"metadata": {"annotations": {"x": "1", "y": "2"}}})
    world.patch("Pod", "default/a", {"metadata": {"annotations": {"x": None}}})
    made = world.pods["default/a"]
    assert made.annotations == {"y": "2"}
    assert made.spec is spec


def test_merge_patches_of_other_objects(world: World) -> None:
    meta = ObjectMeta(name="gang", namespace="default")
    data = {"apiVersion": "x/v1", "kind": "PodGroup", "metadata": {"name": "gang"}, "spec": {"minMember": 2}}
    world.create_object(Object(api_version="x/v1", kind="PodGroup", metadata=meta, data=data))
    world.patch("PodGroup", "default/gang", {"status": {"phase": "Running"}})
    found = world.store.object("PodGroup", "default/gang")
    assert found.data["status"] == {"phase": "Running"}
    assert found.data["spec"] == {"minMember": 2}
    assert found.metadata.uid


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [("Pod", "default/a", 'pods "a" not found'), ("Fleet", "f", 'Fleet "f" not found')],
)
def test_patching_what_is_not_there(world: World, kind: str, key: str, message: str) -> None:
    with pytest.raises(ApiError, match=message):
        world.patch(kind, key, {})


def test_deletion_is_immediate_without_a_grace_period(world: World, heard: list[Event]) -> None:
    made = running(world)
    world.delete_pod(made.key)
    assert made.key not in world.pods
    assert names(heard)[-1] == "PodDeleted"


def test_a_grace_period_passes_in_simulated_time(world: World, clock: Clock, heard: list[Event]) -> None:
    made = running(world, termination_grace_period_seconds=30)
    world.delete_pod(made.key)
    assert world.pods[made.key].terminating
    world.delete_pod(made.key)
    live_on(clock)
    assert clock.now == 30.0
    assert made.key not in world.pods
    assert names(heard)[-2:] == ["PodChanged", "PodDeleted"]


def test_a_waiting_pod_has_no_grace(world: World) -> None:
    world.create_pod(pod("a", termination_grace_period_seconds=30))
    world.delete_pod("default/a")
    assert not world.pods


def test_finished_pods_stay_but_are_told_as_deleted(world: World, clock: Clock, heard: list[Event]) -> None:
    made = running(world, seconds="90s")
    live_on(clock)
    assert clock.now == 90.0
    assert world.pods[made.key].status.phase == "Succeeded"
    assert isinstance(heard[-1], PodDeleted)


def test_a_pod_deleted_before_its_end_does_not_end(world: World, clock: Clock, heard: list[Event]) -> None:
    made = running(world, seconds="90s")
    world.delete_pod(made.key)
    world.create_pod(pod("a"))
    live_on(clock)
    assert world.pods[made.key].status.phase == "Pending"
    assert names(heard).count("PodDeleted") == 1


def test_pods_on_a_node_from_the_start_are_running(world: World, heard: list[Event]) -> None:
    world.create_node(node("n"))
    made = world.create_pod(pod("a", on="n"))
    assert made.status.phase == "Running"
    assert heard[-1] == PodAdded(made)


def test_finished_pods_of_a_manifest_are_not_told(world: World, heard: list[Event]) -> None:
    done = pod("a", on="n")
    world.create_pod(replace(done, status=replace(done.status, phase="Succeeded")))
    assert heard == []


def test_a_node_takes_its_pods_along(world: World, heard: list[Event]) -> None:
    running(world)
    world.delete_node("n")
    assert not world.pods
    assert names(heard)[-2:] == ["NodeDeleted", "PodDeleted"]


def test_changes_made_by_listeners_are_told_in_order(world: World) -> None:
    told: list[str] = []

    def mirror(event: Event) -> None:
        if isinstance(event, NodeAdded) and event.node.name == "n":
            world.create_node(node("m"))

    world.subscribe(mirror)
    world.subscribe(lambda event: told.append(event.node.name) if isinstance(event, NodeAdded) else None)
    world.create_node(node("n"))
    assert told == ["n", "m"]


def test_events_count_repeats(world: World) -> None:
    made = world.create_pod(pod("a"))
    for message in ("no", "no", "x" * 2000):
        world.record("Warning", "FailedScheduling", "Scheduling", made, message)
    first, second = world.events
    assert (first.count, first.key, first.message) == (2, "default/a", "no")
    assert len(second.message) == 1024
    assert second.message.endswith(" ...")


def test_deleted_nodes_are_told(world: World, heard: list[Event]) -> None:
    made = world.create_node(node("n"))
    world.delete_node("n")
    assert heard[-1] == NodeDeleted(made)
