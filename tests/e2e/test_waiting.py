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
BACKED_OFF_S = 2.2  # after its first attempt a pod rests for a second, counted from a full one
QUIET_S = 3.0

Change = Callable[[Cluster, int], None]


def a_new_node(cluster: Cluster, number: int) -> None:
    cluster.create_nodes([node(f"roomy-{number}", cpu=8)])


def room_again(cluster: Cluster, number: int) -> None:
    cluster.api.delete(f"{cluster.pods_path}/hog", grace_seconds=0)


def a_taint_removed(cluster: Cluster, number: int) -> None:
    cluster.api.patch(f"{NODES}/tainted-0", {"spec": {"taints": []}})


def a_label(cluster: Cluster, number: int) -> None:
    cluster.api.patch(f"{NODES}/tainted-0", {"metadata": {"labels": {"disk": "ssd"}}})


def a_node_opened(cluster: Cluster, number: int) -> None:
    cluster.api.patch(f"{NODES}/closed-0", {"spec": {"unschedulable": False}})


def the_pod_it_wants_to_be_near(cluster: Cluster, number: int) -> None:
    cluster.create_pods(pod("friend", labels={"app": "friend"}, nodeName="full-0", cpu="0"))


BLUE = [{"key": "team", "operator": "Exists"}]
NEAR = {"labelSelector": {"matchLabels": {"app": "friend"}}, "topologyKey": "kubernetes.io/hostname"}
CASES: dict[str, tuple[Change, Object]] = {
    "a new node": (a_new_node, pod("waits", cpu="6")),
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
    """And it leaves alone a pod that it does not help."""
    change, waiting = CASES[case]
    some_nodes(cluster)
    running = start_mooring()
    token = reader(cluster)
    took = [best_of(cluster, change, waiting, running, token, number) for number in range(1)]
    assert min(took) <= AT_MOST_S
