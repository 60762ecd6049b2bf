"""Mooring as a process with the rights that `deploy/` gives it: it gets ready, schedules, ends in order."""

from __future__ import annotations

from e2e.cluster import Cluster
from e2e.scheduler import StartScheduler
from e2e.workloads import deployment


def test_a_deployment_runs(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(3, cpu=2)
    start_mooring()
    cluster.apply(deployment("web", 3, cpu="1500m"))
    pods = cluster.wait_running(3, "app=web")
    state = cluster.state()
    state.check_no_overcommit()
    state.check_none_lost(pod.key for pod in pods)
    assert set(state.spread().values()) == {1}


def test_told_to_end_it_ends_in_order(cluster: Cluster, start_mooring: StartScheduler) -> None:
    running = start_mooring()
    assert running.stop() == 0
