"""A policy that is slow, or never ends: it keeps its lease, everybody else is scheduled, and it is named."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.metrics import metrics_of, reader
from e2e.mooring_process import NAME, NAMESPACE
from e2e.scheduler import Scheduler, StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

NODES, OTHERS, DELAYED = 500, 60, 6
SLOW = '''
import time

from mooring import Plugin


class Dawdles(Plugin):
    """Takes 5 ms a node."""

    def filter(self, cycle, pod, node):
        time.sleep(0.005)
'''
ENDLESS = """
from mooring import Plugin


class Endless(Plugin):
    def filter(self, cycle, pod, node):
        while pod.name.startswith("delayed"):
            pass
"""


def config(policy: str) -> Object:
    """The policy is part of one profile, and not of the other."""
    without = {"multiPoint": {"disabled": [{"name": policy}]}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "default-scheduler", "plugins": without},
            {"schedulerName": "with-policy"},
        ],
    }


def test_a_slow_policy_delays_nobody_else(
    cluster: Cluster, start_mooring: StartScheduler, tmp_path: Path
) -> None:
    """2.5 s a pod, if it were let."""
    running = started(cluster, start_mooring, tmp_path, "Dawdles", SLOW)
    holder, moves = held_lease(cluster)
    create(cluster)
    cluster.wait_bound(OTHERS, "kind=other", within=60)
    token = reader(cluster)
    said = wait_for(
        lambda: metrics_of(running, token)("mooring_plugin_set_aside_total", plugin="Dawdles"),
        within=60,
        saying="the policy to be set aside",
        tail=running.tail,
    )
    assert said
    assert metrics_of(running, token)("mooring_plugin_over_budget_total", plugin="Dawdles") >= 3
    why = json.loads(running.read(f"/apis/v1/pods/{cluster.namespace}/delayed-0/why", token))
    assert why["blamed"] == "Dawdles"
    assert 'running "Dawdles" filter plugin: over budget: ' in why["message"]
    assert "plugin Dawdles of profile with-policy is over its budget at filter" in running.output()
    assert lease(cluster) == (holder, moves)
    assert running.is_running()


def test_an_endless_policy_costs_its_pods_their_turn(
    cluster: Cluster, start_mooring: StartScheduler, tmp_path: Path
) -> None:
    running = started(cluster, start_mooring, tmp_path, "Endless", ENDLESS, nodes=20)
    holder, moves = held_lease(cluster)
    create(cluster)
    cluster.wait_bound(OTHERS, "kind=other", within=90)
    wait_for(
        lambda: [p for p in cluster.pods("kind=delayed") if 'running "Endless" filter plugin: ' in p.message],
        within=60,
        saying="a pod to say what it waits for",
        tail=running.tail,
    )
    assert "not done after 5 s: plugin Endless, filter, pod " in running.output()
    assert lease(cluster) == (holder, moves)
    assert running.is_running()


def started(
    cluster: Cluster, start_mooring: StartScheduler, folder: Path, name: str, policy: str, nodes: int = NODES
) -> Scheduler:
    cluster.add_nodes(nodes, cpu=4, within=120)
    (folder / "policies").mkdir()
    (folder / "policies" / "mine.py").write_text(policy)
    return start_mooring(config(name), policies=folder / "policies", leader_elect=True)


def create(cluster: Cluster) -> None:
    """Pods of both profiles, by turns."""
    delayed = [
        pod(f"delayed-{i}", labels={"kind": "delayed"}, schedulerName="with-policy") for i in range(DELAYED)
    ]
    others = [pod(f"other-{i}", labels={"kind": "other"}) for i in range(OTHERS)]
    cluster.create_pods(*delayed[:3], *others[: OTHERS // 2], *delayed[3:], *others[OTHERS // 2 :])


def held_lease(cluster: Cluster) -> tuple[str, int]:
    """The lease, once somebody leads."""
    return wait_for(lambda: found if (found := lease(cluster))[0] else None, saying="somebody to lead")


def lease(cluster: Cluster) -> tuple[str, int]:
    """Who leads, and how often that has changed."""
    words = ("get", "lease", NAME, f"--namespace={NAMESPACE}", "-o=json")
    spec = json.loads(cluster.kubectl(*words))["spec"]
    return spec["holderIdentity"], spec["leaseTransitions"]
