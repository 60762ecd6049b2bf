"""Schedulers that have lost sight of the cluster: whoever may not know what others did places nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial

import pytest

from e2e.arrivals import Arrivals
from e2e.audit import Audit
from e2e.cluster import NODES as NODES_PATH
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import LIST, WATCH, FaultyProxy, Seen, answer
from e2e.mooring_process import NAME, NAMESPACE
from e2e.scheduler import StartScheduler
from e2e.test_leaders import FLAGS, LEASE_S, SLACK_S, TURN_S, Replica, holder
from e2e.waiting import holds, wait_for
from e2e.workloads import pod

NODES, PER_NODE = 4, 8
SEEN_ENOUGH_S = 3.0  # several times as long as it takes to place a pod
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}"


@pytest.fixture
def proxies(control_plane: ControlPlane) -> Iterator[tuple[FaultyProxy, FaultyProxy]]:
    with FaultyProxy(control_plane, "first") as first, FaultyProxy(control_plane, "second") as second:
        control_plane.api.delete(LEASE_PATH)
        yield first, second


def of(resource: str, seen: Seen) -> bool:
    return seen.kind in (LIST, WATCH) and seen.resource == resource


def test_a_standby_that_lost_its_pods_places_nothing_until_it_sees_them_again(
    cluster: Cluster, proxies: tuple[FaultyProxy, FaultyProxy], start_mooring: StartScheduler
) -> None:
    """It knows of a pod that waits for room, and not of those that have taken the room meanwhile."""
    cluster.add_nodes(NODES, cpu=PER_NODE)
    first, second = (
        Replica(each, start_mooring(leader_elect=True, flags=FLAGS, kubeconfig=each.kubeconfig))
        for each in proxies
    )
    first.wait_leads(SLACK_S)
    cluster.create_pods(pod("waits", cpu=str(PER_NODE), nodeSelector={"room": "yes"}))
    cluster.wait_unschedulable("waits")
    wait_for(lambda: second.process.status("/readyz") == 200)
    refusal = second.proxy.rule(partial(of, "pods"), answer(403, "pods is forbidden", reason="Forbidden"))
    assert second.proxy.cut(partial(of, "pods"))
    cluster.create_pods(*(pod(f"taken-{number}", cpu="1") for number in range(NODES * PER_NODE)))
    taken = [each for each in cluster.wait_bound(NODES * PER_NODE) if each.node == "node-0"]
    cluster.api.patch(f"{NODES_PATH}/node-0", {"metadata": {"labels": {"room": "yes"}}})
    first.process.kill()
    second.wait_leads(LEASE_S + TURN_S + SLACK_S)
    wait_for(lambda: second.process.status("/readyz") == 500)
    holds(lambda: not second.binds(), during=SEEN_ENOUGH_S)
    second.proxy.drop(refusal)
    wait_for(lambda: second.process.status("/readyz") == 200)
    holds(lambda: not second.binds(), during=SEEN_ENOUGH_S)
    cluster.state().check_no_overcommit()
    for each in taken:
        cluster.api.delete(f"{cluster.pods_path}/{each.name}", grace_seconds=0)
    wait_for(lambda: cluster.pod("waits").node == "node-0", saying="the room to be used")


def test_who_loses_sight_of_nodes_says_so_and_goes_on_when_it_sees_them(
    cluster: Cluster, control_plane: ControlPlane, start_mooring: StartScheduler
) -> None:
    cluster.add_nodes(1)
    with FaultyProxy(control_plane) as proxy:
        running = start_mooring(kubeconfig=proxy.kubeconfig)
        failure = proxy.rule(partial(of, "nodes"), answer(500, "no"))
        assert proxy.cut(partial(of, "nodes"))
        wait_for(lambda: running.status("/readyz") == 500, saying="the scheduler to be out of sight")
        cluster.create_pods(pod("new"))
        said = "scheduling is paused: nodes have not been followed for"
        wait_for(lambda: said in cluster.pod("new").message, saying="the pod to say why it waits")
        assert cluster.pod("new").reason == "SchedulerError"
        proxy.drop(failure)
        cluster.wait_bound(1)
        assert running.status("/readyz") == 200
        assert running.output().count("scheduling goes on") == 1
        running.stop()


def test_a_leader_leads_on_when_the_server_was_away_for_longer_than_the_lease_lasts(
    control_plane: ControlPlane,
    cluster: Cluster,
    proxies: tuple[FaultyProxy, FaultyProxy],
    start_mooring: StartScheduler,
) -> None:
    """It decides nothing meanwhile. Nobody else could take the lease, so nobody has to wait for it either."""
    proxy = proxies[0]
    cluster.add_nodes(1)
    leader = Replica(proxy, start_mooring(leader_elect=True, flags=FLAGS, kubeconfig=proxy.kubeconfig))
    leader.wait_leads(SLACK_S)
    control_plane.stop_apiserver()
    gives_up = "no answer about the lease in time"
    wait_for(lambda: gives_up in leader.process.output(), saying="the leader to give up")
    assert leader.process.status("/readyz") == 500
    control_plane.start_apiserver()
    cluster.create_pods(pod("late"))
    cluster.wait_bound(1)
    assert leader.process.is_running()
    assert {holder(seen) for seen in leader.lease_writes()} == {holder(leader.holds()[0])}
    assert leader.process.status("/readyz") == 200
    leader.process.stop()


def test_the_server_and_the_leader_die_together(
    control_plane: ControlPlane,
    cluster: Cluster,
    proxies: tuple[FaultyProxy, FaultyProxy],
    start_mooring: StartScheduler,
) -> None:
    """The one that stands by meets a server that is just starting, and has to take over from the dead one."""
    seed = secrets.token_hex(4)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    nodes, per_node = 20, 8
    cluster.add_nodes(nodes, cpu=per_node)
    manifests = [pod(f"pod-{number}", cpu="1") for number in range(nodes * per_node)]
    with Audit(cluster) as audit, Arrivals(cluster, manifests, seed=seed, pause=0.05) as arrivals:
        first, second = (
            Replica(each, start_mooring(leader_elect=True, flags=FLAGS, kubeconfig=each.kubeconfig))
            for each in proxies
        )
        assert audit.wait_bound(len(manifests) // 4, 60)
        leader, other = (first, second) if first.holds() else (second, first)
        control_plane.stop_apiserver()
        leader.process.kill()
        control_plane.start_apiserver()
        other.wait_leads(LEASE_S + TURN_S + SLACK_S)
        audit.check(arrivals.all(), within=90)
        assert other.binds()
        other.process.stop()
