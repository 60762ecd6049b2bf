"""PodGroups follow their gangs: made, kept up to date, removed; nothing twice, nothing of others."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from mooring.framework.api.writes import Write
from mooring.plugins.coscheduling.controller.gang import KUBERNETES, SIGS, X_K8S
from mooring.plugins.coscheduling.controller.podgroups import RESEND_S
from mooring.workloads.declared import MatchPolicy, Terms
from plugins.coscheduling.controller.gangs import Gang, Stage, member, show

KAI, VOLCANO = "scheduling.run.ai/v2alpha2/podgroups", "scheduling.volcano.sh/v1beta1/podgroups"


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize("where", [SIGS, X_K8S])
def test_the_life_of_a_gang(stage: Stage, where: str) -> None:
    gang = Gang(where)
    gang.object()
    gang.has("a")
    assert stage.play(gang) == "Pending"
    gang.has("b")
    assert stage.play(gang) == "Scheduling"
    gang.has("a", "b", node="n1")
    assert stage.play(gang) == "Scheduled"
    gang.has("a", "b", node="n1", phase="Running")
    assert stage.play(gang) == "Running"
    assert gang.pod_group is not None
    assert gang.pod_group.data["status"] == {
        "phase": "Running",
        "occupiedBy": "default/job",
        "scheduled": 2,
        "running": 2,
        "scheduleStartTime": "2026-01-01T00:00:00Z",
    }


def test_a_status_is_for_the_very_object(stage: Stage) -> None:
    gang = Gang()
    gang.object("u7")
    gang.has("a")
    body = {"metadata": {"uid": "u7"}, "status": {"phase": "Pending"}}
    assert stage.changed(gang) == [Write("patch", SIGS, "default/train", body, sub="status")]


def test_what_was_written_is_not_written_again_before_it_shows(stage: Stage) -> None:
    """Or is for ever cut off by the server, as a field that its schema does not have."""
    gang = Gang()
    gang.object()
    gang.has("a")
    assert len(stage.changed(gang)) == 1
    stage.handle.moment += RESEND_S / 2
    assert stage.changed(gang) == []
    gang.has("b")
    assert len(stage.changed(gang)) == 1


def test_what_does_not_show_is_written_again_after_a_while(stage: Stage) -> None:
    gang = Gang()
    gang.object()
    gang.has("a")
    (write,) = stage.changed(gang)
    assert stage.rest() == []
    stage.handle.moment += RESEND_S + 1
    assert stage.rest() == [write]
    show(gang, write)
    assert stage.changed(gang) == []
    stage.handle.moment += 2 * RESEND_S
    assert stage.rest() == []


def test_many_changes_are_one_write(stage: Stage) -> None:
    gang = Gang()
    gang.object()
    for number in range(50):
        gang.has(f"p{number}", node="n1", phase="Running")
        stage.podgroups.changed(gang)
    (write,) = stage.rest()
    assert (write.body["status"]["phase"], write.body["status"]["running"]) == ("Running", 50)


def test_a_gang_that_changes_all_the_time_is_written_about_once_a_second(stage: Stage) -> None:
    gang = Gang()
    gang.object()
    writes, looks = 0, 0
    for number in range(100):
        gang.has(f"p{number}", node="n1", phase="Running")
        for write in stage.changed(gang):
            show(gang, write)
            writes += 1
        stage.handle.moment += 0.1
        looks += stage.podgroups.wake_at is not None
    assert 10 <= writes <= 16
    assert looks > 0
    stage.handle.moment = stage.podgroups.wake_at or stage.handle.moment
    for write in stage.rest():
        show(gang, write)
    assert gang.pod_group is not None
    assert gang.pod_group.data["status"]["running"] == 100


def test_it_wakes_when_something_is_left_to_do_and_only_then(stage: Stage) -> None:
    gang = Gang()
    gang.object()
    gang.has("a")
    stage.podgroups.changed(gang)
    assert stage.podgroups.wake_at is None  # who does not decide is not woken over and over
    (write,) = stage.rest()
    assert stage.podgroups.wake_at is not None
    show(gang, write)
    assert stage.changed(gang) == []
    assert stage.podgroups.wake_at is None


def test_gangs_of_other_schedulers_are_left_alone(stage: Stage) -> None:
    gang = Gang(declared_by_pods=True)
    other = member("a")
    spec = msgspec.structs.replace(other.spec, scheduler_name="koord-scheduler")
    gang.members["a"] = msgspec.structs.replace(other, spec=spec)
    assert stage.changed(gang) == []
    gang.object(status={"phase": "Running"})
    assert stage.changed(gang) == []
    gang.members.clear()
    assert stage.changed(gang) == []  # nor when their pods are gone
    gang.has("b")
    assert len(stage.changed(gang)) == 1


def test_a_group_without_pods_of_its_own_is_nobodys(stage: Stage) -> None:
    gang = Gang()
    gang.object()
    assert stage.changed(gang) == []


def test_a_gang_that_lost_its_pods_is_pending(stage: Stage) -> None:
    gang = Gang()
    gang.object()
    gang.has("a", "b", node="n1", phase="Running")
    assert stage.play(gang) == "Running"
    gang.members.clear()
    assert stage.play(gang) == "Pending"


@pytest.mark.parametrize("where", [KAI, VOLCANO])
def test_groups_with_controllers_of_their_own_are_left_to_them(stage: Stage, where: str) -> None:
    gang = Gang(where)
    gang.object()
    gang.has("a", "b", node="n1", phase="Running")
    assert stage.changed(gang) == []


def test_nothing_is_written_to_what_is_being_deleted(stage: Stage) -> None:
    gang = Gang()
    found = gang.object()
    meta = msgspec.structs.replace(found.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    gang.pod_group = msgspec.structs.replace(found, metadata=meta)
    gang.has("a")
    assert stage.changed(gang) == []


# pods that finish


def finish(stage: Stage, gang: Gang, name: str, phase: str) -> None:
    """The watch says that a running pod is gone; asked, the server says how it ended."""
    last = gang.members.pop(name)
    stage.podgroups.pod_gone(gang, last)
    assert stage.rest() == []
    assert stage.handle.looked_up[-1] == name
    status = msgspec.structs.replace(last.status, phase=phase)
    stage.podgroups.pod_gone(gang, msgspec.structs.replace(last, status=status))


def running(stage: Stage) -> Gang:
    gang = Gang()
    gang.object()
    gang.has("a", "b", node="n1", phase="Running")
    assert stage.play(gang) == "Running"
    return gang


def test_pods_that_end_well(stage: Stage) -> None:
    gang = running(stage)
    finish(stage, gang, "a", "Succeeded")
    assert stage.play(gang) == "Running"
    finish(stage, gang, "b", "Succeeded")
    assert stage.play(gang) == "Finished"
    assert gang.pod_group is not None
    assert gang.pod_group.data["status"]["succeeded"] == 2


def test_a_pod_that_fails(stage: Stage) -> None:
    gang = running(stage)
    finish(stage, gang, "a", "Failed")
    assert stage.play(gang) == "Failed"


def test_what_is_known_is_not_asked_for(stage: Stage) -> None:
    gang = running(stage)
    done = gang.members.pop("a")
    stage.podgroups.pod_gone(gang, member("a", "n1", "Succeeded"))
    leaving = member("b", "n1", "Running", deletion_timestamp="2026-01-01T00:00:00Z")
    stage.podgroups.pod_gone(gang, leaving)
    stage.podgroups.pod_gone(gang, member("c"))
    stage.podgroups.pod_gone(gang, done)  # once more, as it was
    assert stage.play(gang) == "Running"
    assert stage.handle.looked_up == []


def test_a_pod_that_is_not_there_any_more_is_not_counted(stage: Stage) -> None:
    gang = running(stage)
    finish(stage, gang, "a", "Running")
    assert stage.play(gang) == "Scheduling"


def test_nothing_is_asked_before_pods_are_decided_about(stage: Stage) -> None:
    """Whoever follows without leading has nothing carried out, and would wait for an answer for ever."""
    gang = Gang()
    gang.object()
    gang.has("a", "b", node="n1", phase="Running")
    stage.podgroups.changed(gang)
    last = gang.members.pop("a")
    stage.podgroups.pod_gone(gang, last)
    assert stage.handle.looked_up == []
    stage.podgroups.follow_up()
    assert stage.handle.looked_up == ["a"]
    stage.podgroups.pod_gone(None, member("a", "n1", "Succeeded"))
    assert stage.play(gang) == "Running"


def test_pods_that_finished_before_are_known_from_the_status(stage: Stage) -> None:
    gang = Gang()
    gang.object(status={"phase": "Running", "succeeded": 1, "scheduled": 2, "running": 1})
    gang.has("b", node="n1", phase="Running")
    assert stage.play(gang) == "Running"
    finish(stage, gang, "b", "Succeeded")
    assert stage.play(gang) == "Finished"


def test_what_another_leader_has_counted_is_not_counted_twice(stage: Stage) -> None:
    gang = Gang(least=3)
    gang.object(status={"phase": "Running", "running": 3, "scheduled": 3})
    gang.has("a", "b", "c", node="n1", phase="Running")
    stage.podgroups.changed(gang)
    last = gang.members.pop("a")
    stage.podgroups.pod_gone(gang, last)
    gang.object(status={"phase": "Running", "running": 2, "succeeded": 1, "scheduled": 3})
    stage.podgroups.changed(gang)
    stage.podgroups.follow_up()
    stage.podgroups.pod_gone(gang, member("a", "n1", "Succeeded"))
    assert stage.play(gang) == "Running"
    assert gang.pod_group is not None
    assert gang.pod_group.data["status"]["succeeded"] == 1


def test_a_final_group_asks_nothing(stage: Stage) -> None:
    gang = running(stage)
    gang.object(status={"phase": "Finished"})
    stage.podgroups.changed(gang)
    stage.podgroups.pod_gone(gang, gang.members.pop("a"))
    assert stage.rest() == []
    assert stage.handle.looked_up == []


# gangs that only pods declare


def declared(**terms: Any) -> Gang:
    gang = Gang(declared_by_pods=True)
    gang.terms = Terms(least=2, **terms)
    gang.has("a", "b")
    return gang


def test_a_gang_of_annotations_gets_a_podgroup(stage: Stage) -> None:
    gang = declared()
    (write,) = stage.changed(gang)
    assert (write.verb, write.kind, write.key) == ("create", SIGS, "default/train")
    assert write.body == {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": "train",
            "namespace": "default",
            "labels": {"app.kubernetes.io/managed-by": "mooring"},
            "annotations": {"mooring.io/scheduler-name": "default-scheduler"},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "uid-job"},
            ],
        },
        "spec": {"minMember": 2},
    }
    show(gang, write)
    assert stage.play(gang) == "Scheduling"
    gang.has("a", "b", node="n1", phase="Running")
    assert stage.play(gang) == "Running"


def test_it_says_all_that_the_pods_say(stage: Stage) -> None:
    both = ("default/train", "default/other")
    gang = declared(
        total=5,
        strict=False,
        policy=MatchPolicy.ONLY_WAITING,
        wait_s=90.0,
        groups=both,
        topology_spec='{"gatherStrategy":[]}',
    )
    (write,) = stage.changed(gang)
    prefix = "gang.scheduling.koordinator.sh/"
    said = {**write.body["metadata"]["annotations"]}
    assert said.pop("mooring.io/scheduler-name") == "default-scheduler"
    assert {key.removeprefix(prefix): value for key, value in said.items()} == {
        "total-number": "5",
        "mode": "NonStrict",
        "match-policy": "only-waiting",
        "groups": json.dumps(both),
        "network-topology-spec": '{"gatherStrategy":[]}',
    }
    assert write.body["spec"] == {"minMember": 2, "scheduleTimeoutSeconds": 90}


@pytest.mark.parametrize(("first", "second"), [("job", "other"), ("job", ""), ("", "")])
def test_pods_of_several_owners_have_a_podgroup_of_nobody(stage: Stage, first: str, second: str) -> None:
    gang = declared()
    gang.has("a", owner=first)
    gang.has("b", owner=second)
    (write,) = stage.changed(gang)
    assert "ownerReferences" not in write.body["metadata"]


def test_it_goes_with_the_last_pod(stage: Stage) -> None:
    gang = declared()
    stage.play(gang)
    gang.members.pop("a")
    assert [write.verb for write in stage.changed(gang)] != ["delete"]
    gang.members.pop("b")
    assert stage.changed(gang) == [
        Write("delete", SIGS, "default/train", {"metadata": {"uid": "u1"}}),
    ]


def test_one_that_was_left_behind_is_removed(stage: Stage) -> None:
    """Its pods went while no scheduler was there."""
    gang = Gang()
    gang.object(ours=True)
    assert [write.verb for write in stage.changed(gang)] == ["delete"]


def test_one_of_another_profile_is_left_to_it(stage: Stage) -> None:
    gang = Gang()
    found = gang.object(ours=True)
    notes = {"mooring.io/scheduler-name": "batch"}
    meta = msgspec.structs.replace(found.metadata, annotations=notes)
    gang.pod_group = msgspec.structs.replace(found, metadata=meta)
    assert stage.changed(gang) == []


def test_a_podgroup_that_is_deleted_is_forgotten(stage: Stage) -> None:
    gang = running(stage)
    finish(stage, gang, "a", "Succeeded")
    stage.play(gang)
    stage.podgroups.deleted((SIGS, gang.id))
    gang.object("u2")
    gang.has("c", node="n1", phase="Running")
    assert stage.play(gang) == "Running"
    assert gang.pod_group is not None
    assert "succeeded" not in gang.pod_group.data["status"]


def test_what_people_made_is_never_removed(stage: Stage) -> None:
    gang = declared()
    gang.object()
    stage.play(gang)
    gang.members.clear()
    assert stage.play(gang) == "Pending"
    assert gang.pod_group is not None


def test_nothing_is_made_for_pods_that_are_going(stage: Stage) -> None:
    gang = Gang(declared_by_pods=True)
    gang.has("a", "b", deletion_timestamp="2026-01-01T00:00:00Z")
    assert stage.changed(gang) == []


def test_a_gang_that_waits_for_its_podgroup_is_left_waiting(stage: Stage) -> None:
    gang = Gang()
    gang.has("a", "b")
    assert stage.changed(gang) == []
    unclear = Gang(declared_by_pods=True)
    unclear.terms = None
    unclear.has("a", "b")
    assert stage.changed(unclear) == []


@pytest.mark.parametrize("name", ["My Gang", "-a", "a/b" * 200, ""])
def test_a_name_that_no_object_can_have(stage: Stage, name: str) -> None:
    gang = declared()
    gang.id = f"default/{name}"
    assert stage.changed(gang) == []


# Kubernetes' own


def group_of_kubernetes() -> Gang:
    gang = Gang(KUBERNETES)
    gang.object()
    gang.has("a", "b")
    return gang


def condition(stage: Stage, gang: Gang) -> dict[str, Any] | None:
    stage.play(gang)
    assert gang.pod_group is not None
    listed = gang.pod_group.data.get("status", {}).get("conditions", [])
    return next((each for each in listed if each["type"] == "PodGroupScheduled"), None)


def test_a_group_of_kubernetes_says_whether_it_is_scheduled(stage: Stage) -> None:
    gang = group_of_kubernetes()
    assert condition(stage, gang) is None
    gang.unschedulable = "0/3 nodes are available"
    assert condition(stage, gang) == {
        "type": "PodGroupScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    stage.handle.moment += 60
    gang.unschedulable = "0/4 nodes are available"
    told = condition(stage, gang)
    assert told is not None
    assert (told["message"], told["lastTransitionTime"]) == (
        "0/4 nodes are available",
        "2026-01-01T00:00:00Z",
    )
    gang.unschedulable = ""
    gang.has("a", "b", node="n1")
    told = condition(stage, gang)
    assert told is not None
    assert (told["status"], told["reason"]) == ("True", "Scheduled")
    assert told["lastTransitionTime"] == "2026-01-01T00:01:00Z"


def test_it_is_never_unscheduled_again(stage: Stage) -> None:
    gang = group_of_kubernetes()
    gang.has("a", "b", node="n1")
    stage.play(gang)
    gang.has("a", "b")
    gang.unschedulable = "no room"
    told = condition(stage, gang)
    assert told is not None
    assert told["status"] == "True"


def test_conditions_of_others_stay(stage: Stage) -> None:
    gang = group_of_kubernetes()
    other = {"type": "DisruptionTarget", "status": "True"}
    gang.object(status={"conditions": [other]})
    gang.unschedulable = "no room"
    assert condition(stage, gang) is not None
    assert gang.pod_group is not None
    assert other in gang.pod_group.data["status"]["conditions"]
