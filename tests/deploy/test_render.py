"""The chart as helm renders it: the plain manifests by default, and what each value does to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.objects import (
    CHART,
    MANIFESTS,
    NAMESPACE,
    ROOT,
    Object,
    manifests,
    named,
    only,
    plain,
    read,
    rendered,
    run_helm,
    tool,
)
from mooring.app.making import make_engine, read_config
from mooring.plugins.catalogue import make_registry

HELM = tool("helm")
pytestmark = pytest.mark.skipif(HELM is None, reason="needs helm: set HELM, or build it for the e2e tests")


def render(*words: str, **also: str) -> list[Object]:
    assert HELM is not None
    return rendered(HELM, *words, **also)


def refusal(*words: str) -> str:
    assert HELM is not None
    ran = run_helm(HELM, "template", "mooring", str(CHART), "-n", NAMESPACE, *words)
    assert ran.returncode != 0
    return ran.stderr


def with_values(tmp_path: Path, values: Object) -> list[Object]:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return render("-f", str(file))


def pod_spec(objects: list[Object]) -> Object:
    spec: Object = only("Deployment", objects)["spec"]["template"]["spec"]
    return spec


def container(objects: list[Object]) -> Object:
    (found,) = pod_spec(objects)["containers"]
    result: Object = found
    return result


def config(objects: list[Object]) -> Object:
    (found,) = [each for each in objects if "scheduler.yaml" in each.get("data", {})]
    text: Object = yaml.safe_load(found["data"]["scheduler.yaml"])
    return text


def rules(objects: list[Object]) -> set[tuple[str, str, str]]:
    return {
        (rule["apiGroups"][0], rule["resources"][0], verb)
        for rule in only("ClusterRole", objects)["rules"]
        for verb in rule["verbs"]
    }


def test_lint_is_clean() -> None:
    assert HELM is not None
    ran = run_helm(HELM, "lint", "--strict", str(CHART))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "[WARNING]" not in ran.stdout


def test_without_values_the_chart_is_the_manifests() -> None:
    """But for the namespace, which helm makes."""
    ours = {name: plain(found) for name, found in named(manifests()).items() if found["kind"] != "Namespace"}
    assert {name: plain(found) for name, found in named(render()).items()} == ours


def test_the_monitor_is_the_one_of_the_manifests() -> None:
    monitor = only("ServiceMonitor", render("--set", "serviceMonitor.enabled=true"))
    assert [plain(monitor)] == read(MANIFESTS / "monitoring" / "servicemonitor.yaml")


def test_another_release_has_its_own_names() -> None:
    objects = render("--set", "schedulerName=gpu", release="gpu-mooring")
    assert {found["metadata"]["name"] for found in objects} == {
        "gpu-mooring",
        "gpu-mooring-authentication-reader",
    }
    assert config(objects)["leaderElection"]["resourceName"] == "gpu-mooring"
    assert only("Role", objects)["rules"][1]["resourceNames"] == ["gpu-mooring"]
    assert not set(named(objects)) & set(named(render()))


def test_a_release_that_is_called_otherwise() -> None:
    assert only("Deployment", render(release="prod"))["metadata"]["name"] == "prod-mooring"


def test_the_lease_of_kube_scheduler() -> None:
    lease = "leaderElection.resourceName=kube-scheduler,leaderElection.resourceNamespace=kube-system"
    objects = render("--set", lease)
    role, binding = only("Role", objects), named(objects)["RoleBinding kube-system/mooring"]
    assert role["metadata"]["namespace"] == "kube-system"
    assert role["rules"][2]["resourceNames"] == ["kube-scheduler"]
    assert binding["subjects"][0]["namespace"] == NAMESPACE


def test_alone_without_election() -> None:
    objects = render("--set", "replicas=1,leaderElection.enabled=false")
    assert config(objects)["leaderElection"]["leaderElect"] is False
    assert not [found for found in objects if found["kind"] == "Role"]
    assert "RoleBinding mooring-system/mooring" not in named(objects)


@pytest.mark.parametrize(
    ("switch", "gone"),
    [
        ("preemption", {("policy", "poddisruptionbudgets", "list")}),
        (
            "coscheduling",
            {
                ("scheduling.sigs.k8s.io", "podgroups", "create"),
                ("scheduling.k8s.io", "podgroups/status", "patch"),
            },
        ),
        ("podPatches", {("", "pods", "patch")}),
        ("interPodAffinity", {("", "namespaces", "watch")}),
        ("topologySpread", {("", "services", "list"), ("apps", "statefulsets", "watch")}),
        ("volumes", {("", "persistentvolumes", "patch"), ("storage.k8s.io", "csinodes", "list")}),
    ],
)
def test_rights_of_a_plugin_can_be_taken_away(switch: str, gone: set[tuple[str, str, str]]) -> None:
    every, fewer = rules(render()), rules(render("--set", f"rbac.{switch}=false"))
    assert fewer < every
    assert gone <= every - fewer
    assert {("", "pods", "get"), ("", "pods/binding", "create")} <= fewer


def test_client_certificates_can_be_left_out() -> None:
    reader = "RoleBinding kube-system/mooring-authentication-reader"
    assert reader in named(render())
    assert reader not in named(render("--set", "rbac.clientCertificates=false"))


def test_the_network_policy_is_the_one_of_the_manifests() -> None:
    found = only("NetworkPolicy", render("--set", "networkPolicy.enabled=true"))
    assert [plain(found)] == read(MANIFESTS / "network" / "networkpolicy.yaml")
    (pods,) = only("Deployment", render())["spec"]["template"]["spec"]["containers"]
    assert found["spec"]["ingress"][0]["ports"][0]["port"] in [port["name"] for port in pods["ports"]]


def test_a_network_policy_for_one_api_server(tmp_path: Path) -> None:
    peers = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    values = {"enabled": True, "metricsFrom": [], "apiServer": peers, "apiServerPorts": [8443]}
    spec = only("NetworkPolicy", with_values(tmp_path, {"networkPolicy": values}))["spec"]
    assert spec["ingress"] is None or spec["ingress"] == []
    assert spec["egress"][0] == {"ports": [{"port": 8443, "protocol": "TCP"}], "to": peers}


def test_rights_can_be_added(tmp_path: Path) -> None:
    racks = {"apiGroups": ["example.com"], "resources": ["racks"], "verbs": ["list", "watch"]}
    objects = with_values(tmp_path, {"rbac": {"extraRules": [racks]}})
    added = {("example.com", "racks", "list"), ("example.com", "racks", "watch")}
    assert rules(objects) - rules(render()) == added


def test_rights_are_somebody_elses() -> None:
    objects = render("--set", "rbac.create=false,serviceAccount.create=false,serviceAccount.name=theirs")
    kinds = {found["kind"] for found in objects}
    assert not {kind for kind in kinds if "Role" in kind or kind == "ServiceAccount"}
    assert pod_spec(objects)["serviceAccountName"] == "theirs"


def test_a_configuration_is_laid_over_the_charts_own(tmp_path: Path) -> None:
    profiles = [{"schedulerName": "mooring"}, {"schedulerName": "packed"}]
    objects = with_values(tmp_path, {"config": {"podMaxBackoffSeconds": 30, "profiles": profiles}})
    said = config(objects)
    assert said["profiles"] == profiles
    assert said["podMaxBackoffSeconds"] == 30
    assert said["leaderElection"] == config(render())["leaderElection"]
    file = tmp_path / "scheduler.yaml"
    file.write_text(yaml.safe_dump(said), encoding="utf-8")
    registry = make_registry()
    make_engine(read_config(file, registry), registry)


def test_a_change_of_what_is_read_at_the_start_restarts() -> None:
    def marks(*words: str) -> Any:
        return only("Deployment", render(*words))["spec"]["template"]["metadata"]["annotations"]

    assert marks() == marks("--set", "replicas=3")
    assert marks() != marks("--set", "schedulerName=other")
    one, other = (marks("--set", f"policies.files.a\\.py={text}") for text in ("x", "y"))
    assert one != other


def test_policies_are_mounted() -> None:
    file = ROOT / "examples" / "policies" / "off_spot.py"
    objects = render("--set-file", f"policies.files.off_spot\\.py={file}")
    (policies,) = [each for each in objects if each["metadata"]["name"] == "mooring-policies"]
    assert policies["data"]["off_spot.py"].rstrip() == file.read_text(encoding="utf-8").rstrip()
    mounts = {mount["name"]: mount["mountPath"] for mount in container(objects)["volumeMounts"]}
    assert f"--policies={mounts['policies']}" in container(objects)["args"]
    assert {"name": "policies", "configMap": {"name": "mooring-policies"}} in pod_spec(objects)["volumes"]


def test_a_certificate_is_mounted() -> None:
    objects = render("--set", "serving.tlsSecret=served")
    mounts = {mount["name"]: mount["mountPath"] for mount in container(objects)["volumeMounts"]}
    assert f"--tls-cert-file={mounts['tls']}/tls.crt" in container(objects)["args"]
    assert f"--tls-private-key-file={mounts['tls']}/tls.key" in container(objects)["args"]
    assert {"name": "tls", "secret": {"secretName": "served"}} in pod_spec(objects)["volumes"]


def test_flags_follow_values() -> None:
    values = "serving.port=8443,serving.bindAddress=::,logging.format=json,logging.verbosity=4"
    objects = render("--set", values, "--set", "extraArgs={--seed=7}")
    flags = ["--secure-port=8443", "--bind-address=::", "--logging-format=json", "--v=4", "--seed=7"]
    assert container(objects)["args"][2:] == flags
    assert container(objects)["ports"][0]["containerPort"] == 8443
    assert only("Service", objects)["spec"]["ports"][0]["port"] == 8443


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ("image.repository=example.com/m,image.tag=9.1.0", "example.com/m:9.1.0"),
        (f"image.digest=sha256:{'a' * 64}", f"mooring@sha256:{'a' * 64}"),
    ],
)
def test_images(values: str, image: str) -> None:
    assert container(render("--set", values))["image"] == image


def test_what_a_cluster_wants_of_its_pods(tmp_path: Path) -> None:
    values: Object = {
        "nodeSelector": {"role": "system"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [],
        "imagePullSecrets": [{"name": "key"}],
        "priorityClassName": "",
        "podSchedulerName": "theirs",
        "podLabels": {"team": "a"},
        "podAnnotations": {"note": "b"},
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "extraEnv": [{"name": "A", "value": "1"}],
        "resources": {"limits": None},
    }
    objects = with_values(tmp_path, values)
    spec = pod_spec(objects)
    for same in ("nodeSelector", "tolerations", "affinity", "imagePullSecrets"):
        assert spec[same] == values[same]
    assert spec["schedulerName"] == "theirs"
    assert not {"priorityClassName", "topologySpreadConstraints"} & set(spec)
    template = only("Deployment", objects)["spec"]["template"]["metadata"]
    assert template["labels"]["team"] == "a"
    assert template["annotations"]["note"] == "b"
    assert spec["volumes"][-1]["name"] == "more"
    assert container(objects)["volumeMounts"][-1]["mountPath"] == "/more"
    assert container(objects)["env"] == values["extraEnv"]
    assert set(container(objects)["resources"]) == {"requests"}


def test_objects_that_can_be_left_out_or_asked_for() -> None:
    fewer = render("--set", "podDisruptionBudget.enabled=false,service.enabled=false")
    assert {found["kind"] for found in render()} - {found["kind"] for found in fewer} == {
        "PodDisruptionBudget",
        "Service",
    }
    quota = only("ResourceQuota", render("--set", "priorityQuota.enabled=true"))["spec"]
    assert quota["scopeSelector"]["matchExpressions"][0]["values"] == ["system-cluster-critical"]
    assert int(quota["hard"]["pods"]) > 2
    both = only(
        "ServiceMonitor", render("--set", "serviceMonitor.enabled=true,serviceMonitor.resources=true")
    )
    assert [end["path"] for end in both["spec"]["endpoints"]] == ["/metrics", "/metrics/resources"]


def test_the_test_is_a_pod_of_moorings() -> None:
    assert HELM is not None
    ran = run_helm(HELM, "template", "mooring", str(CHART), "--set", "schedulerName=other")
    pod = only("Pod", [found for found in yaml.safe_load_all(ran.stdout) if found])
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod["spec"]["schedulerName"] == "other"
    assert pod["spec"]["containers"][0]["image"] == container(render())["image"]
    selected = only("PodDisruptionBudget", render())["spec"]["selector"]["matchLabels"]
    assert not selected.items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ("replica=3", "replica"),
        ("logging.format=xml", "format"),
        ("leaderElection.leaseDuration=15", "leaseDuration"),
        ("leaderElection.enabled=false", "more than one without leaderElection.enabled"),
        ("config.leaderElection.leaderElect=false", "config.leaderElection: leave it out"),
        ("config.kind=x", "config.kind: leave it out"),
        ("schedulerName=default-scheduler", "Mooring cannot place its own pods"),
        ("config.profiles[0].schedulerName=default-scheduler", "Mooring cannot place its own pods"),
        ("serviceMonitor.enabled=true,service.enabled=false", "needs service.enabled"),
        ("policies.files.a\\.py=x,policies.existingConfigMap=b", "not both"),
        ("policies.files.a\\.txt=x", "a.txt"),
        ("serviceAccount.create=false", "serviceAccount.name"),
        ("extraArgs={run}", "extraArgs"),
        ("image.digest=latest", "digest"),
    ],
)
def test_mistakes_are_refused(values: str, what: str) -> None:
    assert what in refusal("--set", values)


def test_pods_are_deleted_for_preemption_and_for_gangs() -> None:
    def may_delete(*off: str) -> bool:
        words = ",".join(f"rbac.{name}=false" for name in off)
        return ("", "pods", "delete") in rules(render("--set", words))

    assert may_delete("preemption")
    assert may_delete("coscheduling")
    assert not may_delete("preemption", "coscheduling")


def test_pods_are_patched_for_gangs_and_for_policies() -> None:
    right = ("", "pods", "patch")
    assert right not in rules(render("--set", "rbac.coscheduling=false"))
    assert right in rules(render("--set", "rbac.coscheduling=false,rbac.podPatches=true"))
    both = only("ClusterRole", render("--set", "rbac.podPatches=true"))["rules"]
    assert [rule for rule in both if rule["resources"] == ["pods"] and rule["verbs"] == ["patch"]] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}
    ]


def test_definitions_are_an_option_and_outlive_the_release() -> None:
    definitions = [
        found for found in render("--set", "crds.install=true") if found["kind"] == "CustomResourceDefinition"
    ]
    for found in definitions:
        assert found["metadata"]["annotations"].pop("helm.sh/resource-policy") == "keep"
    ours = named(read(*sorted((ROOT / "deploy" / "crds").iterdir())))
    assert {name: plain(found) for name, found in named(definitions).items()} == ours
    assert not [found for found in render() if found["kind"] == "CustomResourceDefinition"]
