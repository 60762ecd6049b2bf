"""Pods of the kinds people write, by the table of owners."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest

from mooring.app.making import make_engine
from mooring.app.simulating import simulate
from mooring.config.load import default_config
from mooring.errors import ManifestError
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests.manifests import read_manifests
from mooring.sim.result import Result
from mooring.sim.simulation import Simulation

REGISTRY = make_registry(None)
SETTINGS = default_config(REGISTRY)
EXAMPLES = Path(__file__).parents[2] / "examples"
POD = "{containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}"
TEMPLATE = f"{{spec: {POD}}}"


def nodes(count: int = 4, cpu: int = 8) -> str:
    return "".join(
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: n{i}, labels: {{rack: r{i // 2}}}}}\n"
        f"status: {{allocatable: {{cpu: {cpu}, memory: 64Gi, pods: 110}}}}\n"
        for i in range(count)
    )


def simulation(text: str, *, until: float | None = None) -> Simulation:
    engine = make_engine(SETTINGS, REGISTRY)
    entries = read_manifests(["-"], stdin=io.StringIO(text), lenient=True)
    return Simulation(engine, entries, until=until, scheduler_names=tuple(engine.profiles))


def run(text: str, *, cluster: str | None = None, until: float | None = None) -> Result:
    text = dedent(text).replace("TEMPLATE", TEMPLATE).replace("POD", POD).replace("volcano-sched", "volcano")
    return simulation(text + "\n" + (nodes() if cluster is None else cluster), until=until).run()


def named(result: Result) -> list[str]:
    return sorted(key.removeprefix("default/") for key in result.placements)


def head(version: str, kind: str, meta: str = "") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x{meta}}}\n"


KUBEFLOW = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}

CASES = {
    "ReplicationController": (
        head("v1", "ReplicationController") + "spec: {replicas: 3, template: TEMPLATE}",
        {"x": 3},
    ),
    "CloneSet": (
        head("apps.kruise.io/v1alpha1", "CloneSet") + "spec: {replicas: 2, template: TEMPLATE}",
        {"x": 2},
    ),
    "kruise StatefulSet": (
        head("apps.kruise.io/v1beta1", "StatefulSet") + "spec: {replicas: 2, template: TEMPLATE}",
        {"x-0": 1, "x-1": 1},
    ),
    "kruise DaemonSet": (
        head("apps.kruise.io/v1alpha1", "DaemonSet") + "spec: {template: TEMPLATE}",
        {"x": 4},
    ),
    "DeploymentConfig": (
        head("apps.openshift.io/v1", "DeploymentConfig") + "spec: {replicas: 2, template: TEMPLATE}",
        {"x": 2},
    ),
    "knative": (
        head("serving.knative.dev/v1", "Service")
        + "spec: {template: {metadata: {annotations: {autoscaling.knative.dev/min-scale: '3'}}, spec: POD}}",
        {"x-revision": 3},
    ),
    "Rollout": (
        head("argoproj.io/v1alpha1", "Rollout") + "spec: {replicas: 2, template: TEMPLATE}",
        {"x": 2},
    ),
    "Rollout by reference": (
        head("argoproj.io/v1alpha1", "Rollout")
        + "spec: {replicas: 2, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}}\n---\n"
        + "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 0, selector: "
        "{matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: POD}}",
        {"x": 2},
    ),
    "JobSet": (
        head("jobset.x-k8s.io/v1alpha2", "JobSet")
        + "spec: {replicatedJobs: [{name: w, replicas: 2, template: {spec: {parallelism: 3, completions: 3, "
        "template: TEMPLATE}}}, {name: d, template: {spec: {template: TEMPLATE}}}]}",
        {"x-w-0-0": 1, "x-w-0-1": 1, "x-w-0-2": 1, "x-w-1-0": 1, "x-w-1-1": 1, "x-w-1-2": 1, "x-d-0-0": 1},
    ),
    "LeaderWorkerSet": (
        head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
        + "spec: {replicas: 2, leaderWorkerTemplate: {size: 3, workerTemplate: TEMPLATE}}",
        {"x-0": 1, "x-0-1": 1, "x-0-2": 1, "x-1": 1, "x-1-1": 1, "x-1-2": 1},
    ),
    "RayCluster": (
        head("ray.io/v1", "RayCluster") + "spec: {headGroupSpec: {template: TEMPLATE}, workerGroupSpecs: ["
        "{groupName: g, replicas: 1, minReplicas: 2, numOfHosts: 2, template: TEMPLATE}, "
        "{groupName: s, replicas: 3, suspend: true, template: TEMPLATE}]}",
        {"x-head": 1, "x-g-worker-0": 1, "x-g-worker-1": 1, "x-g-worker-2": 1, "x-g-worker-3": 1},
    ),
    "RayJob": (
        head("ray.io/v1", "RayJob") + "spec: {rayClusterSpec: {headGroupSpec: {template: TEMPLATE}}}",
        {"x-head": 1, "x-submitter": 1},
    ),
    "RayService": (
        head("ray.io/v1", "RayService")
        + "spec: {rayClusterConfig: {headGroupSpec: {template: TEMPLATE}, workerGroupSpecs: "
        "[{groupName: g, replicas: 1, template: TEMPLATE}]}}",
        {"x-head": 1, "x-g-worker-0": 1},
    ),
    "TrainJob alone": (
        head("trainer.kubeflow.org/v1alpha1", "TrainJob")
        + "spec: {runtimeRef: {name: torch}, trainer: {numNodes: 2, resourcesPerNode: {requests: {cpu: 3}}}}",
        {"x-node-0-0": 1, "x-node-0-1": 1},
    ),
    "SparkApplication": (
        head("sparkoperator.k8s.io/v1beta2", "SparkApplication")
        + "spec: {driver: {cores: 1, memory: 512m}, executor: {instances: 2, cores: 2, memory: 1g}}",
        {"x-driver": 1, "x-exec-1": 1, "x-exec-2": 1},
    ),
    "PodCliqueSet": (
        head("grove.io/v1alpha1", "PodCliqueSet")
        + "spec: {replicas: 1, template: {cliques: [{name: f, spec: {replicas: 2, podSpec: POD}}, "
        "{name: p, spec: {replicas: 1, podSpec: POD}}], "
        "podCliqueScalingGroups: [{name: sg, replicas: 2, minAvailable: 1, cliqueNames: [p]}]}}",
        {"x-0-f": 2, "x-0-sg-0-p": 1, "x-0-sg-1-p": 1},
    ),
    "Workflow": (
        head("argoproj.io/v1alpha1", "Workflow")
        + "spec: {entrypoint: m, templates: [{name: m, steps: [[{name: a, template: t}], "
        "[{name: b, template: t, withItems: [1, 2]}]]}, "
        "{name: t, metadata: {annotations: {sim.mooring.io/runs-for: 5s}}, "
        "container: {image: i}}]}",
        {"x-a": 1, "x-b": 2},
    ),
    **{
        kind: (
            head("kubeflow.org/v1", kind) + f"spec: {{{specs}: {{Launcher: {{template: TEMPLATE}}, "
            "Worker: {replicas: 2, template: TEMPLATE}}}",
            {"x-launcher" if kind == "MPIJob" else "x-launcher-0": 1, "x-worker-0": 1, "x-worker-1": 1},
        )
        for kind, specs in KUBEFLOW.items()
    },
}


def without_suffix(name: str, known: dict[str, int]) -> str:
    return name if name in known else name.rpartition("-")[0]


@pytest.mark.parametrize("case", CASES)
def test_every_kind_makes_its_pods(case: str) -> None:
    text, expected = CASES[case]
    result = run(text)
    assert Counter(without_suffix(name, expected) for name in named(result)) == expected
    assert not result.pending


def test_a_volcano_job_is_a_gang_with_minimums_of_its_tasks() -> None:
    tasks = "[{name: m, replicas: 1, template: TEMPLATE}, {name: w, replicas: 4, template: TEMPLATE}]"
    text = (
        head("batch.volcano.sh/v1alpha1", "Job")
        + f"spec: {{schedulerName: default-scheduler, tasks: {tasks}}}"
    )
    result = run(text)
    [gang] = result.gangs.values()
    assert (gang.placed, gang.members) == (5, 5)
    assert named(result) == ["x-m-0", "x-w-0", "x-w-1", "x-w-2", "x-w-3"]
    too_small = run(text, cluster=nodes(1, 4))
    assert not too_small.placements
    assert len(too_small.pending) == 5
    elastic = text.replace("schedulerName", "minAvailable: 3, schedulerName")
    assert len(run(elastic, cluster=nodes(1, 4)).placements) == 4


def test_tasks_that_depend_on_others_come_when_those_run() -> None:
    tasks = (
        "[{name: w, replicas: 1, dependsOn: {name: [m]}, template: TEMPLATE}, "
        "{name: m, replicas: 1, template: TEMPLATE}]"
    )
    spec = f"spec: {{minAvailable: 1, schedulerName: default-scheduler, tasks: {tasks}}}"
    text = head("batch.volcano.sh/v1alpha1", "Job") + spec
    assert named(run(text)) == ["x-m-0", "x-w-0"]
    assert list(run(text, cluster="").pending) == ["default/x-m-0"]


@pytest.mark.parametrize("kind", ["PyTorchJob", "MPIJob"])
def test_kubeflow_jobs_with_a_scheduling_policy_are_gangs(kind: str) -> None:
    specs = (
        f"{KUBEFLOW[kind]}: {{Launcher: {{template: TEMPLATE}}, Worker: {{replicas: 3, template: TEMPLATE}}}}"
    )
    text = head("kubeflow.org/v1", kind) + f"spec: {{runPolicy: {{schedulingPolicy: {{}}}}, {specs}}}"
    assert not run(text, cluster=nodes(1, 3)).placements
    assert len(run(text, cluster=nodes(1, 4)).placements) == 4
    enough = text.replace("schedulingPolicy: {}", "schedulingPolicy: {minAvailable: 2}")
    assert len(run(enough, cluster=nodes(1, 3)).placements) == 3
    alone = text.replace("runPolicy: {schedulingPolicy: {}}, ", "")
    assert len(run(alone, cluster=nodes(1, 3)).placements) == 3


def test_a_ray_cluster_with_the_label_is_a_gang() -> None:
    spec = (
        "spec: {headGroupSpec: {template: TEMPLATE}, workerGroupSpecs: ["
        "{groupName: g, replicas: 3, minReplicas: 1, template: TEMPLATE}]}"
    )
    meta = ", labels: {ray.io/gang-scheduling-enabled: 'true'}"
    text = head("ray.io/v1", "RayCluster", meta) + spec
    assert not run(text, cluster=nodes(1, 3)).placements
    assert len(run(text, cluster=nodes(1, 4)).placements) == 4
    scaled = text.replace("spec: {head", "spec: {enableInTreeAutoscaling: true, head")
    assert len(run(scaled, cluster=nodes(1, 3)).placements) == 3


def test_each_group_of_a_leader_worker_set_is_a_gang_for_schedulers_that_group() -> None:
    pod = "{schedulerName: volcano-sched, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}"
    text = head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet") + (
        f"spec: {{replicas: 2, leaderWorkerTemplate: {{size: 3, workerTemplate: {{spec: {pod}}}}}}}"
    )
    sim = simulation(text.replace("volcano-sched", "volcano") + "\n" + nodes(1, 4))
    sim.run()
    groups = sim.world.store.of_kind("scheduling.volcano.sh/v1beta1", "PodGroup")
    assert {key: group.data["spec"]["minMember"] for key, group in groups.items()} == {
        "default/x-0": 3,
        "default/x-1": 3,
    }


def test_a_gang_the_template_names_itself_is_left_to_it() -> None:
    template = "{metadata: {labels: {pod-group.scheduling.sigs.k8s.io/name: own, "
    template += "pod-group.scheduling.sigs.k8s.io/min-available: '2'}}, spec: POD}"
    text = head("batch.volcano.sh/v1alpha1", "Job") + (
        f"spec: {{schedulerName: default-scheduler, tasks: [{{name: w, replicas: 2, template: {template}}}]}}"
    )
    assert list(run(text).gangs) == ["default/own"]


def test_copies_with_an_exclusive_topology_have_a_domain_each() -> None:
    note = ", annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}"
    text = head("jobset.x-k8s.io/v1alpha2", "JobSet", note) + (
        "spec: {replicatedJobs: [{name: w, replicas: 3, template: {spec: {parallelism: 2, completions: 2, "
        "template: TEMPLATE}}}]}"
    )
    result = run(text)
    racks: dict[str, set[str]] = {}
    for key, node in result.placements.items():
        racks.setdefault(key.rpartition("-")[0], set()).add("01"[int(node[1:]) // 2])
    assert len(racks) == 2
    assert sorted(map(sorted, racks.values())) == [["0"], ["1"]]
    assert len(result.pending) == 2


def test_a_cron_job_runs_at_its_times_until_the_end() -> None:
    text = head("batch/v1", "CronJob") + (
        "spec: {schedule: '*/10 * * * *', jobTemplate: {spec: {template: {metadata: {annotations: "
        "{sim.mooring.io/runs-for: 30s}}, spec: POD}}}}"
    )
    result = run(text, until=1800)
    assert [name.rpartition("-")[0] for name in named(result)] == ["x-10", "x-20", "x-30"]
    assert not run(text).placements


@pytest.mark.parametrize(("policy", "runs"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_what_a_cron_job_does_while_the_last_run_is_at_work(policy: str, runs: int) -> None:
    text = head("batch/v1", "CronJob") + (
        f"spec: {{schedule: '@every 1m', concurrencyPolicy: {policy}, "
        "jobTemplate: {spec: {template: TEMPLATE}}}"
    )
    assert len(run(text, until=200).placements) == runs


def test_a_step_waits_for_the_one_before_to_finish() -> None:
    text = head("argoproj.io/v1alpha1", "Workflow") + (
        "spec: {entrypoint: m, templates: [{name: m, dag: {tasks: [{name: a, template: t}, "
        "{name: b, depends: 'a.Succeeded && c', template: t}, {name: c, template: t}]}}, "
        "{name: t, container: {image: i}}]}"
    )
    assert [name.rpartition("-")[0] for name in named(run(text))] == ["x-a", "x-c"]


def test_a_runtime_gives_a_train_job_its_shape() -> None:
    text = """
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainJob
        metadata: {name: x}
        spec: {runtimeRef: {name: torch}, trainer: {numNodes: 3, resourcesPerNode: {requests: {cpu: 2}}}}
        ---
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: torch}
        spec:
          mlPolicy: {numNodes: 1}
          podGroupPolicy: {coscheduling: {}}
          template:
            spec:
              replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec: {template: {spec: {containers: [{name: node, image: i}]}}}
    """
    assert len(run(text, cluster="\n" + nodes(1, 6)).placements) == 3
    assert not run(text, cluster="\n" + nodes(1, 5)).placements


@pytest.mark.parametrize(("as_node", "workers"), [("true", 2), ("false", 3)])
def test_an_mpi_runtime_has_a_launcher_beside_its_nodes(as_node: str, workers: int) -> None:
    text = f"""
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainJob
        metadata: {{name: x}}
        spec: {{runtimeRef: {{name: mpi}}, trainer: {{numNodes: 3}}}}
        ---
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {{name: mpi}}
        spec:
          mlPolicy: {{numNodes: 1, mpi: {{runLauncherAsNode: {as_node}}}}}
          template:
            spec:
              replicatedJobs:
              - {{name: node, template: {{spec: {{template: TEMPLATE}}}}}}
              - name: launcher
                dependsOn: [{{name: node, status: Ready}}]
                template:
                  metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
                  spec: {{template: TEMPLATE}}
    """
    expected = ["x-launcher-0-0", *(f"x-node-0-{number}" for number in range(workers))]
    assert named(run(text)) == expected


OWNER = "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: x, uid: u, controller: true}"


@pytest.mark.parametrize(
    "says",
    [
        "labels: {training.kubeflow.org/job-name: x, training.kubeflow.org/replica-type: worker}",
        f"ownerReferences: [{OWNER}]",
    ],
)
def test_pods_that_are_there_already_are_not_made_again(says: str) -> None:
    pod = (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: x-worker-0, {says}}}\n"
        "spec: {nodeName: n0, containers: [{name: c, image: i}]}\n"
    )
    text, _ = CASES["PyTorchJob"]
    assert named(run(text + "\n" + pod)) == ["x-launcher-0", "x-worker-0", "x-worker-1"]


def test_an_owner_whose_children_are_given_makes_nothing_more() -> None:
    owner = "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: x, uid: u, controller: true}"
    job = (
        f"\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: x-w-0, ownerReferences: [{owner}]}}\n"
        "spec: {parallelism: 2, completions: 2, template: TEMPLATE}\n"
    )
    text = CASES["JobSet"][0]
    assert len(run(text + job).placements) == 2


def test_the_example() -> None:
    result = simulate([str(EXAMPLES / "operators")], until=3600)
    assert not result.pending
    assert {key: (gang.placed, gang.members) for key, gang in result.gangs.items()} == {
        "default/bert": (3, 3),
        "default/chat-0": (4, 4),
        "default/chat-0-model-0": (2, 2),
        "default/llama": (2, 2),
        "default/mnist": (4, 4),
        "default/ray-ray-pg": (3, 3),
    }
    assert {int(node[-1]) // 2 for node in result.gangs["default/mnist"].pods.values()} in ({0}, {1})
    assert [each.what for each in result.not_acted_on] == ["limits"]


def test_a_pod_that_was_evicted_comes_back_under_its_name() -> None:
    text = CASES["RayCluster"][0]
    sim = simulation(text.replace("TEMPLATE", TEMPLATE) + "\n" + nodes())
    sim.run()
    sim.world.delete_pod("default/x-head")
    assert "default/x-head" in sim.world.pods


CLONES = CASES["CloneSet"][0].replace("TEMPLATE", TEMPLATE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLONES.replace("cpu: 1", "cpu: one"), "spec.template.spec.containers[0].resources.requests.cpu"),
        (CLONES.replace("replicas: 2", "replicas: many"), "spec.replicas"),
        (
            CLONES.replace("containers", "priorityClassName: system-node-critica, containers"),
            "names no PriorityClass",
        ),
        (
            CASES["PyTorchJob"][0].replace("replicas: 2", "replicas: -2"),
            "spec.pytorchReplicaSpecs.Worker.replicas -2 is negative",
        ),
        (
            head("batch/v1", "CronJob") + "spec: {schedule: '61 * * * *', jobTemplate: {spec: {}}}",
            '"61" is not a minute: 0 to 59',
        ),
        (head("batch/v1", "CronJob") + "spec: {schedule: '1 * * * *', timeZone: Mars/X}", "no time zone"),
    ],
)
def test_mistakes_are_told_where_they_are(text: str, said: str) -> None:
    with pytest.raises(ManifestError) as error:
        run(text)
    assert said in str(error.value)
