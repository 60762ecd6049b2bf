"""Pods that wait are tried again within a second once something happens that helps them, and only then."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from e2e.api import Object
from e2e.cluster import NODES, Cluster
from e2e.metrics import metrics_of, reader
from e2e.nodes import node
from e2e.scheduler import Scheduler, StartScheduler
from e2e.waiting import holds, wait_for
from e2e.workloads import pod

AT_MOST_S = 1.0
TRIES = 3  # a busy machine may be late once
QUIET_S = 1.5

Change = Callable[[Cluster], None]


def a_new_node(cluster: Cluster) -> None:
    cluster.create_nodes([node("roomy", cpu=8)])


def room_again(cluster: Cluster) -> None:
    cluster.api.delete(f"{cluster.pods_path}/hog", grace_seconds=0)


def a_taint_removed(cluster: Cluster) -> None:
    cluster.api.patch(f"{NODES}/tainted-0", {"spec": {"taints": []}})


def a_label(cluster: Cluster) -> None:
    cluster.api.patch(f"{NODES}/tainted-0", {"metadata": {"labels": {"disk": "ssd"}}})


def a_node_opened(cluster: Cluster) -> None:
    cluster.api.patch(f"{NODES}/closed-0", {"spec": {"unschedulable": False}})


def the_pod_it_wants_to_be_near(cluster: Cluster) -> None:
    cluster.create_pods(pod("friend", labels={"app": "friend"}, nodeName="full-0", cpu="0"))


CHANGING_TAINTS = (a_new_node, a_taint_removed, a_node_opened)
NEW = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]  # as every node is at first
ALL = [{"operator": "Exists"}]
BYSTANDER = pod("bystander", nodeSelector={"disk": "none-such"}, tolerations=ALL)
BLUE = [{"key": "team", "operator": "Exists"}]
NEAR = {"labelSelector": {"matchLabels": {"app": "friend"}}, "topologyKey": "kubernetes.io/hostname"}
CASES: dict[str, tuple[Change, Object]] = {
    "a new node": (a_new_node, pod("waits", cpu="6", tolerations=NEW)),
    "a pod that ends": (room_again, pod("waits", cpu="1500m")),
    "a taint removed": (a_taint_removed, pod("waits", cpu="3")),
    "a label": (a_label, pod("waits", nodeSelector={"disk": "ssd"}, tolerations=BLUE)),
    "a node opened": (a_node_opened, pod("waits", nodeSelector={"kubernetes.io/hostname": "closed-0"})),
    "a pod it wants to be near": (
        the_pod_it_wants_to_be_near,
        pod("waits", cpu="0", affinity={
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR]}}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_helps_wakes_a_pod_within_a_second(
    cluster: Cluster, start_mooring: StartScheduler, case: str
) -> None:
    """And it leaves a pod alone that it does not help; changed taints are worth a try to all, as ever."""
    change, waiting = CASES[case]
    running, token = start_mooring(), reader(cluster)
    took = []
    while not took or (took[-1] > AT_MOST_S and len(took) < TRIES):
        start_over(cluster)
        cluster.create_pods(waiting, BYSTANDER)
        cluster.wait_unschedulable("waits")
        cluster.wait_unschedulable("bystander")
        tried = attempts(running, token)
        change(cluster)
        took.append(seconds_until_bound(cluster, "waits"))
        if change not in CHANGING_TAINTS:
            holds(lambda tried=tried: attempts(running, token) == tried, during=QUIET_S, saying="no attempts")
    assert min(took) <= AT_MOST_S, took


def test_what_helps_nobody_wakes_nobody(cluster: Cluster, start_mooring: StartScheduler) -> None:
    start_over(cluster)
    running, token = start_mooring(), reader(cluster)
    cluster.create_pods(pod("huge", cpu="16", tolerations=ALL), BYSTANDER)
    seen = {name: cluster.wait_unschedulable(name).raw for name in ("huge", "bystander")}
    tried = attempts(running, token)
    cluster.api.patch(f"{NODES}/full-0/status", {"status": {"allocatable": {"cpu": "3"}}})
    cluster.api.patch(f"{NODES}/full-0", {"metadata": {"labels": {"disk": "ssd"}}})
    cluster.api.patch(f"{NODES}/full-0", {"metadata": {"annotations": {"said": "hello"}}})
    cluster.create_pods(pod("other"))
    cluster.wait_bound(2)  # with the one that was there
    holds(lambda: attempts(running, token) == tried, during=QUIET_S, saying="no attempts")
    assert {name: cluster.pod(name).raw for name in seen} == seen
    told = [event for event in cluster.events() if event["reason"] == "FailedScheduling"]
    assert sorted(event["regarding"]["name"] for event in told) == sorted(seen)
    assert not any(event.get("series") for event in told)


def test_a_gate_taken_away_lets_a_pod_in(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1)
    running, token = start_mooring(), reader(cluster)
    cluster.create_pods(pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    wait_for(lambda: metrics_of(running, token)("scheduler_pending_pods", queue="gated") == 1)
    assert attempts(running, token) == 0
    cluster.api.patch(f"{cluster.pods_path}/gated", {"spec": {"schedulingGates": []}})
    cluster.wait_bound(1)


def start_over(cluster: Cluster) -> None:
    """A node with little room, one that is tainted, one that is closed; nothing else."""
    wait_for(lambda: no_pods(cluster), saying="no pods")
    cluster.api.send("DELETE", NODES, {})
    cluster.create_nodes(
        [
            node("full-0", cpu=2),
            node("tainted-0", cpu=4, taints=["team=blue:NoSchedule"]),
            node("closed-0", cpu=1, unschedulable=True),
        ]
    )
    cluster.wait_ready(["full-0", "tainted-0", "closed-0"])
    cluster.create_pods(pod("hog", cpu="1500m", nodeName="full-0"))


def no_pods(cluster: Cluster) -> bool:
    cluster.api.send("DELETE", cluster.pods_path, {"gracePeriodSeconds": 0})
    return not cluster.pods()


def seconds_until_bound(cluster: Cluster, name: str) -> float:
    """From now, as seen through the API server."""
    started = time.monotonic()
    wait_for(lambda: cluster.pod(name).node, every=0.01, saying=f"{name} to be bound")
    return time.monotonic() - started


def attempts(running: Scheduler, token: str) -> float:
    """How often a pod was tried in vain."""
    read = metrics_of(running, token)
    name = "scheduler_schedule_attempts_total"
    return read(name, result="unschedulable") + read(name, result="error")
