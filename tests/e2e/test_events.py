"""Events for people: one about each thing that happens, and a series of what happens again."""

from __future__ import annotations

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.metrics import metrics_of, reader
from e2e.scheduler import Scheduler, StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import deployment, pod

AGAIN = 4


def test_what_is_told_again_becomes_a_series(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """Each pod that goes has the one that waits tried again, in vain."""
    cluster.add_nodes(1, cpu=2)
    running, token = start_mooring(), reader(cluster)
    cluster.create_pods(pod("big", cpu="1500m", nodeName="node-0"))
    cluster.create_pods(pod("waits", cpu="1"))
    cluster.wait_unschedulable("waits")
    for number in range(AGAIN):
        cluster.create_pods(pod("short", nodeName="node-0"))
        cluster.api.delete(f"{cluster.pods_path}/short", grace_seconds=0)
        wait_for(lambda number=number: tries(running, token) == 2 + number, saying="one more attempt")
    (event,) = wait_for(lambda: told_again(cluster), saying="a series")
    assert event["series"]["count"] == 2  # the rest is written seldom, and at the end
    assert running.stop() == 0
    (event,) = failures(cluster)
    assert event["series"]["count"] == 1 + AGAIN
    assert event["series"]["lastObservedTime"] > event["eventTime"]


def test_another_reason_is_another_event(cluster: Cluster, start_mooring: StartScheduler) -> None:
    start_mooring()
    cluster.create_pods(pod("waits", cpu="64"))
    cluster.wait_unschedulable("waits")
    cluster.add_nodes(1)
    wait_for(lambda: any("Insufficient cpu" in each["note"] for each in failures(cluster)))
    notes = {each["note"] for each in failures(cluster)}
    assert "no nodes available to schedule pods" in notes
    assert cluster.pod("waits").message in notes


def test_kubectl_shows_them(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1)
    start_mooring()
    cluster.create_pods(pod("web"), pod("huge", cpu="64"))
    cluster.wait_unschedulable("huge")
    cluster.wait_bound(1)
    wait_for(lambda: len(cluster.events()) == 2, saying="both Events")
    said = cluster.kubectl("describe", "pod", "web")
    assert f"Successfully assigned {cluster.namespace}/web to node-0" in said
    assert "default-scheduler" in said
    assert "0/1 nodes are available: 1 Insufficient cpu." in cluster.kubectl("describe", "pod", "huge")


def test_every_pod_has_one(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(4)
    start_mooring()
    cluster.apply(deployment("web", 60, cpu="50m"))
    pods = cluster.wait_bound(60)
    told = wait_for(lambda: sixty(cluster), saying="an Event about each pod")
    assert {each["regarding"]["uid"] for each in told} == {each.uid for each in pods}
    assert len({each["metadata"]["name"] for each in told}) == 60


def sixty(cluster: Cluster) -> list[Object]:
    found = [each for each in cluster.events() if each["reason"] == "Scheduled"]
    return found if len(found) >= 60 else []


def failures(cluster: Cluster) -> list[Object]:
    return [each for each in cluster.events("waits") if each["reason"] == "FailedScheduling"]


def told_again(cluster: Cluster) -> list[Object]:
    return [each for each in failures(cluster) if each.get("series")]


def tries(running: Scheduler, token: str) -> float:
    return metrics_of(running, token)("scheduler_schedule_attempts_total", result="unschedulable")
