"""The table: one row for each kind that makes pods, beside those Kubernetes' own controllers look after."""

from __future__ import annotations

from mooring.workloads.owners.rows import GangRow, OwnerKind, Role

KAI, VOLCANO, PLUGINS = "kai-scheduler", "volcano", "scheduler-plugins-scheduler"

# Kubeflow's kinds keep a mapping of replica specs; the training operator makes a PodGroup of them all.
_KUBEFLOW_GANG = GangRow(
    declared=("spec.runPolicy.schedulingPolicy",),
    schedulers=(VOLCANO, PLUGINS, KAI),
    least=("spec.runPolicy.schedulingPolicy.minAvailable",),
    wait="spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds",
)


_KUBEFLOW_LABELS = {
    "training.kubeflow.org/job-name": "{owner}",
    "training.kubeflow.org/replica-type": "{role}",
    "training.kubeflow.org/replica-index": "{index}",
}


def _kubeflow(kind: str, *roles: Role, gang: GangRow = _KUBEFLOW_GANG) -> OwnerKind:
    return OwnerKind(
        group="kubeflow.org",
        kind=kind,
        roles=roles,
        suspend=("spec.runPolicy.suspend",),
        gang=gang,
        label="training.kubeflow.org/job-name",
    )


def _ray(kind: str, below: str, *more: Role) -> OwnerKind:
    """A head and groups of workers, wherever a kind keeps the cluster's spec."""
    head = Role(
        each=f"{below}headGroupSpec",
        name="head",
        count=(),
        labels={"ray.io/cluster": "{owner}", "ray.io/group": "headgroup", "ray.io/node-type": "head"},
        pods="{owner}-head",
    )
    workers = Role(
        each=f"{below}workerGroupSpecs[*]",
        named="groupName",
        default=0,
        floor="minReplicas",
        times="numOfHosts",
        least="minReplicas",
        absent="suspend",
        labels={"ray.io/cluster": "{owner}", "ray.io/group": "{role}", "ray.io/node-type": "worker"},
        pods="{owner}-{role}-worker-{index}",
    )
    gang = GangRow(
        labels=("ray.io/gang-scheduling-enabled", "ray.io/scheduler-name"),
        schedulers=(VOLCANO, KAI),
        elastic=f"{below}enableInTreeAutoscaling",
        name="ray-{owner}-pg",
    )
    return OwnerKind(
        group="ray.io",
        kind=kind,
        roles=(head, workers, *more),
        suspend=("spec.suspend",),
        gang=gang,
        label="ray.io/cluster",
    )


def _each_of(specs: str) -> Role:
    return Role(each=f"spec.{specs}{{*}}", labels=_KUBEFLOW_LABELS)


# What KubeRay gives the pod that submits a RayJob, unless the RayJob says.
_SUBMITTER = {
    "spec": {
        "containers": [
            {
                "name": "ray-job-submitter",
                "image": "ray",
                "resources": {
                    "requests": {"cpu": "500m", "memory": "200Mi"},
                    "limits": {"cpu": "1", "memory": "1Gi"},
                },
            }
        ]
    }
}
_RAY_SUBMITTER = Role(
    each="spec",
    name="submitter",
    templates=("submitterPodTemplate",),
    fallback=_SUBMITTER,
    count=(),
    absent="clusterSelector",
    only=("spec.submissionMode", "K8sJobMode"),
    waits=("", "", "head"),
    pods="",
)


def _replicas(group: str, kind: str, label: str = "") -> OwnerKind:
    role = Role(each="spec", name="replica", pods="")
    return OwnerKind(group=group, kind=kind, roles=(role,), label=label)


_LWS = "spec.leaderWorkerTemplate"
_LWS_LABELS = {
    "leaderworkerset.sigs.k8s.io/name": "{owner}",
    "leaderworkerset.sigs.k8s.io/group-index": "{copy}",
}

KINDS: tuple[OwnerKind, ...] = (
    _replicas("", "ReplicationController"),
    _replicas("apps.openshift.io", "DeploymentConfig", label="deploymentconfig"),
    _replicas("apps.kruise.io", "CloneSet"),
    OwnerKind(
        group="serving.knative.dev",
        kind="Service",
        roles=(
            Role(
                each="spec",
                name="revision",
                count=("@autoscaling.knative.dev/min-scale", "@autoscaling.knative.dev/minScale"),
                pods="",
            ),
        ),
        label="serving.knative.dev/service",
    ),
    OwnerKind(
        group="argoproj.io",
        kind="Rollout",
        pod_specs=("spec.template.spec",),
    ),
    OwnerKind(
        group="argoproj.io",
        kind="Workflow",
        suspend=("spec.suspend",),
        label="workflows.argoproj.io/workflow",
    ),
    OwnerKind(
        group="jobset.x-k8s.io",
        kind="JobSet",
        roles=(
            Role(
                each="spec.replicatedJobs[*]",
                named="name",
                templates=("template.spec.template",),
                count=("template.spec.parallelism",),
                copies="replicas",
                total="template.spec.completions",
                depends="dependsOn",
                waits=("spec.startupPolicy.startupPolicyOrder", "InOrder", ""),
                pods="{owner}-{role}-{copy}-{index}",
                labels={
                    "jobset.sigs.k8s.io/jobset-name": "{owner}",
                    "jobset.sigs.k8s.io/replicatedjob-name": "{role}",
                    "jobset.sigs.k8s.io/job-index": "{copy}",
                    "jobset.sigs.k8s.io/job-key": "{owner}-{role}-{copy}",
                    "batch.kubernetes.io/job-name": "{owner}-{role}-{copy}",
                    "batch.kubernetes.io/job-completion-index": "{index}",
                },
            ),
        ),
        suspend=("spec.suspend",),
        gang=GangRow(
            schedulers=(KAI,), in_order=("spec.startupPolicy.startupPolicyOrder", "InOrder")
        ),
        label="jobset.sigs.k8s.io/jobset-name",
        exclusive="alpha.jobset.sigs.k8s.io/exclusive-topology",
    ),
    OwnerKind(
        group="leaderworkerset.x-k8s.io",
        kind="LeaderWorkerSet",
        copies="spec.replicas",
        roles=(
            Role(
                each=_LWS,
                name="leader",
                templates=("leaderTemplate", "workerTemplate"),
                count=(),
                pods="{owner}-{copy}",
                labels={**_LWS_LABELS, "leaderworkerset.sigs.k8s.io/worker-index": "0"},
            ),
            Role(
                each=_LWS,
                name="worker",
                templates=("workerTemplate",),
                count=("size",),
                minus=1,
                waits=("spec.startupPolicy", "LeaderReady", "leader"),
                pods="{owner}-{copy}-{number}",
                labels={**_LWS_LABELS, "leaderworkerset.sigs.k8s.io/worker-index": "{number}"},
            ),
        ),
        gang=GangRow(schedulers=(VOLCANO, KAI), each_copy=True, name="{owner}-{copy}"),
        label="leaderworkerset.sigs.k8s.io/name",
        exclusive="leaderworkerset.sigs.k8s.io/exclusive-topology",
    ),
    OwnerKind(
        group="batch.volcano.sh",
        kind="Job",
        roles=(
            Role(
                each="spec.tasks[*]",
                named="name",
                least="minAvailable",
                depends="dependsOn",
                labels={
                    "volcano.sh/job-name": "{owner}",
                    "volcano.sh/task-spec": "{role}",
                    "volcano.sh/task-index": "{index}",
                },
            ),
        ),
        gang=GangRow(
            always=True,
            least=("spec.minAvailable",),
            parts=True,
            dialect=VOLCANO,
            topology="spec.networkTopology",
            scheduler=("spec.schedulerName", VOLCANO),
        ),
        label="volcano.sh/job-name",
    ),
    _ray("RayCluster", "spec."),
    _ray("RayJob", "spec.rayClusterSpec.", _RAY_SUBMITTER),
    _ray("RayService", "spec.rayClusterConfig."),
    _kubeflow(
        "PyTorchJob",
        _each_of("pytorchReplicaSpecs"),
        gang=GangRow(
            declared=_KUBEFLOW_GANG.declared,
            schedulers=_KUBEFLOW_GANG.schedulers,
            least=(*_KUBEFLOW_GANG.least, "spec.elasticPolicy.minReplicas"),
            wait=_KUBEFLOW_GANG.wait,
        ),
    ),
    _kubeflow("TFJob", _each_of("tfReplicaSpecs")),
    _kubeflow("XGBoostJob", _each_of("xgbReplicaSpecs")),
    _kubeflow("JAXJob", _each_of("jaxReplicaSpecs")),
    _kubeflow("PaddleJob", _each_of("paddleReplicaSpecs")),
    _kubeflow("MXJob", _each_of("mxReplicaSpecs")),
    _kubeflow(
        "MPIJob",
        Role(each="spec.mpiReplicaSpecs.Worker", name="worker", labels=_KUBEFLOW_LABELS),
        Role(
            each="spec.mpiReplicaSpecs.Launcher",
            name="launcher",
            waits=("spec.launcherCreationPolicy", "WaitForWorkersReady", "worker"),
            pods="{owner}-{role}",
            labels=_KUBEFLOW_LABELS,
        ),
    ),
    OwnerKind(
        group="trainer.kubeflow.org",
        kind="TrainJob",
        suspend=("spec.suspend",),
        label="jobset.sigs.k8s.io/jobset-name",
    ),
    OwnerKind(
        group="sparkoperator.k8s.io",
        kind="SparkApplication",
        suspend=("spec.suspend",),
        label="spark-app-name",
    ),
    OwnerKind(
        group="grove.io",
        kind="PodCliqueSet",
        label="app.kubernetes.io/part-of",
        pod_specs=("spec.template.cliques[*].spec.podSpec",),
    ),
)  # fmt: skip

BY_KIND = {f"{row.kind}.{row.group}" if row.group else row.kind: row for row in KINDS}


def row_of(api_version: object, kind: object) -> OwnerKind | None:
    """The row of a kind, of whichever version of its group."""
    group = str(api_version).rpartition("/")[0]
    return BY_KIND.get(f"{kind}.{group}" if group else str(kind))
