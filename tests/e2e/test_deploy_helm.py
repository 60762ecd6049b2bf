"""What the chart installs, installed by helm, on a control plane of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from deploy.objects import MANIFESTS, NAMESPACE, ROOT, manifests, named, plain
from e2e.api import Object
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.deployed import CHART, EVERYTHING, IN, Helm, Replica, objects_of
from e2e.gangs import CRDS, DEFINITIONS, X_K8S, definition, is_served
from e2e.waiting import wait_for
from e2e.workloads import pod, priority_class

MONITORING = MANIFESTS / "monitoring"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/mooring"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture
def helm(plane: ControlPlane) -> Iterator[Helm]:
    """The chart is taken away afterwards."""
    made = Helm(plane)
    yield made
    made.run("uninstall", "mooring", *IN, "--wait")
    plane.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


def install(helm: Helm, *words: str) -> str:
    return helm("install", "mooring", CHART, *IN, "--create-namespace", *words)


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


def test_definitions_are_not_installed_over_others_and_stay(plane: ControlPlane, helm: Helm) -> None:
    theirs = definition(X_K8S, "PodGroup", "podgroups")
    plane.api.create(DEFINITIONS, theirs)
    install(helm, "--set", "crds.install=true")
    wait_for(lambda: all(map(is_served, plane.api.items(DEFINITIONS))), saying="the kinds to be served")
    names = {file.stem for file in CRDS.iterdir()}
    assert {each["metadata"]["name"] for each in plane.api.items(DEFINITIONS)} == names
    ours = f"{DEFINITIONS}/podgroups.scheduling.sigs.k8s.io"
    uid = plane.api.get(ours)["metadata"]["uid"]
    helm("upgrade", "mooring", CHART, *IN, "--reuse-values", "--set", "image.tag=0.2.0")
    helm("upgrade", "mooring", CHART, *IN, "--reuse-values", "--set", "crds.install=false")
    helm("uninstall", "mooring", *IN, "--wait")
    assert plane.api.get(ours)["metadata"]["uid"] == uid
    install(helm, "--set", "crds.install=true")
    kept = plane.api.get(f"{DEFINITIONS}/podgroups.scheduling.x-k8s.io")
    assert "meta.helm.sh/release-name" not in kept["metadata"].get("annotations", {})
    assert "properties" not in kept["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for name in names:
        plane.api.delete(f"{DEFINITIONS}/{name}")


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
