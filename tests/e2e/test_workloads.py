"""What people create with kubectl runs: Deployments, StatefulSets with volumes, Jobs, DaemonSets.

Who placed a pod is said by the Event about it: Mooring serves a profile of its own name here.
"""

from __future__ import annotations

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.scheduler import StartScheduler
from e2e.state import Pod
from e2e.storage import Provisioner, storage_class, volume
from e2e.waiting import wait_for
from e2e.workloads import daemon_set, deployment, job, stateful_set

MOORING: Object = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "mooring"}],
}


def test_a_deployment_a_job_and_a_daemon_set_run(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(3, cpu=2)
    start_mooring(MOORING)
    cluster.apply(
        deployment("web", 3, cpu="1200m", schedulerName="mooring"),
        job("sums", 4, parallelism=2, schedulerName="mooring"),
        daemon_set("agent", schedulerName="mooring"),
    )
    web, agents = cluster.wait_running(3, "app=web"), cluster.wait_running(3, "app=agent")
    cluster.kubectl("wait", "--for=condition=complete", "job/sums", "--timeout=30s")
    sums = cluster.pods("app=sums")
    assert {pod.node for pod in web} == {pod.node for pod in agents} == {"node-0", "node-1", "node-2"}
    cluster.state().check_no_overcommit()
    for pod in (*web, *agents, *sums):
        placed_by_mooring(cluster, pod)


def test_a_daemon_set_follows_new_nodes(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1)
    start_mooring(MOORING)
    cluster.apply(daemon_set("agent", schedulerName="mooring"))
    cluster.wait_running(1)
    cluster.add_nodes(2, "late")
    pods = cluster.wait_running(3)
    assert sorted(pod.node for pod in pods) == ["late-0", "late-1", "node-0"]


def test_a_stateful_set_gets_the_local_volumes_there_are(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    """Only two nodes have a volume: the pods go there, one each, though a third node is empty."""
    cluster.add_nodes(3)
    storage = cluster.namespace
    volumes = [volume(f"{storage}-{node}", storage, node=node) for node in ("node-0", "node-2")]
    cluster.apply(storage_class(storage), *volumes)
    start_mooring(MOORING)
    cluster.apply(with_volumes(stateful_set("db", 2, schedulerName="mooring"), storage))
    pods = cluster.wait_running(2, "app=db")
    assert {pod.node for pod in pods} == {"node-0", "node-2"}
    for pod in pods:
        assert volume_of(cluster, f"data-{pod.name}") == f"{storage}-{pod.node}"
        placed_by_mooring(cluster, pod)


def test_a_stateful_set_gets_volumes_made_where_its_pods_go(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    cluster.add_nodes(2, cpu=1)
    storage = cluster.namespace
    cluster.apply(storage_class(storage, "example.com/played"))
    start_mooring(MOORING)
    with Provisioner(cluster, storage) as provisioner:
        cluster.apply(with_volumes(stateful_set("db", 2, cpu="600m", schedulerName="mooring"), storage))
        pods = cluster.wait_running(2, "app=db")
    assert {pod.node for pod in pods} == {"node-0", "node-1"}  # one alone has no room for both
    assert provisioner.selected == {f"data-{pod.name}": pod.node for pod in pods}
    for pod in pods:
        placed_by_mooring(cluster, pod)


def with_volumes(made: Object, storage: str) -> Object:
    """A StatefulSet whose pods have a volume `data` each."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": spec}]
    return made


def volume_of(cluster: Cluster, claim: str) -> str:
    path = f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims/{claim}"
    found = cluster.api.get(path)
    assert found["status"]["phase"] == "Bound"
    return str(found["spec"]["volumeName"])


def placed_by_mooring(cluster: Cluster, pod: Pod) -> None:
    def told() -> list[Object]:
        return [event for event in cluster.events(pod.name) if event["reason"] == "Scheduled"]

    (event,) = wait_for(told, saying=f"an Event about {pod.name}")
    assert event["reportingController"] == "mooring"
    assert event["note"] == f"Successfully assigned {pod.key} to {pod.node}"
    assert event["regarding"]["uid"] == pod.uid
