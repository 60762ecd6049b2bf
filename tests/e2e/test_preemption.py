"""Important pods make others go: those say why, and the room is kept until it is taken."""

from __future__ import annotations

import json
from typing import Any

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.scheduler import StartScheduler
from e2e.state import Pod
from e2e.waiting import holds, wait_for
from e2e.workloads import pod, priority_class

CLASSES = (
    priority_class("urgent", 1000),
    priority_class("polite", 1000, "Never"),
    priority_class("normal", 100),
    priority_class("low", 10),
)
SLOW_TO_GO = {"e2e/end-after": "2s"}
GRACE = {"terminationGracePeriodSeconds": 30}


def test_a_pod_makes_room_says_why_and_is_followed(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1, cpu=2)
    cluster.apply(*CLASSES)
    start_mooring()
    run(cluster, "victim", priorityClassName="low", annotations=SLOW_TO_GO, **GRACE)
    (urgent,) = cluster.create_pods(pod("urgent", cpu="1500m", priorityClassName="urgent"))
    victim = wait_for(lambda: gone_soon(cluster, "victim"), saying="the victim to be told to go")
    condition = victim.condition("DisruptionTarget")
    assert {key: condition[key] for key in ("status", "reason", "message")} == {
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
    }
    waiting = wait_for(lambda: nominated(cluster, "urgent"), saying="a nomination")
    assert (waiting.nominated, waiting.node) == ("node-0", "")
    assert waiting.message == "0/1 nodes are available: 1 Insufficient cpu."
    event = event_about(cluster, "victim", "Preempted")
    assert event["note"] == f"Preempted by pod {urgent.uid} on node node-0"
    assert (event["type"], event["action"]) == ("Normal", "Preempting")
    assert event["related"]["uid"] == urgent.uid
    (placed,) = cluster.wait_running(1)
    assert (placed.name, placed.node) == ("urgent", "node-0")
    cluster.state().check_no_overcommit()


def test_it_is_written_as_kube_scheduler_writes_it(
    cluster: Cluster, start_mooring: StartScheduler, start_kube_scheduler: StartScheduler
) -> None:
    cluster.add_nodes(1, cpu=2)
    cluster.apply(*CLASSES)
    expected, written = (preempted_by(cluster, start) for start in (start_kube_scheduler, start_mooring))
    assert written == expected, json.dumps([written, expected], indent=1)


def test_nobody_takes_the_room_that_was_made(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """While the victim goes a small pod finds room: it would keep the urgent one from the whole node."""
    cluster.add_nodes(1, cpu=2)
    cluster.apply(*CLASSES)
    start_mooring()
    run(cluster, "victim", priorityClassName="low", annotations=SLOW_TO_GO, **GRACE)
    cluster.create_pods(pod("urgent", cpu="2", priorityClassName="urgent"))
    wait_for(lambda: nominated(cluster, "urgent"), saying="a nomination")
    cluster.create_pods(pod("thief", cpu="400m", priorityClassName="normal"))
    cluster.wait_unschedulable("thief")
    wait_for(lambda: cluster.pod("urgent").node == "node-0", saying="the preemptor to be placed")
    assert cluster.pod("thief").node == ""


def test_the_least_important_go(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(2, cpu=2)
    cluster.apply(*CLASSES)
    start_mooring()
    run(cluster, "normal", priorityClassName="normal", nodeName="node-0")
    run(cluster, "low", priorityClassName="low", nodeName="node-1")
    cluster.create_pods(pod("urgent", cpu="1500m", priorityClassName="urgent"))
    wait_for(lambda: cluster.pod("urgent").node == "node-1", saying="the preemptor to be placed")
    assert {each.name for each in cluster.pods()} == {"normal", "urgent"}


def test_a_budget_is_kept_where_there_is_a_choice(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """Without it the protected pod would go, being the less important one."""
    cluster.add_nodes(2, cpu=2)
    cluster.apply(*CLASSES, budget("guarded"))
    start_mooring()
    run(cluster, "protected", priorityClassName="low", nodeName="node-0", labels={"app": "guarded"})
    run(cluster, "open", priorityClassName="normal", nodeName="node-1")
    wait_for(lambda: healthy(cluster, "guarded") == 1, saying="the budget to count its pod")
    cluster.create_pods(pod("urgent", cpu="1500m", priorityClassName="urgent"))
    wait_for(lambda: cluster.pod("urgent").node == "node-1", saying="the preemptor to be placed")
    assert {each.name for each in cluster.pods()} == {"protected", "urgent"}


def test_without_a_choice_a_budget_does_not_keep_an_urgent_pod_out(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    cluster.add_nodes(1, cpu=2)
    cluster.apply(*CLASSES, budget("guarded"))
    start_mooring()
    run(cluster, "protected", priorityClassName="low", labels={"app": "guarded"})
    wait_for(lambda: healthy(cluster, "guarded") == 1, saying="the budget to count its pod")
    cluster.create_pods(pod("urgent", cpu="1500m", priorityClassName="urgent"))
    wait_for(lambda: cluster.pod("urgent").node == "node-0", saying="the preemptor to be placed")


def test_who_never_preempts_waits(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1, cpu=2)
    cluster.apply(*CLASSES)
    start_mooring()
    run(cluster, "low", priorityClassName="low")
    cluster.create_pods(pod("polite", cpu="1500m", priorityClassName="polite"))
    said = cluster.wait_unschedulable("polite").message
    assert said.endswith("preemption: not eligible due to preemptionPolicy=Never.")
    holds(lambda: not cluster.pod("low").deleting, during=1.0)


def preempted_by(cluster: Cluster, start: StartScheduler) -> Object:
    """What a scheduler writes about a preemptor and its victim; the cluster is as before afterwards."""
    scheduler = start()
    run(cluster, "victim", priorityClassName="low", annotations=SLOW_TO_GO, **GRACE)
    (urgent,) = cluster.create_pods(pod("urgent", cpu="1500m", priorityClassName="urgent"))
    victim = wait_for(lambda: gone_soon(cluster, "victim"), saying="the victim to be told to go")
    preemptor = wait_for(lambda: nominated(cluster, "urgent"), saying="a nomination")
    told = {
        name: event_about(cluster, name, reason)
        for name, reason in (("victim", "Preempted"), ("urgent", "FailedScheduling"))
    }
    wait_for(lambda: cluster.pod("urgent").node, saying="the preemptor to be placed")
    event_about(cluster, "urgent", "Scheduled")
    scheduler.stop()
    cluster.api.delete(f"{cluster.pods_path}/urgent", grace_seconds=0)
    wait_for(lambda: not cluster.pods(), saying="the pods to be gone")
    cluster.api.send("DELETE", f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events", {})
    return {
        "victim": written_into(victim, "DisruptionTarget"),
        "urgent": written_into(preemptor, "PodScheduled"),
        "grace": victim.raw["metadata"]["deletionGracePeriodSeconds"],
        "events": {name: without_ids(event, urgent) for name, event in told.items()},
    }


def written_into(pod: Pod, condition: str) -> Object:
    return {key: value for key, value in pod.condition(condition).items() if key != "lastTransitionTime"}


def without_ids(event: Object, preemptor: Pod) -> Object:
    said = {key: event[key] for key in ("type", "reason", "action", "reportingController")}
    said["note"] = event["note"].replace(preemptor.uid, "UID")
    said["about"] = sorted(event["regarding"])
    return said


def run(cluster: Cluster, name: str, **words: Any) -> None:
    """A pod that takes most of a node, and runs."""
    cluster.create_pods(pod(name, cpu="1500m", **words))
    wait_for(lambda: cluster.pod(name).phase == "Running", saying=f"{name} to run")


def gone_soon(cluster: Cluster, name: str) -> Pod | None:
    found = cluster.pod(name)
    return found if found.deleting else None


def nominated(cluster: Cluster, name: str) -> Pod | None:
    found = cluster.pod(name)
    return found if found.nominated and found.reason else None


def event_about(cluster: Cluster, name: str, reason: str) -> Object:
    def told() -> list[Object]:
        return [event for event in cluster.events(name) if event["reason"] == reason]

    return wait_for(told, saying=f"the Event {reason} about {name}")[0]


def budget(app: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
    }


def healthy(cluster: Cluster, name: str) -> int:
    path = f"/apis/policy/v1/namespaces/{cluster.namespace}/poddisruptionbudgets/{name}"
    return int(cluster.api.get(path).get("status", {}).get("currentHealthy", 0))
