"""What `deploy/` installs, installed: by kubectl and by helm, on a control plane of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import run

import pytest
import yaml

from deploy.objects import MANIFESTS, NAMESPACE, ROOT, STATIC_POD, manifests, named, only, plain, read
from e2e.api import Object
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.deployed import CHART, Helm, Replica
from e2e.mooring_process import mooring
from e2e.process import LOOPBACK, free_ports
from e2e.scheduler import Scheduler
from e2e.waiting import wait_for
from e2e.workloads import pod, priority_class

MONITORING = MANIFESTS / "monitoring"
OWN_ACCOUNT = f"system:serviceaccount:{NAMESPACE}:mooring"
EXAMPLE = ROOT / "examples" / "deploy"
IN = ("-n", NAMESPACE)
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/mooring"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/mooring"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Its own, because what is installed here has the names that other tests' Moorings have as well."""
    with ControlPlane(tmp_path_factory.mktemp("deployed")) as made:
        yield made


@pytest.fixture
def share(plane: ControlPlane) -> Iterator[Cluster]:
    """An empty cluster, with nodes. Who has pods on them asks for it first: nodes go last."""
    made = Cluster(plane)
    made.add_nodes(3)
    yield made
    made.clean()


@pytest.fixture
def started() -> Iterator[ExitStack]:
    """Ends what is entered into it."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def applied(plane: ControlPlane) -> Iterator[ControlPlane]:
    plane.kubectl("apply", "-f", MANIFESTS)
    yield plane
    plane.kubectl("delete", "-f", MANIFESTS, "--ignore-not-found")


@pytest.fixture
def helm(plane: ControlPlane) -> Iterator[Helm]:
    """The chart is taken away afterwards."""
    made = Helm(plane)
    yield made
    made.run("uninstall", "mooring", *IN, "--wait")
    plane.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


def install(helm: Helm, *words: str) -> str:
    return helm("install", "mooring", CHART, *IN, "--create-namespace", *words)


def default_scheduler(plane: ControlPlane) -> Scheduler:
    """Who places Mooring's own pods; a Mooring is at hand."""
    return mooring(plane, kubeconfig=plane.user("system:kube-scheduler"))


def objects_of(plane: ControlPlane) -> set[str]:
    """Everything of Mooring's there is, by kind and name."""
    kinds = "serviceaccount,configmap,deployment,service,poddisruptionbudget,role,rolebinding"
    label = "-l=app.kubernetes.io/name=mooring"
    inside = plane.kubectl("get", kinds, *IN, label, "-o=name")
    outside = plane.kubectl("get", "clusterrole,clusterrolebinding", label, "-o=name")
    return set((inside + outside).split())


EVERYTHING = {
    "clusterrole.rbac.authorization.k8s.io/mooring",
    "clusterrolebinding.rbac.authorization.k8s.io/mooring",
    "configmap/mooring",
    "deployment.apps/mooring",
    "poddisruptionbudget.policy/mooring",
    "role.rbac.authorization.k8s.io/mooring",
    "rolebinding.rbac.authorization.k8s.io/mooring",
    "service/mooring",
    "serviceaccount/mooring",
}


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
    assert not may("patch", "pods", "-A")
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


def test_helm_installs_upgrades_rolls_back_and_takes_away(plane: ControlPlane, helm: Helm) -> None:
    install(helm, "--set", "image.repository=registry.example.com/mooring")
    assert objects_of(plane) == EVERYTHING
    assert image(plane) == "registry.example.com/mooring:0.1.0"
    helm("upgrade", "mooring", CHART, *IN, "--reuse-values", "--set", "image.tag=0.2.0")
    assert image(plane) == "registry.example.com/mooring:0.2.0"
    before = template(plane)
    helm("upgrade", "mooring", CHART, *IN, "--reuse-values", "--set", "schedulerName=other")
    assert template(plane) != before  # else the replicas would not restart, and never read it
    helm("rollback", "mooring", "1", *IN)
    assert image(plane) == "registry.example.com/mooring:0.1.0"
    helm("uninstall", "mooring", *IN, "--wait")
    assert objects_of(plane) == set()
    assert plane.api.exists(f"/api/v1/namespaces/{NAMESPACE}")


def template(plane: ControlPlane) -> object:
    return plane.api.get(DEPLOYMENT)["spec"]["template"]


def image(plane: ControlPlane) -> str:
    return str(plane.api.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"])


def test_helm_installs_what_the_manifests_say(plane: ControlPlane, helm: Helm) -> None:
    """To the API server they are the same objects, its defaults included."""
    plane.kubectl("create", "namespace", NAMESPACE)
    chart = helm("template", "mooring", CHART, *IN, "--no-hooks", "--validate")
    ours = [found for found in manifests() if found["kind"] != "Namespace"]
    assert as_made(plane, chart) == as_made(plane, yaml.safe_dump_all(ours))


def as_made(plane: ControlPlane, text: str) -> dict[str, Object]:
    """Objects as the API server would have them, without who made them when."""
    words = ("create", "--dry-run=server", "--validate=strict", "-o=yaml", "-f", "-")
    made = named(plain(found) for found in yaml.safe_load_all(plane.kubectl(*words, input=text)))
    for found in made.values():
        found["metadata"] = {name: found["metadata"].get(name) for name in ("name", "namespace", "labels")}
    return made


def test_a_policy_by_helm_runs(
    plane: ControlPlane, share: Cluster, helm: Helm, started: ExitStack, tmp_path: Path
) -> None:
    install(helm)
    policy = ROOT / "examples" / "policies" / "off_spot.py"
    helm(
        *("upgrade", "mooring", CHART, *IN, "--reuse-values"),
        *("--set-file", f"policies.files.off_spot\\.py={policy}"),
    )
    replica = started.enter_context(Replica(plane, tmp_path))
    spot = {"kai.scheduler/instance-type": "spot"}
    share.add_nodes(1, "spot", labels=spot)
    share.apply(priority_class("stays", 1000))
    share.create_pods(pod("waits", schedulerName="mooring", nodeSelector=spot, priorityClassName="stays"))
    assert "node(s) were spot instances" in share.wait_unschedulable("waits").message
    assert "forbidden" not in replica.output()


def test_helm_tests_it(
    plane: ControlPlane, share: Cluster, helm: Helm, started: ExitStack, tmp_path: Path
) -> None:
    install(helm)
    started.enter_context(Replica(plane, tmp_path))
    testing = helm.begin("test", "mooring", *IN, "--timeout=60s")
    path = f"{PODS}/mooring-test-scheduled"
    wait_for(lambda: plane.api.exists(path), saying="the test's pod")
    plane.api.patch(path, {"metadata": {"annotations": {"e2e/run-for": "0s"}}})
    said, _ = testing.communicate(timeout=90)
    assert testing.returncode == 0, said
    assert "Phase:          Succeeded" in said


MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"plural": "servicemonitors", "singular": "servicemonitor", "kind": "ServiceMonitor"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}
ENDPOINT = {
    **{name: {"type": "string"} for name in ("port", "path", "scheme", "interval", "bearerTokenFile")},
    "tlsConfig": {"type": "object", "properties": {"insecureSkipVerify": {"type": "boolean"}}},
}


def monitors() -> object:
    """The kind, as far as it is used: the API server refuses a field that is not in here."""
    labels = {"type": "object", "additionalProperties": {"type": "string"}}
    selector = {"type": "object", "properties": {"matchLabels": labels}}
    endpoints = {"type": "array", "items": {"type": "object", "properties": ENDPOINT}}
    spec = {"type": "object", "properties": {"selector": selector, "endpoints": endpoints}}
    made = json.loads(json.dumps(MONITORS))
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    made["spec"]["versions"][0]["schema"] = schema
    return made


def test_the_monitor_is_accepted_where_its_kind_is(plane: ControlPlane, helm: Helm) -> None:
    plane.kubectl.apply(monitors())
    plane.kubectl("wait", "--for=condition=Established", f"crd/{MONITORS['metadata']['name']}")
    install(helm)
    plane.kubectl("apply", "--validate=strict", "-f", MONITORING)
    plane.kubectl("delete", "-f", MONITORING)
    helm(
        *("upgrade", "mooring", CHART, *IN, "--reuse-values"),
        *("--set", "serviceMonitor.enabled=true,serviceMonitor.resources=true"),
    )
    path = f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/servicemonitors/mooring"
    found = plane.api.get(path)["spec"]["endpoints"]
    assert [each["path"] for each in found] == ["/metrics", "/metrics/resources"]


def test_the_static_pod_is_accepted(plane: ControlPlane) -> None:
    plane.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", STATIC_POD)


def test_the_static_pod_s_words_serve_with_kube_scheduler_s_rights(
    plane: ControlPlane, share: Cluster, started: ExitStack
) -> None:
    (port,) = free_ports(1)
    here = {
        "--kubeconfig": str(plane.user("system:kube-scheduler")),
        "--secure-port": str(port),
        "--bind-address": LOOPBACK,
    }
    args = only("Pod", read(STATIC_POD))["spec"]["containers"][0]["args"]
    flags = [word.partition("=") for word in args]
    words = [f"{flag}={here[flag]}" if flag in here else flag + by + value for flag, by, value in flags]
    command = [Path(sys.executable).with_name("mooring"), *words]
    running = started.enter_context(Scheduler("static-pod", command, plane.folder, port))
    share.create_pods(pod("web"), pod("huge", cpu="64"))
    share.wait_running(1)
    share.wait_unschedulable("huge")
    wait_for(lambda: len(share.events()) == 2, saying="both Events")
    lease = plane.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")
    assert lease["spec"]["holderIdentity"]
    assert running.stop() == 0
    assert "forbidden" not in running.output()


def test_from_a_checkout(plane: ControlPlane, share: Cluster, started: ExitStack) -> None:
    """As whoever `~/.kube/config` names, beside the cluster's own scheduler."""
    started.enter_context(mooring(plane, EXAMPLE / "scheduler.yaml", kubeconfig=plane.kubeconfig))
    share.apply(EXAMPLE / "pod.yaml")
    share.create_pods(pod("other"))
    share.wait_running(1)
    assert not share.pod("other").node
