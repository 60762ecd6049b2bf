"""Processes that die at any moment: no pod is lost, none bound twice, no node taken twice over.

Clusters here are exactly as large as their pods together: room that is counted twice leaves a pod without a
place, and room that is forgotten puts too many on a node.
"""

from __future__ import annotations

import random
import secrets

from e2e.arrivals import Arrivals
from e2e.audit import Audit
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.scheduler import StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

ROUNDS = 30
NODES, PER_NODE = 20, 12
PODS = NODES * PER_NODE
START_SECONDS = 6.0  # more than it takes to begin to schedule


def test_killed_at_random_moments(cluster: Cluster, start_mooring: StartScheduler) -> None:
    seed = secrets.token_hex(4)
    draw = random.Random(seed)
    cluster.add_nodes(NODES, cpu=PER_NODE)
    running = start_mooring()
    manifests = [pod(f"pod-{number}", cpu="1") for number in range(PODS)]
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    with (
        Audit(cluster) as audit,
        Arrivals(cluster, manifests, seed=seed, pause=0.01, limit=0) as arrivals,
    ):
        for number in range(ROUNDS):
            arrivals.limit = (number + 1) * PODS // ROUNDS  # so that there are some left for the last round
            goal = draw.randint(number * PODS // ROUNDS, arrivals.limit)
            if draw.random() < 0.2:
                audit.wait_bound(PODS, draw.uniform(0.0, 1.5))  # while it starts, perhaps
            else:
                audit.wait_bound(goal, START_SECONDS)
                audit.wait_bound(PODS, draw.uniform(0.0, 0.03))
            running.kill()
            running.start()
        audit.check(arrivals.all(), within=60)


def test_the_api_server_dies_and_comes_back(
    control_plane: ControlPlane, cluster: Cluster, start_mooring: StartScheduler
) -> None:
    seed = secrets.token_hex(4)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    cluster.add_nodes(NODES, cpu=PER_NODE)
    running = start_mooring()
    manifests = [pod(f"pod-{number}", cpu="1") for number in range(PODS)]
    with (
        Audit(cluster) as audit,
        Arrivals(cluster, manifests, seed=seed, pause=0.01) as arrivals,
    ):
        for part in (0.2, 0.5):
            assert audit.wait_bound(int(PODS * part), 60), f"{audit.bound} bound; {arrivals}"
            control_plane.restart_apiserver()
        audit.check(arrivals.all(), within=90)
    assert running.is_running()
    assert wait_for(lambda: running.status("/readyz") == 200)
