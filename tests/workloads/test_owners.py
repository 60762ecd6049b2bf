"""The table of owners: which pods an object makes, and which gangs it declares."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.workloads.owners.expansion import expand, makes_pods
from mooring.workloads.owners.rows import Expansion
from mooring.workloads.owners.spark import memory_of
from mooring.workloads.owners.table import KINDS

TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def made(api_version: str, kind: str, spec: dict[str, Any], **meta: Any) -> Expansion:
    found = expand({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", **meta}, "spec": spec})
    assert found is not None
    return found


def volcano(**spec: Any) -> Expansion:
    tasks = [{"name": "m", "template": TEMPLATE}, {"name": "w", "replicas": 3, "template": TEMPLATE}]
    return made("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks, **spec})


def test_a_kind_is_that_of_its_group() -> None:
    assert makes_pods("batch.volcano.sh/v1beta2", "Job")
    assert not makes_pods("batch/v1", "Job")
    assert not makes_pods("example.com/v1", "Job")
    assert len({(row.group, row.kind) for row in KINDS}) == len(KINDS)


@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)
@pytest.mark.parametrize("spec", [None, [], "text", {}, {"template": None}, {"replicas": "many"}])
def test_nothing_is_made_of_nonsense(row: Any, spec: Any) -> None:
    expand({"apiVersion": f"{row.group}/v1", "kind": row.kind, "metadata": {"name": "x"}, "spec": spec})


def test_the_gang_of_a_volcano_job() -> None:
    [gang] = volcano().gangs
    assert (gang.name, gang.least, gang.parts) == ("x", 4, {"m": 1, "w": 3})
    [gang] = volcano(minAvailable=2, networkTopology={"mode": "hard", "highestTierAllowed": 1}).gangs
    assert (gang.least, gang.topology) == (2, {"mode": "hard", "highestTierAllowed": 1})
    tasks = [{"name": "w", "replicas": 3, "minAvailable": 2, "template": TEMPLATE}]
    [gang] = volcano(tasks=tasks).gangs
    assert (gang.least, gang.parts) == (2, {"w": 2})
    assert [one.template["spec"]["schedulerName"] for one in volcano().sets] == ["volcano", "volcano"]


def test_topology_annotations_of_kai_are_the_gangs() -> None:
    template = {"spec": {**TEMPLATE["spec"], "schedulerName": "kai-scheduler"}}
    notes = {"kai.scheduler/topology": "net", "kai.scheduler/topology-required-placement": "rack"}
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}}
    [gang] = made("kubeflow.org/v1", "PyTorchJob", spec, annotations=notes).gangs
    assert (gang.dialect, gang.least) == ("kai-scheduler", 2)
    assert gang.topology == {"topology": "net", "requiredTopologyLevel": "rack"}


def test_jobs_in_order_are_gangs_of_their_own() -> None:
    template = {"spec": {**TEMPLATE["spec"], "schedulerName": "kai-scheduler"}}
    jobs = [{"name": n, "template": {"spec": {"parallelism": 2, "template": template}}} for n in "ab"]
    found = made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})
    assert [(gang.name, gang.least) for gang in found.gangs] == [("x", 4)]
    order = {"startupPolicyOrder": "InOrder"}
    found = made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs, "startupPolicy": order})
    assert [(gang.name, gang.least) for gang in found.gangs] == [("x-a", 2), ("x-b", 2)]
    assert [one.after for one in found.sets] == [(), (("a", "ready"),)]


def test_the_gangs_of_a_pod_clique_set() -> None:
    cliques = [
        {"name": "f", "spec": {"replicas": 3, "minAvailable": 2, "podSpec": TEMPLATE["spec"]}},
        {"name": "p", "spec": {"podSpec": TEMPLATE["spec"]}},
    ]
    groups = [{"name": "g", "cliqueNames": ["p"], "replicas": 3, "minAvailable": 2}]
    template = {"cliques": cliques, "podCliqueScalingGroups": groups}
    found = made("grove.io/v1alpha1", "PodCliqueSet", {"replicas": 1, "template": template})
    assert {gang.name: gang.parts for gang in found.gangs} == {
        "x-0": {"x-0-f": 2, "x-0-g-0-p": 1, "x-0-g-1-p": 1},
        "x-0-g-0": {"x-0-g-2-p": 1},
    }


def test_what_a_spark_application_asks_for() -> None:
    gpu = {"name": "nvidia.com/gpu", "quantity": 1}
    spec = {"driver": {"memory": "4g", "coreRequest": "500m"}, "executor": {"cores": 2, "gpu": gpu}}
    driver, executor = (
        one.template["spec"]["containers"][0]["resources"]["requests"]
        for one in made("sparkoperator.k8s.io/v1beta2", "SparkApplication", spec).sets
    )
    assert driver == {"cpu": "500m", "memory": str(4 * 2**30 + 429496730)}
    assert executor == {"cpu": "2", "memory": str((1024 + 384) * 2**20), "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("text", "mib"), [("512m", 512), ("1g", 1024), ("2048", 2048), ("1Gb", 1024), ("2Gi", 2048), ("x", None)]
)
def test_memory_as_the_jvm_writes_it(text: str, mib: int | None) -> None:
    found = memory_of(text)
    assert found == (None if mib is None else mib * 2**20)
