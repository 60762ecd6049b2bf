"""Told to end, Mooring finishes what it has begun, gives its lease back, and the next one goes on."""

from __future__ import annotations

import time

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.mooring_process import NAME, NAMESPACE
from e2e.scheduler import StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import deployment, pod

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
QUICKLY_S = 5.0
LEASE_S = 15.0  # how long the next one would have to wait for a lease that was not given back


def test_the_lease_is_given_back(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1)
    running = start_mooring(leader_elect=True)
    assert wait_for(lambda: holder(cluster), saying="a leader")
    started = time.monotonic()
    assert running.stop() == 0
    assert time.monotonic() - started < QUICKLY_S
    assert holder(cluster) == ""
    start_mooring(leader_elect=True)
    started = time.monotonic()
    cluster.create_pods(pod("next"))
    cluster.wait_bound(1)
    assert time.monotonic() - started < LEASE_S / 2


def test_nothing_is_left_half_done(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """Ended in the middle of many pods: each is bound and told of, or untouched and the next one's."""
    cluster.add_nodes(10, cpu=4)
    running = start_mooring(leader_elect=True)
    cluster.apply(deployment("web", 300, cpu="100m"))
    wait_for(lambda: sum(1 for each in cluster.pods() if each.node), every=0.01, saying="some pods bound")
    assert running.stop() == 0
    at_end = {each.uid: each.node for each in cluster.pods()}
    told = {each["regarding"]["uid"] for each in cluster.events() if each["reason"] == "Scheduled"}
    assert told == {uid for uid, node in at_end.items() if node}
    assert holder(cluster) == ""
    assert "not carried out" not in running.output()
    start_mooring(leader_elect=True)
    pods = cluster.wait_bound(300)
    assert all(at_end.get(each.uid) in ("", None, each.node) for each in pods)
    cluster.state().check_no_overcommit()


def test_a_second_replica_waits_and_takes_over(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1)
    first = start_mooring(leader_elect=True)
    leader = wait_for(lambda: holder(cluster), saying="a leader")
    second = start_mooring(leader_elect=True)  # ready, though it does not lead
    cluster.create_pods(pod("one"))
    cluster.wait_bound(1)
    wait_for(lambda: "Successfully bound" in first.output(), saying="the leader to log it")
    assert "Successfully bound" not in second.output()
    assert holder(cluster) == leader
    assert first.stop() == 0
    cluster.create_pods(pod("two"))
    cluster.wait_bound(2)
    assert holder(cluster) not in ("", leader)


def holder(cluster: Cluster) -> str:
    """Who leads; "" for nobody."""
    leases = cluster.api.items(LEASES)
    return next((str(each["spec"].get("holderIdentity") or "") for each in leases if is_ours(each)), "")


def is_ours(lease: Object) -> bool:
    return bool(lease["metadata"]["name"] == NAME)
