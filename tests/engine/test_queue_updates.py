"""What becomes of a pod in each part of the queue when it, or the room it waits for, changes."""

from __future__ import annotations

import msgspec
import pytest

from engine.stage import Stage, bad, changed, erring, made, node, pod
from mooring.engine.decisions import Bind
from mooring.framework.api.status import unschedulable
from mooring.model.objects import Pod, PodCondition, PodSchedulingGate, PodStatus, Taint, Toleration

GATES = (PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))
BIG = "64"

# updates and deletes in each part


def in_part(part: str) -> tuple[Stage, Pod]:
    stage = Stage(erring()).nodes("n")
    subject = bad("p") if part == "error_backoff" else pod("p", "6")
    if part == "active":
        stage.add(subject)
    elif part == "gated":
        stage.add(subject := changed(subject, scheduling_gates=GATES))
    else:
        stage.wait(subject)
        if part == "backoff":
            stage.nodes(node("tainted", BIG))
    assert stage.where(subject) == ("unschedulable" if part == "gated" else part)
    return stage, subject


PARTS = ["active", "backoff", "error_backoff", "unschedulable", "gated"]


@pytest.mark.parametrize("part", PARTS)
def test_a_deleted_pod_leaves(part: str) -> None:
    stage, subject = in_part(part)
    stage.delete(subject)
    assert stage.where(subject) == ""
    assert len(stage.engine.queue) == 0
    stage.tick(1000.0)
    assert stage.cycle() is None


@pytest.mark.parametrize("part", PARTS)
def test_a_pod_somebody_else_bound_leaves(part: str) -> None:
    stage, subject = in_part(part)
    stage.change(subject.on_node("n"))
    assert stage.where(subject) == ""
    assert stage.holds(subject) == "n"
    stage.tick(1000.0)
    assert stage.cycle() is None


@pytest.mark.parametrize("part", PARTS)
def test_a_pod_that_is_being_deleted_is_not_tried(part: str) -> None:
    stage, subject = in_part(part)
    meta = msgspec.structs.replace(subject.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    leaving = msgspec.structs.replace(changed(subject, scheduling_gates=()), metadata=meta)
    stage.change(leaving)
    stage.engine.activate([leaving])
    stage.tick(1000.0)
    assert stage.cycle() == []
    assert stage.where(subject) == ""


@pytest.mark.parametrize("part", ["active", "backoff", "error_backoff"])
def test_an_update_stays_in_its_part(part: str) -> None:
    stage, subject = in_part(part)
    stage.change(fresh := changed(subject, labels={"new": "1"}))
    assert stage.where(subject) == part
    assert stage.queued(subject).pod.labels == fresh.labels
    stage.engine.queue.check()


def test_an_update_that_may_help_wakes_the_pod() -> None:
    stage = Stage().nodes(node("n", taints=(Taint(key="t", effect="NoSchedule"),)))
    stage.wait(p := pod("p"))
    stage.change(changed(p, labels={"x": "y"}))
    assert stage.where(p) == "unschedulable"
    stage.now = 5.0
    stage.change(changed(p, tolerations=(Toleration(operator="Exists"),)))
    assert stage.where(p) == "active"
    assert stage.all() == {"p": "n"}


def test_its_own_status_wakes_no_pod() -> None:
    """Every refusal is written to the pod's status, and comes back as an update."""
    stage = Stage(made("Eager", filter=lambda self, cycle, pod, node: unschedulable("no"))).nodes("n")
    stage.wait(p := pod("p"))
    stage.now = 5.0
    refused = PodStatus(conditions=(PodCondition(type="PodScheduled", status="False", reason="no"),))
    meta = msgspec.structs.replace(p.metadata, resource_version="8")
    stage.change(msgspec.structs.replace(p, metadata=meta, status=refused))
    assert stage.where(p) == "unschedulable"
    assert stage.queued(p).pod.status == refused
    meta = msgspec.structs.replace(meta, annotations={"a": "b"}, resource_version="9")
    stage.change(msgspec.structs.replace(p, metadata=meta, status=refused))
    assert stage.where(p) == "active"


def test_the_status_of_another_pod_is_an_event() -> None:
    stage = Stage(made("Eager", filter=lambda self, cycle, pod, node: unschedulable("no"))).nodes("n")
    running = stage.running(pod("running"), "n")
    stage.wait(p := pod("p"))
    stage.now = 5.0
    stage.change(msgspec.structs.replace(running, status=PodStatus(phase="Running")))
    assert stage.where(p) == "active"


def test_a_pod_that_asks_for_less_is_tried_again() -> None:
    stage = Stage().nodes("n")
    stage.wait(p := pod("p", "6"))
    stage.now = 5.0
    stage.change(changed(p, containers=pod("p", "2").spec.containers))
    assert stage.all() == {"p": "n"}


def test_an_update_with_a_known_resource_version_is_ignored() -> None:
    stage = Stage().nodes("n")
    subject = pod("p", BIG)
    versioned = msgspec.structs.replace(
        subject, metadata=msgspec.structs.replace(subject.metadata, resource_version="7")
    )
    stage.wait(versioned)
    stage.now = 5.0
    stage.change(changed(versioned, containers=pod("p", "2").spec.containers))
    assert stage.where(versioned) == "unschedulable"


def test_an_update_of_a_pod_in_flight_is_what_it_fails_with() -> None:
    stage: Stage
    update = lambda self, cycle, pod, statuses: stage.change(changed(pod, labels={"new": "1"})) and None  # noqa: E731
    stage = Stage(made("Meanwhile", post_filter=update)).nodes("n")
    stage.add(p := pod("p", BIG))
    stage.cycle()
    assert stage.queued(p).pod.labels == {"new": "1"}


# what frees room


def test_a_deleted_pod_wakes_those_who_need_its_room() -> None:
    stage = Stage().nodes("n")
    running = stage.running(pod("running", "3"), "n")
    stage.wait(needy := pod("needy", "3"))
    stage.wait(affine := pod("affine", node_selector={"a": "b"}))
    stage.now = 5.0
    stage.delete(running)
    assert stage.where(needy) == "active"
    assert stage.where(affine) == "unschedulable"


def test_a_finished_pod_frees_its_room() -> None:
    stage = Stage().nodes("n")
    running = stage.running(pod("running", "3"), "n")
    stage.wait(needy := pod("needy", "3"))
    stage.now = 5.0
    stage.change(
        msgspec.structs.replace(running, status=msgspec.structs.replace(running.status, phase="Succeeded"))
    )
    assert stage.holds(running) == ""
    assert stage.where(needy) == "active"


def test_an_assumed_pod_that_is_deleted_wakes_others() -> None:
    stage = Stage().nodes("n")
    bind = stage.try_pod(first := pod("first", "3"))
    assert isinstance(bind, Bind)
    stage.wait(needy := pod("needy", "3"))
    stage.now = 5.0
    stage.delete(first)
    assert stage.where(needy) == "active"


def test_a_heartbeat_wakes_nobody() -> None:
    stage = Stage(made("Eager", filter=lambda self, cycle, pod, node: unschedulable("no"))).nodes("n")
    stage.wait(p := pod("p"))
    stage.now = 5.0
    stage.change(node("n"))
    assert stage.where(p) == "unschedulable"
    stage.change(node("n", labels={"a": "b"}))
    assert stage.where(p) == "active"
