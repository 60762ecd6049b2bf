"""What `deploy/manifests` installs, installed by kubectl, on a control plane of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import run
from urllib.error import HTTPError

import pytest
import yaml

from deploy.objects import MANIFESTS, NAMESPACE, ROOT, manifests, named, only
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.deployed import EVERYTHING, IN, Replica, objects_of
from e2e.mooring_process import mooring
from e2e.scheduler import Scheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

OWN_ACCOUNT = f"system:serviceaccount:{NAMESPACE}:mooring"
EXAMPLE = ROOT / "examples" / "deploy"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/mooring"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/mooring"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture
def applied(plane: ControlPlane) -> Iterator[ControlPlane]:
    plane.kubectl("apply", "-f", MANIFESTS)
    yield plane
    plane.kubectl("delete", "-f", MANIFESTS, "--ignore-not-found")


def default_scheduler(plane: ControlPlane) -> Scheduler:
    """Who places Mooring's own pods; a Mooring is at hand."""
    return mooring(plane, kubeconfig=plane.user("system:kube-scheduler"))


def test_kubectl_installs_it_and_takes_it_away(plane: ControlPlane) -> None:
    plane.kubectl("apply", "-f", MANIFESTS / "00-namespace.yaml")
    plane.kubectl("apply", "-f", MANIFESTS, "--dry-run=server")
    assert objects_of(plane) == set()
    plane.kubectl("apply", "-f", MANIFESTS)
    assert objects_of(plane) == EVERYTHING
    for how in ("-f", "-k"):
        said = plane.kubectl("apply", how, MANIFESTS).splitlines()
        changed = {line for line in said if not line.endswith("unchanged")}
        assert changed <= {"poddisruptionbudget.policy/mooring configured"}  # kubectl replaces selectors
        assert len(said) == len(EVERYTHING) + 1
    plane.kubectl("delete", "-f", MANIFESTS)
    assert not plane.api.exists(f"/api/v1/namespaces/{NAMESPACE}")
    assert objects_of(plane) == set()


def test_what_its_account_may(applied: ControlPlane) -> None:
    def may(*words: str) -> bool:
        done = applied.kubectl.run("auth", "can-i", *words, "--as", OWN_ACCOUNT)
        return done.stdout.strip() == "yes"

    assert may("list", "pods", "-A")
    assert may("create", "pods", "--subresource=binding", "-A")
    assert may("patch", "pods", "--subresource=status", "-A")
    assert may("update", "leases/mooring", *IN)
    assert not may("update", "leases/other", *IN)
    assert not may("get", "leases/kube-scheduler", "-n", "kube-system")
    assert not may("list", "leases", *IN)
    for verb in ("get", "list", "watch"):
        assert not may(verb, "secrets", "-A")
        assert not may(verb, "configmaps", *IN)
    assert may("patch", "pods", "-A")  # Coscheduling tells those that start together who they are
    assert not may("patch", "nodes")
    assert not may("create", "pods", "-A")
    said = applied.kubectl("auth", "can-i", "--list", "--as", OWN_ACCOUNT)
    assert "pods/binding" in said


def test_its_pods_are_admitted_and_run_apart(
    share: Cluster, applied: ControlPlane, started: ExitStack
) -> None:
    started.enter_context(default_scheduler(applied))
    assert "successfully rolled out" in applied.kubectl(
        *IN, "rollout", "status", "deployment/mooring", "--timeout=60s"
    )
    pods = applied.api.items(PODS)
    assert [each["status"]["phase"] for each in pods] == ["Running", "Running"]
    assert len({each["spec"]["nodeName"] for each in pods}) == 2
    budget = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/mooring"
    wait_for(lambda: applied.api.get(budget)["status"].get("disruptionsAllowed") == 1)
    applied.kubectl(*IN, "rollout", "restart", "deployment/mooring")
    applied.kubectl(*IN, "rollout", "status", "deployment/mooring", "--timeout=60s")
    applied.kubectl(*IN, "set", "image", "deployment/mooring", "mooring=registry.example.com/mooring:0.1.0")
    applied.kubectl(*IN, "rollout", "status", "deployment/mooring", "--timeout=60s")
    applied.kubectl(*IN, "rollout", "undo", "deployment/mooring")
    container = applied.api.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "mooring:0.1.0"


def test_the_namespace_refuses_who_asks_for_more(applied: ControlPlane) -> None:
    asks = json.dumps({**pod("root"), "metadata": {"name": "root"}})
    said = applied.kubectl.run(*IN, "apply", "-f", "-", "--dry-run=server", input=asks)
    assert 'violates PodSecurity "restricted:latest"' in said.stderr


def test_the_replicas_lead_in_turn(
    share: Cluster, applied: ControlPlane, started: ExitStack, tmp_path: Path
) -> None:
    """With the words of the Deployment, its ConfigMap, and the token of its account, as in a pod."""
    first = started.enter_context(Replica(applied, tmp_path))
    leader = wait_for(lambda: holder(applied), saying="the first replica to lead")
    second = started.enter_context(Replica(applied, tmp_path))
    assert holder(applied) == leader
    share.apply(EXAMPLE / "pod.yaml")
    share.wait_running(1)
    said = share.kubectl(
        "get", "events", "--field-selector", "reason=Scheduled,involvedObject.name=hello-mooring", "-o=yaml"
    )
    (event,) = yaml.safe_load(said)["items"]
    assert event["message"].startswith(f"Successfully assigned {share.namespace}/hello-mooring to node-")
    assert event["reportingComponent"] == "mooring"
    assert first.stop() == 0
    wait_for(lambda: holder(applied) not in ("", leader), saying="the other replica to lead")
    share.create_pods(pod("next", schedulerName="mooring"))
    share.wait_running(2)
    for each in (first, second):
        assert "forbidden" not in each.output()


def holder(plane: ControlPlane) -> str:
    if not plane.api.exists(LEASE):
        return ""
    return str(plane.api.get(LEASE)["spec"].get("holderIdentity", ""))


def test_the_configuration_passes_the_check(applied: ControlPlane, tmp_path: Path) -> None:
    text = applied.kubectl(*IN, "get", "configmap", "mooring", "-o=jsonpath={.data.scheduler\\.yaml}")
    file = tmp_path / "scheduler.yaml"
    file.write_text(text)
    checked = run([Path(sys.executable).with_name("mooring"), "check", file], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_an_overlay_names_another_image(plane: ControlPlane, tmp_path: Path) -> None:
    folder = os.path.relpath(MANIFESTS, tmp_path.resolve())
    image = {"name": "mooring", "newName": "registry.example.com/mooring", "newTag": "0.1.0"}
    overlay = {"resources": [folder], "images": [image]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    built = list(yaml.safe_load_all(plane.kubectl("kustomize", tmp_path)))
    (container,) = only("Deployment", built)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/mooring:0.1.0"
    assert named(built).keys() == named(manifests()).keys()


def test_who_may_read_metrics(applied: ControlPlane, started: ExitStack, tmp_path: Path) -> None:
    kubectl, paths = applied.kubectl, ("/metrics", "/metrics/resources")
    kubectl("create", "namespace", "monitoring")
    kubectl("-n", "monitoring", "create", "serviceaccount", "prometheus")
    token = kubectl("-n", "monitoring", "create", "token", "prometheus").strip()
    words = (
        "clusterrole",
        "mooring-metrics",
        "--verb=get",
        *(f"--non-resource-url={path}" for path in paths),
    )
    kubectl("create", *words)
    replica = started.enter_context(Replica(applied, tmp_path))
    with pytest.raises(HTTPError) as refused:
        replica.read("/metrics", token)
    assert refused.value.code == 403
    assert 'cannot get path \\"/metrics\\"' in refused.value.read().decode()
    account = "--serviceaccount=monitoring:prometheus"
    kubectl("create", "clusterrolebinding", "mooring-metrics", "--clusterrole=mooring-metrics", account)
    again = started.enter_context(Replica(applied, tmp_path))  # the first one remembers for a while
    assert "scheduler_pending_pods" in again.read("/metrics", token)
