"""TrainJobs: the JobSet their runtime describes, with the nodes and resources the TrainJob asks for."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.workloads.owners.by_paths import expanded
from mooring.workloads.owners.paths import at, mapping, mappings, number, word
from mooring.workloads.owners.rows import DeclaredGang, Expansion, Find
from mooring.workloads.owners.table import PLUGINS, VOLCANO, row_of

GROUP = "trainer.kubeflow.org"
RUNTIMES = tuple(f"{kind}.{GROUP}" for kind in ("TrainingRuntime", "ClusterTrainingRuntime"))
RUNTIME_POD_SPECS = "spec.template.spec.replicatedJobs[*].template.spec.template.spec"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER, NODE = "trainer", "node"
JOB_SET = "jobset.x-k8s.io/v1alpha2"
# what is left of a runtime that is not there: one job for the trainer's nodes
BARE = {
    "name": NODE,
    "template": {"spec": {"template": {"spec": {"containers": [{"name": NODE, "image": "trainer"}]}}}},
}


def read_train_job(data: dict[str, Any], find: Find) -> Expansion:
    meta = mapping(data, "metadata")
    name, namespace = str(meta.get("name") or ""), str(meta.get("namespace") or "")
    ref = mapping(data, "spec.runtimeRef")
    kind = str(ref.get("kind") or "ClusterTrainingRuntime")
    runtime = find(GROUP, kind, "" if kind == "ClusterTrainingRuntime" else namespace, str(ref.get("name")))
    remarks = () if runtime else (f'its {kind} "{ref.get("name")}" is not there: its nodes are made without',)
    spec = mapping(runtime, "spec")
    jobs = mappings(spec, "template.spec.replicatedJobs") or [BARE]
    nodes = number(data, "spec.trainer.numNodes")
    nodes = number(spec, "mlPolicy.numNodes", "numNodes") if nodes is None else nodes
    jobs = [_job(each, data, mapping(spec, "mlPolicy"), 1 if nodes is None else nodes) for each in jobs]
    job_set = {
        "apiVersion": JOB_SET,
        "kind": "JobSet",
        "metadata": {**mapping(spec, "template.metadata"), "name": name, "namespace": namespace},
        "spec": {**mapping(spec, "template.spec"), "replicatedJobs": jobs},
    }
    row = row_of(JOB_SET, "JobSet")
    assert row is not None, "TrainJobs are made as JobSets"
    return _as_gang(name, spec, replace(expanded(job_set, row), remarks=remarks))


def _job(job: dict[str, Any], data: dict[str, Any], policy: dict[str, Any], nodes: int) -> dict[str, Any]:
    """One of the runtime's jobs, with what the TrainJob says of it."""
    spec = mapping(job, "template.spec")
    pod = dict(mapping(spec, "template.spec"))
    for override in [*mappings(data, "spec.podTemplateOverrides"), *mappings(data, "spec.podSpecOverrides")]:
        if any(each.get("name") == job.get("name") for each in mappings(override, "targetJobs")):
            pod.update(mapping(override, "spec") or {k: v for k, v in override.items() if k != "targetJobs"})
    count = _nodes(job, policy, nodes)
    counts = {} if count is None else {"parallelism": count, "completions": count}
    resources = mapping(data, "spec.trainer.resourcesPerNode")
    if resources and (count is not None or _trains(job)):
        pod["containers"] = [_sized(each, resources) for each in mappings(pod, "containers")]
    template = {**mapping(spec, "template"), "spec": pod}
    return {**job, "template": {**mapping(job, "template"), "spec": {**spec, **counts, "template": template}}}


def _nodes(job: dict[str, Any], policy: dict[str, Any], nodes: int) -> int | None:
    """How many nodes a job has; None where the runtime says. With MPI a launcher, which may be one of them,
    stands beside the others."""
    if not mapping(policy, "mpi"):
        return nodes if _trains(job) else None
    if word(job, "name") != NODE:
        return None
    return max(nodes - 1, 0) if at(policy, "mpi.runLauncherAsNode") is True else nodes


def _trains(job: dict[str, Any]) -> bool:
    labels = mapping(job, "template.metadata.labels")
    return labels.get(STEP) == TRAINER if STEP in labels else word(job, "name") in (NODE, "trainer-node")


def _sized(container: dict[str, Any], resources: dict[str, Any]) -> dict[str, Any]:
    trains = container.get("name") in (NODE, "trainer")
    return {**container, "resources": resources} if trains else container


def _as_gang(name: str, spec: dict[str, Any], made: Expansion) -> Expansion:
    """All pods, by the policy of the runtime."""
    policy = mapping(spec, "podGroupPolicy")
    if made.gangs or not ({"coscheduling", "volcano"} & policy.keys()):
        return made
    gang = DeclaredGang(
        name=name,
        dialect=VOLCANO if "volcano" in policy else PLUGINS,
        least=sum(one.count for one in made.sets),
        topology=mapping(policy, "volcano.networkTopology"),
        wait_s=number(policy, "coscheduling.scheduleTimeoutSeconds"),
    )
    return replace(made, gangs=(gang,), sets=tuple(replace(one, gang=name) for one in made.sets))
