"""The control plane the other tests stand on: what it serves, and that pods live on its nodes."""

from __future__ import annotations

from e2e import binaries
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.nodes import node
from e2e.scheduler import StartScheduler
from e2e.state import State
from e2e.waiting import holds, wait_for
from e2e.workloads import deployment, job, pod


def test_it_says_which_version_it_is(control_plane: ControlPlane) -> None:
    assert control_plane.api.get("/version")["gitVersion"] == binaries.PROGRAMS["kube-apiserver"].version


def test_a_user_without_a_role_may_nothing(control_plane: ControlPlane) -> None:
    nobody = control_plane.user("nobody")
    said = control_plane.kubectl.run("--kubeconfig", nobody, "get", "pods")
    assert 'User "nobody" cannot list resource "pods"' in said.stderr


def test_nodes_have_what_was_asked_for(cluster: Cluster) -> None:
    cluster.add_nodes(
        2, cpu=3, labels={"zone": "a"}, taints=["gpu=yes:NoSchedule"], extra={"example.com/gpu": "2"}
    )
    seen = cluster.state().nodes["node-1"]
    assert seen["status"]["allocatable"] == {
        "cpu": "3",
        "memory": "16Gi",
        "pods": "110",
        "example.com/gpu": "2",
    }
    assert seen["metadata"]["labels"]["zone"] == "a"
    assert seen["spec"]["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]


def test_without_a_scheduler_a_pod_waits(cluster: Cluster) -> None:
    cluster.add_nodes(1)
    cluster.create_pods(pod("alone"))
    assert cluster.pod("alone").phase == "Pending"
    assert cluster.pod("alone").node == ""


def test_a_deployment_runs(cluster: Cluster, start_kube_scheduler: StartScheduler) -> None:
    cluster.add_nodes(3, cpu=2)
    start_kube_scheduler()
    cluster.apply(deployment("web", 3, cpu="1500m"))
    pods = cluster.wait_running(3, "app=web")
    state = cluster.state()
    state.check_no_overcommit()
    state.check_none_lost(pod.key for pod in pods)
    assert set(state.spread().values()) == {1}


def test_a_pod_that_fits_nowhere_says_so(cluster: Cluster, start_kube_scheduler: StartScheduler) -> None:
    cluster.add_nodes(2)
    start_kube_scheduler()
    cluster.create_pods(pod("huge", cpu="64"))
    assert cluster.wait_unschedulable("huge").message.startswith(
        "0/2 nodes are available: 2 Insufficient cpu."
    )
    wait_for(lambda: cluster.events("huge"), saying="an event")


def test_a_job_completes(cluster: Cluster, start_kube_scheduler: StartScheduler) -> None:
    cluster.add_nodes(1)
    start_kube_scheduler()
    cluster.apply(job("sums", 4, parallelism=2))
    cluster.kubectl("wait", "--for=condition=complete", "job/sums", "--timeout=30s")
    assert {pod.phase for pod in cluster.pods()} == {"Succeeded"}
    cluster.state().check_no_overcommit()


def test_pods_live_as_their_annotations_say(cluster: Cluster) -> None:
    """Bound by the test itself: no scheduler is needed for that."""
    (name,) = cluster.add_nodes(1)
    cluster.create_pods(
        pod("short", nodeName=name, annotations={"e2e/run-for": "100ms"}),
        pod("slow", nodeName=name, annotations={"e2e/never-start": "true"}),
        pod("lasting", nodeName=name, annotations={"e2e/end-after": "60s"}, terminationGracePeriodSeconds=90),
    )
    wait_for(lambda: cluster.pod("short").phase == "Succeeded")
    wait_for(lambda: cluster.pod("lasting").phase == "Running")
    assert cluster.pod("slow").phase == "Pending"
    cluster.api.delete(f"{cluster.pods_path}/lasting")
    assert cluster.pod("lasting").deleting


def test_a_deleted_pod_with_a_hook_or_a_finalizer_stays(cluster: Cluster) -> None:
    """The hook for its grace period, the finalizer until somebody takes it away: as with a kubelet."""
    (name,) = cluster.add_nodes(1)
    plain, held, hooked = (pod(each, nodeName=name) for each in ("plain", "held", "hooked"))
    held["metadata"]["finalizers"] = ["example.com/held"]
    hooked["spec"]["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": 79}}}
    hooked["spec"]["terminationGracePeriodSeconds"] = 80
    cluster.create_pods(plain, held, hooked)
    cluster.wait_running(3)
    cluster.api.send("DELETE", cluster.pods_path, {})
    wait_for(lambda: {each.name for each in cluster.pods()} == {"held", "hooked"}, saying="plain to go")
    assert all(each.deleting and each.phase == "Running" for each in cluster.pods())
    cluster.api.patch(f"{cluster.pods_path}/held", {"metadata": {"finalizers": None}})
    wait_for(lambda: [each.name for each in cluster.pods()] == ["hooked"], saying="held to go")


def test_who_has_the_name_of_a_deleted_pod_stays(cluster: Cluster) -> None:
    """Deleted at once or with a grace period: what ends a pod never ends the next of its name."""
    (name,) = cluster.add_nodes(1)
    manifests = [pod(f"again-{number}", nodeName=name) for number in range(20)]
    cluster.create_pods(*manifests)
    cluster.wait_running(len(manifests))
    for number, manifest in enumerate(manifests):
        path = f"{cluster.pods_path}/{manifest['metadata']['name']}"
        cluster.api.delete(path, grace_seconds=number % 2)
        wait_for(lambda path=path: not cluster.api.exists(path), every=0.001, saying="the pod to go")
        cluster.create_pods(manifest)
    holds(lambda: len(cluster.pods()) == len(manifests), during=2, saying="every pod to stay")
    cluster.wait_running(len(manifests))


def test_the_api_server_comes_back(control_plane: ControlPlane, cluster: Cluster) -> None:
    cluster.add_nodes(1)
    control_plane.restart_apiserver()
    assert list(cluster.state().nodes) == ["node-0"]


def test_a_node_that_is_not_ready_is_tainted_until_it_is(cluster: Cluster) -> None:
    cluster.create_nodes([node("late", ready=False)])
    wait_for(lambda: "node.kubernetes.io/not-ready" in taints(cluster, "late"), saying="the taint")
    cluster.kubectl("annotate", "node", "late", "e2e/never-ready-")
    cluster.wait_ready(["late"])
    assert taints(cluster, "late") == set()


def taints(cluster: Cluster, name: str) -> set[str]:
    return {each["key"] for each in cluster.state().nodes[name]["spec"].get("taints", ())}


def test_pods_of_one_test_are_gone_in_the_next(control_plane: ControlPlane, cluster: Cluster) -> None:
    before = Cluster(control_plane)
    before.add_nodes(1)
    before.create_pods(pod("left", nodeName="node-0", terminationGracePeriodSeconds=90))
    before.clean()
    assert cluster.state() == State({}, {})
