"""The plain manifests: they parse, agree with each other, and ask for nothing privileged."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.objects import (
    CHART,
    MANIFESTS,
    NAMESPACE,
    ROOT,
    STATIC_POD,
    Object,
    manifests,
    named,
    only,
    read,
    tool,
)
from mooring.app.making import make_engine, read_config
from mooring.plugins.catalogue import make_registry

KUBECTL = tool("kubectl")
LABELS = {"app.kubernetes.io/name": "mooring", "app.kubernetes.io/instance": "mooring"}
POD_SPEC: Object = only("Deployment", manifests())["spec"]["template"]["spec"]
STATIC_SPEC: Object = read(STATIC_POD)[0]["spec"]


def test_every_object_is_there_once() -> None:
    objects = manifests()
    assert sorted(named(objects)) == sorted(
        [
            "ClusterRole /mooring",
            "ClusterRoleBinding /mooring",
            "ConfigMap mooring-system/mooring",
            "Deployment mooring-system/mooring",
            "Namespace /mooring-system",
            "PodDisruptionBudget mooring-system/mooring",
            "Role mooring-system/mooring",
            "RoleBinding kube-system/mooring-authentication-reader",
            "RoleBinding mooring-system/mooring",
            "Service mooring-system/mooring",
            "ServiceAccount mooring-system/mooring",
        ]
    )
    assert len(named(objects)) == len(objects)


def test_the_namespace_comes_first() -> None:
    assert manifests()[0]["kind"] == "Namespace"


def test_kustomization_names_every_file() -> None:
    listed = yaml.safe_load((MANIFESTS / "Kustomization").read_text(encoding="utf-8"))["resources"]
    assert listed == [file.name for file in sorted(MANIFESTS.glob("*.yaml"))]


@pytest.mark.skipif(KUBECTL is None, reason="needs kubectl; `make e2e` builds it")
def test_kustomize_builds_the_same_objects() -> None:
    built = subprocess.run(
        [str(KUBECTL), "kustomize", MANIFESTS], capture_output=True, check=True, timeout=60
    )
    assert named(yaml.safe_load_all(built.stdout)) == named(manifests())


def test_bindings_bind_their_role_to_the_account() -> None:
    bindings = [each for each in manifests() if each["kind"].endswith("Binding")]
    assert {each["roleRef"]["name"] for each in bindings} == {
        "mooring",
        "extension-apiserver-authentication-reader",
    }
    for found in bindings:
        assert found["roleRef"]["kind"] == found["kind"].removesuffix("Binding")
        assert found["subjects"] == [{"kind": "ServiceAccount", "name": "mooring", "namespace": NAMESPACE}]
    assert POD_SPEC["serviceAccountName"] == only("ServiceAccount", manifests())["metadata"]["name"]


def test_selectors_find_the_pods() -> None:
    objects = manifests()
    deployment = only("Deployment", objects)["spec"]
    assert deployment["template"]["metadata"]["labels"] == LABELS
    assert deployment["selector"]["matchLabels"] == LABELS
    assert only("PodDisruptionBudget", objects)["spec"]["selector"]["matchLabels"] == LABELS
    assert only("Service", objects)["spec"]["selector"] == LABELS
    spread = POD_SPEC["topologySpreadConstraints"]
    assert [one["labelSelector"]["matchLabels"] for one in spread] == [LABELS, LABELS]


def test_the_monitor_finds_the_service() -> None:
    (monitor,) = read(MANIFESTS / "monitoring" / "servicemonitor.yaml")
    service = only("Service", manifests())
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [one["port"] for one in monitor["spec"]["endpoints"]] == [service["spec"]["ports"][0]["name"]]
    assert monitor["metadata"]["namespace"] == service["metadata"]["namespace"]


def test_volumes_and_mounts_agree() -> None:
    config = only("ConfigMap", manifests())
    container = POD_SPEC["containers"][0]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in POD_SPEC["volumes"]}
    assert POD_SPEC["volumes"][0]["configMap"]["name"] == config["metadata"]["name"]
    (file,) = config["data"]
    assert f"--config={mounts['config']}/{file}" in container["args"]


def test_the_port_is_one_and_the_same() -> None:
    container = POD_SPEC["containers"][0]
    (port,) = container["ports"]
    assert f"--secure-port={port['containerPort']}" in container["args"]
    assert only("Service", manifests())["spec"]["ports"][0]["targetPort"] == port["name"]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"


@pytest.mark.parametrize("probe", ["livenessProbe", "startupProbe"])
def test_only_readiness_waits_for_the_cluster(probe: str) -> None:
    """A replica that cannot be in sync yet must not be restarted for it."""
    for container in POD_SPEC["containers"] + STATIC_SPEC["containers"]:
        assert container[probe]["httpGet"]["path"] == "/livez"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_configuration_has_no_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(only("ConfigMap", manifests())["data"]["scheduler.yaml"])
    registry = make_registry()
    config = read_config(file, registry)
    make_engine(config, registry)
    assert config.remarks == ()
    assert [plan.scheduler_name for plan in config.profiles] == ["mooring"]


def test_the_lease_is_the_one_the_role_names() -> None:
    config = yaml.safe_load(only("ConfigMap", manifests())["data"]["scheduler.yaml"])
    election, role = config["leaderElection"], only("Role", manifests())
    assert election["resourceNamespace"] == role["metadata"]["namespace"]
    named_rules = [rule["resourceNames"] for rule in role["rules"] if rule["verbs"] != ["create"]]
    assert named_rules == [[election["resourceName"]]] * 2


def test_the_namespace_is_restricted_and_the_pod_fits() -> None:
    """The rules of the Restricted profile that a pod can break."""
    labels = only("Namespace", manifests())["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    assert POD_SPEC["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(POD_SPEC)
    assert {key for volume in POD_SPEC["volumes"] for key in volume} == {"name", "configMap", "emptyDir"}


@pytest.mark.parametrize("spec", [POD_SPEC, STATIC_SPEC], ids=["deployment", "static pod"])
def test_containers_have_no_privileges(spec: dict[str, Any]) -> None:
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "hostPort" not in container["ports"][0]
    writable = [mount["name"] for mount in spec["containers"][0]["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["tmp"]


def test_replicas_survive_a_drain_and_an_update() -> None:
    deployment = only("Deployment", manifests())["spec"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert only("PodDisruptionBudget", manifests())["spec"]["maxUnavailable"] == 1


def test_the_image_is_of_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    images = {container["image"] for container in POD_SPEC["containers"] + STATIC_SPEC["containers"]}
    assert images == {f"mooring:{version}"}


def test_the_final_image_has_a_numbered_user_and_pinned_bases() -> None:
    """runAsNonRoot can only be checked against a number; a tag may be another image tomorrow."""
    lines = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    (base,) = [line.removeprefix("ARG BASE=") for line in lines if line.startswith("ARG BASE=")]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}", base)
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert set(bases) == {"${BASE}", "whole"}
    assert lines[-2:] == ["FROM whole", "USER 65532:65532"]


def test_the_flags_are_those_of_mooring_run() -> None:
    """In the manifests, in the chart and on the page."""
    from mooring.cli.run import command

    known = {name for parameter in command.params for name in parameter.opts}
    args = [arg for spec in (POD_SPEC, STATIC_SPEC) for arg in spec["containers"][0]["args"]]
    assert {arg.split("=")[0] for arg in args if arg != "run"} <= known
    template = (CHART / "templates" / "deployment.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"(?<= |\")--[a-z-]+(?==)", template)) <= known
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    table = page.split("### Flags")[1].split("\n## ")[0]
    assert set(re.findall(r"(?<=`)--[a-z-]+", table)) <= known
