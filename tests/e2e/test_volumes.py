"""Pods with volumes: bound where their volumes are, or volumes where pods go; and what they wait for."""

from __future__ import annotations

from e2e.cluster import Cluster
from e2e.nodes import node
from e2e.scheduler import StartScheduler
from e2e.storage import Provisioner, claim, make_available, storage_class, using, volume
from e2e.waiting import wait_for
from e2e.workloads import pod

ZONE = "topology.kubernetes.io/zone"
ONE_POD = ("ReadWriteOncePod",)
PREEMPTION = "no new claims to deallocate, preemption: 0/2 nodes are available:"


def test_a_pod_goes_where_its_volume_is(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """The claim is bound by the controllers, before there is a pod. The other node is the emptier one."""
    storage = cluster.namespace
    cluster.add_nodes(2)
    cluster.create_pods(pod("hog", cpu="3", nodeName="node-1"))
    cluster.apply(storage_class(storage, delayed=False))
    make_available(cluster, volume(f"{storage}-v", storage, node="node-1"))
    cluster.apply(claim("data", storage))
    wait_for(lambda: is_bound(cluster, "data"), saying="the claim to be bound")
    start_mooring()
    cluster.create_pods(pod("db", volumes=using("data")))
    cluster.wait_running(2)
    assert cluster.pod("db").node == "node-1"


def test_the_smallest_volume_that_suffices_is_taken(cluster: Cluster, start_mooring: StartScheduler) -> None:
    storage = cluster.namespace
    cluster.add_nodes(1)
    sizes = ("5Gi", "2Gi", "1Gi", "9Gi")
    cluster.apply(
        storage_class(storage),
        *(volume(f"{storage}-{size.lower()}", storage, size=size, node="node-0") for size in sizes),
        claim("data", storage, size="1500Mi"),
        claim("more", storage, size="2500Mi"),
    )
    start_mooring()
    cluster.create_pods(pod("db", volumes=using("data", "more")))
    cluster.wait_running(1)
    assert volume_of(cluster, "data") == f"{storage}-2gi"
    assert volume_of(cluster, "more") == f"{storage}-5gi"


def test_pods_that_share_a_claim_share_a_node(cluster: Cluster, start_mooring: StartScheduler) -> None:
    storage = cluster.namespace
    cluster.add_nodes(3)
    cluster.apply(storage_class(storage, "example.com/played"), claim("data", storage))
    start_mooring()
    with Provisioner(cluster, storage) as provisioner:
        cluster.create_pods(*(pod(f"db-{number}", volumes=using("data")) for number in range(3)))
        pods = cluster.wait_running(3)
    assert {each.node for each in pods} == set(provisioner.selected.values())
    assert len({each.node for each in pods}) == 1


def test_a_new_volume_wakes_the_pod_that_waits_for_it(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    storage = cluster.namespace
    cluster.add_nodes(2)
    cluster.apply(storage_class(storage), claim("data", storage))
    start_mooring()
    cluster.create_pods(pod("db", volumes=using("data")))
    assert cluster.wait_unschedulable("db").message == (
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. "
        f"{PREEMPTION} 2 Preemption is not helpful for scheduling."
    )
    cluster.apply(volume(f"{storage}-v", storage, node="node-1"))
    cluster.wait_running(1)
    assert cluster.pod("db").node == "node-1"


def test_a_claim_that_is_bound_later_lets_its_pod_in(cluster: Cluster, start_mooring: StartScheduler) -> None:
    storage = cluster.namespace
    cluster.add_nodes(2)
    cluster.apply(storage_class(storage, delayed=False), claim("data", storage))
    start_mooring()
    cluster.create_pods(pod("db", volumes=using("data")))
    assert cluster.wait_unschedulable("db").message.startswith(
        "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
    )
    uid = cluster.api.get(path_of(cluster, "data"))["metadata"]["uid"]
    whose = {"namespace": cluster.namespace, "name": "data", "uid": uid}
    cluster.apply(volume(f"{storage}-v", storage, node="node-0", claim=whose))
    cluster.wait_running(1)
    assert cluster.pod("db").node == "node-0"


def test_a_claim_of_one_pod_is_given_on_when_it_goes(cluster: Cluster, start_mooring: StartScheduler) -> None:
    storage = cluster.namespace
    cluster.add_nodes(2)
    cluster.apply(
        storage_class(storage),
        volume(f"{storage}-v", storage, node="node-0", modes=ONE_POD),
        claim("data", storage, modes=ONE_POD),
    )
    start_mooring()
    cluster.create_pods(pod("first", volumes=using("data")))
    cluster.wait_running(1)
    cluster.create_pods(pod("second", volumes=using("data")))
    assert cluster.wait_unschedulable("second").message == (
        "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
        f"access mode already in-use by another pod. {PREEMPTION} "
        "2 No preemption victims found for incoming pod."
    )
    cluster.api.delete(f"{cluster.pods_path}/first")
    wait_for(lambda: cluster.pod("second").node == "node-0", saying="the second to be bound")


def test_a_volume_of_another_zone(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """A label alone says where this one is."""
    storage = cluster.namespace
    cluster.create_nodes([node("node-0", labels={ZONE: "a"}), node("node-1", labels={ZONE: "b"})])
    cluster.wait_ready(["node-0", "node-1"])
    cluster.apply(storage_class(storage, delayed=False))
    make_available(cluster, volume(f"{storage}-v", storage, labels={ZONE: "c"}))
    cluster.apply(claim("data", storage))
    wait_for(lambda: is_bound(cluster, "data"), saying="the claim to be bound")
    start_mooring()
    cluster.create_pods(pod("db", volumes=using("data")))
    assert cluster.wait_unschedulable("db").message == (
        "0/2 nodes are available: 2 node(s) had no available volume zone. "
        f"{PREEMPTION} 2 Preemption is not helpful for scheduling."
    )
    cluster.create_nodes([node("node-2", labels={ZONE: "c"})])
    wait_for(lambda: cluster.pod("db").node == "node-2", saying="the pod to follow its volume")


def path_of(cluster: Cluster, name: str) -> str:
    return f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims/{name}"


def is_bound(cluster: Cluster, name: str) -> bool:
    return bool(cluster.api.get(path_of(cluster, name))["status"]["phase"] == "Bound")


def volume_of(cluster: Cluster, name: str) -> str:
    return str(cluster.api.get(path_of(cluster, name))["spec"]["volumeName"])
