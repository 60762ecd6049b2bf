"""What Mooring serves to those who watch it: health to all, the rest to those who may."""

from __future__ import annotations

import json
import urllib.error

from e2e.cluster import Cluster
from e2e.metrics import Metrics, metrics_of, reader
from e2e.scheduler import Scheduler, StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

FAMILIES = {
    "scheduler_schedule_attempts_total",
    "scheduler_scheduling_attempt_duration_seconds_bucket",
    "scheduler_pending_pods",
    "scheduler_pod_scheduling_attempts_bucket",
    "scheduler_pod_scheduling_sli_duration_seconds_bucket",
    "scheduler_framework_extension_point_duration_seconds_bucket",
    "scheduler_plugin_evaluation_total",
    "scheduler_queue_incoming_pods_total",
    "scheduler_cache_size",
    "leader_election_master_status",
    "process_resident_memory_bytes",
}


def test_health_is_for_everybody(cluster: Cluster, start_mooring: StartScheduler) -> None:
    running = start_mooring()
    for path in ("/healthz", "/readyz", "/livez"):
        assert running.read(path) == "ok"
    assert "[+]ping ok" in running.read("/livez?verbose")


def test_figures_are_for_those_who_may_read_them(cluster: Cluster, start_mooring: StartScheduler) -> None:
    running = start_mooring()
    nobody, somebody = reader(cluster, may=False), reader(cluster)
    for path in ("/metrics", "/configz"):
        assert running.status(path) == 403  # anonymous
        assert refused(running, path, "no.such.token") == 401
        assert refused(running, path, nobody) == 403
        assert running.read(path, somebody)
    assert refused(running, "/debug/flags", somebody) == 403  # it may read figures, no more


def test_figures_say_what_happened(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(2)
    running, token = start_mooring(), reader(cluster)
    cluster.create_pods(pod("one"), pod("two"), pod("huge", cpu="64"))
    cluster.wait_bound(2)
    cluster.wait_unschedulable("huge")
    read = wait_for(lambda: settled(running, token), saying="two pods to be counted")
    assert read.names >= FAMILIES
    attempts = "scheduler_schedule_attempts_total"
    assert read(attempts, result="scheduled", profile="default-scheduler") == 2
    assert read(attempts, result="unschedulable", profile="default-scheduler") == 1
    assert read("scheduler_pending_pods", queue="unschedulable") == 1
    assert read("scheduler_pending_pods", queue="active") == 0
    assert read("scheduler_cache_size", type="nodes") == 2
    assert read("scheduler_pod_scheduling_attempts_count") == 2


def test_the_configuration_in_use(cluster: Cluster, start_mooring: StartScheduler) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podMaxBackoffSeconds": 7,
        "profiles": [{"schedulerName": "mine"}],
    }
    running, token = start_mooring(config), reader(cluster)
    said = json.loads(running.read("/configz", token))["kubescheduler.config.k8s.io"]
    assert said["podMaxBackoffSeconds"] == 7
    assert said["leaderElection"]["leaderElect"] is False  # from the command line
    assert [each["schedulerName"] for each in said["profiles"]] == ["mine"]


def test_decisions_are_logged_at_verbosity_two(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(2)
    running, quiet = start_mooring(), start_mooring(PROFILE_NOBODY_USES, verbosity=0)
    cluster.create_pods(pod("web"), pod("huge", cpu="64"))
    node = cluster.wait_bound(1)[0].node
    cluster.wait_unschedulable("huge")
    bound = (
        f'"Successfully bound pod to node" pod="{cluster.namespace}/web" node="{node}" '
        "evaluatedNodes=2 feasibleNodes=2"
    )
    wait_for(lambda: bound in running.output(), saying="a line about the pod that is bound")
    waits = f'"Unable to schedule pod; no fit; waiting" pod="{cluster.namespace}/huge" err="0/2 nodes'
    assert waits in running.output()
    assert cluster.namespace not in quiet.output()


PROFILE_NOBODY_USES = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "unused"}],
}


def settled(running: Scheduler, token: str) -> Metrics | None:
    read = metrics_of(running, token)
    return read if read("scheduler_schedule_attempts_total", result="scheduled") == 2 else None


def refused(running: Scheduler, path: str, token: str) -> int:
    """The HTTP status of a request that is not to be answered."""
    try:
        running.read(path, token)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    return 200
