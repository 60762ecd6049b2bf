from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from mooring.model.objects import Pod
from mooring.sim.arrivals import Loader
from mooring.sim.clock import Clock
from mooring.sim.controllers import Controllers
from mooring.sim.simulation import Simulation
from mooring.sim.world.world import World

from .builders import node
from .conftest import read
from .first_fit import FirstFit

SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
Load = Callable[[str], World]


@pytest.fixture
def load(world: World, clock: Clock) -> Load:
    """Brings manifests into the world and lives through the first moment."""
    loader = Loader(world, Controllers(world), lambda pod: None)

    def load(text: str) -> World:
        loader.plan(read(text))
        while clock.next_time == clock.now:
            clock.pop()()
        return world

    return load


def names(world: World) -> list[str]:
    return [pod.name for pod in world.pods.values()]


def only(world: World) -> Pod:
    [pod] = world.pods.values()
    return pod


def workload(kind: str, spec: str, *, version: str = "apps/v1", meta: str = "") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web{meta}}}\nspec: {{{spec}}}\n"


TEMPLATE = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}"


def test_deployment(load: Load) -> None:
    world = load(workload("Deployment", f"replicas: 3, selector: {{matchLabels: {{app: web}}}}, {TEMPLATE}"))
    [replica_set] = world.store.of_kind("apps/v1", "ReplicaSet").values()
    name = replica_set.metadata.name
    assert re.fullmatch(f"web-{SAFE}{{1,10}}", name)
    digest = name.removeprefix("web-")
    assert replica_set.data["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    assert replica_set.metadata.owner_references[0].kind == "Deployment"
    pods = list(world.pods.values())
    assert len(pods) == 3
    for pod in pods:
        assert re.fullmatch(f"{name}-{SAFE}{{5}}", pod.name)
        assert pod.labels == {"app": "web", "pod-template-hash": digest}
        [owner] = pod.metadata.owner_references
        assert (owner.kind, owner.name, owner.uid, owner.controller) == (
            "ReplicaSet", name, replica_set.metadata.uid, True,
        )  # fmt: skip


def test_pods_of_a_workload_share_one_spec(load: Load) -> None:
    first, second = load(workload("ReplicaSet", f"replicas: 2, {TEMPLATE}")).pods.values()
    assert first.spec is second.spec


@pytest.mark.parametrize(
    ("replicas", "expected"), [("", 1), ("replicas: 0,", 0), ("replicas: 4,", 4)], ids=["default", "0", "4"]
)
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_replicas(load: Load, kind: str, replicas: str, expected: int) -> None:
    assert len(load(workload(kind, f"{replicas} {TEMPLATE}")).pods) == expected


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_pods_that_go_come_back(load: Load, kind: str) -> None:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    world = load(workload(kind, TEMPLATE, version=version))
    before = only(world)
    world.delete_pod(before.key)
    assert only(world).uid != before.uid


def test_a_replica_set_replaces_pods_that_are_leaving(load: Load, world: World) -> None:
    world.create_node(node("n"))
    spec = "template: {spec: {terminationGracePeriodSeconds: 30, containers: []}}"
    load(workload("ReplicaSet", spec))
    leaving = only(world)
    world.bind(leaving.key, "n")
    world.delete_pod(leaving.key)
    assert len(world.pods) == 2


def test_a_stateful_set_waits_until_a_pod_is_gone(load: Load, world: World, clock: Clock) -> None:
    world.create_node(node("n"))
    spec = "template: {spec: {terminationGracePeriodSeconds: 30, containers: []}}"
    load(workload("StatefulSet", spec))
    before = only(world)
    world.bind(before.key, "n")
    world.delete_pod(before.key)
    assert only(world).uid == before.uid
    clock.pop()()
    assert (only(world).name, only(world).uid != before.uid) == ("web-0", True)


def test_pods_that_finish_are_not_replaced(load: Load, world: World, clock: Clock) -> None:
    world.create_node(node("n"))
    meta = ", annotations: {sim.mooring.io/runs-for: 5s}"
    load(workload("Deployment", TEMPLATE, meta=meta))
    world.bind(only(world).key, "n")
    clock.pop()()
    assert only(world).status.phase == "Succeeded"


@pytest.mark.parametrize(
    ("own", "template", "expected"),
    [("5s", "", "5s"), ("", "9s", "9s"), ("5s", "9s", "9s")],
    ids=["workload", "template", "template wins"],
)
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_run_times(load: Load, kind: str, own: str, template: str, expected: str) -> None:
    key = "sim.mooring.io/runs-for"
    meta = f", annotations: {{{key}: {own}}}" if own else ""
    inner = f"metadata: {{annotations: {{{key}: {template}}}}}" if template else ""
    world = load(workload(kind, f"template: {{{inner}}}", meta=meta))
    assert only(world).annotations[key] == expected


def test_ordered_stateful_sets_go_step_by_step(load: Load, world: World) -> None:
    world.create_node(node("n"))
    load(workload("StatefulSet", f"replicas: 3, {TEMPLATE}"))
    assert names(world) == ["web-0"]
    world.bind("default/web-0", "n")
    assert names(world) == ["web-0", "web-1"]
    world.bind("default/web-1", "n")
    assert names(world) == ["web-0", "web-1", "web-2"]
    world.delete_pod("default/web-0")
    assert sorted(names(world)) == ["web-0", "web-1", "web-2"]


def test_parallel_stateful_sets_do_not_wait(load: Load) -> None:
    world = load(workload("StatefulSet", f"replicas: 3, podManagementPolicy: Parallel, {TEMPLATE}"))
    assert names(world) == ["web-0", "web-1", "web-2"]


def test_stateful_labels_and_start(load: Load) -> None:
    labels = only(load(workload("StatefulSet", f"ordinals: {{start: 5}}, {TEMPLATE}"))).labels
    assert re.fullmatch(f"web-{SAFE}{{1,10}}", labels.pop("controller-revision-hash"))
    assert labels == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-5",
        "apps.kubernetes.io/pod-index": "5",
    }


NODES = """
apiVersion: v1
kind: Node
metadata: {name: plain, labels: {disk: ssd}}
---
apiVersion: v1
kind: Node
metadata: {name: tainted}
spec: {taints: [{key: gpu, effect: NoSchedule}]}
---
apiVersion: v1
kind: Node
metadata: {name: cordoned}
spec: {unschedulable: true}
---
"""


def pinned(world: World) -> list[str]:
    found = []
    for pod in world.pods.values():
        assert pod.spec.affinity is not None
        assert pod.spec.affinity.node_affinity is not None
        required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
        assert required is not None
        [term] = required.node_selector_terms
        assert term is not None
        [field] = term.match_fields
        assert (field.key, field.operator) == ("metadata.name", "In")
        found += field.values
    return found


def test_daemons_run_where_they_may(load: Load) -> None:
    world = load(NODES + workload("DaemonSet", TEMPLATE))
    assert pinned(world) == ["plain", "cordoned"]
    assert all(re.fullmatch(f"web-{SAFE}{{5}}", name) for name in names(world))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("tolerations: [{operator: Exists}]", ["plain", "tainted", "cordoned"]),
        ("nodeSelector: {disk: ssd}", ["plain"]),
    ],
    ids=["tolerant", "choosy"],
)
def test_daemons_by_template(load: Load, spec: str, expected: list[str]) -> None:
    assert pinned(load(NODES + workload("DaemonSet", f"template: {{spec: {{{spec}}}}}"))) == expected


def test_daemons_come_to_new_nodes_and_go_with_them(load: Load, world: World) -> None:
    load(NODES + workload("DaemonSet", TEMPLATE))
    world.create_node(node("late"))
    assert pinned(world) == ["plain", "cordoned", "late"]
    world.delete_node("late")
    assert pinned(world) == ["plain", "cordoned"]


def test_a_daemon_that_goes_comes_back_to_its_node(load: Load, world: World) -> None:
    load(NODES + workload("DaemonSet", TEMPLATE))
    first = next(iter(world.pods.values()))
    world.bind(first.key, "plain")
    world.delete_pod(first.key)
    assert sorted(pinned(world)) == ["cordoned", "plain"]


def test_daemons_tolerate_nodes_in_trouble(load: Load) -> None:
    keys = {
        t.key
        for t in next(iter(load(NODES + workload("DaemonSet", TEMPLATE)).pods.values())).spec.tolerations
    }
    assert {"node.kubernetes.io/disk-pressure", "node.kubernetes.io/unschedulable"} <= keys
    assert "node.kubernetes.io/network-unavailable" not in keys


def job(spec: str) -> str:
    meta = ", annotations: {sim.mooring.io/runs-for: 10s}"
    return workload("Job", f"{spec} {TEMPLATE}", version="batch/v1", meta=meta)


def work(world: World) -> int:
    """Binds whatever waits; how many pods run now."""
    for pod in list(world.pods.values()):
        if pod.status.phase == "Pending":
            world.bind(pod.key, "n")
    return sum(pod.status.phase == "Running" for pod in world.pods.values())


def test_jobs_refill_until_they_are_complete(load: Load, world: World, clock: Clock) -> None:
    world.create_node(node("n"))
    load(job("parallelism: 2, completions: 5,"))
    at_work = []
    while running := work(world):
        at_work.append(running)
        clock.pop()()
    assert at_work == [2, 2, 2, 2, 1]
    assert [pod.status.phase for pod in world.pods.values()] == ["Succeeded"] * 5


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ("", 1),
        ("parallelism: 3,", 3),
        ("parallelism: 0,", 0),
        ("parallelism: 5, completions: 2,", 2),
        ("suspend: true,", 0),
    ],
    ids=["default", "no completions", "nothing at a time", "more than needed", "suspended"],
)
def test_first_round_of_a_job(load: Load, spec: str, pods: int) -> None:
    assert len(load(job(spec)).pods) == pods


def test_indexed_jobs_know_their_number(load: Load, world: World) -> None:
    load(job("completionMode: Indexed, parallelism: 2, completions: 3,"))
    first, second = world.pods.values()
    assert re.fullmatch(f"web-0-{SAFE}{{5}}", first.name)
    assert re.fullmatch(f"web-1-{SAFE}{{5}}", second.name)
    key = "batch.kubernetes.io/job-completion-index"
    assert (first.labels[key], first.annotations[key]) == ("0", "0")
    assert first.labels["batch.kubernetes.io/job-name"] == "web"
    world.delete_pod(first.key)
    assert re.fullmatch(f"web-0-{SAFE}{{5}}", names(world)[-1])


OWNED = """
apiVersion: v1
kind: Pod
metadata:
  name: %s
  ownerReferences: [{apiVersion: %s, kind: %s, name: web, uid: u, controller: true}]
status: {phase: %s}
---
"""


@pytest.mark.parametrize("phase", ["Pending", "Succeeded"])
@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_pods_of_a_real_cluster_are_taken_over(load: Load, kind: str, phase: str) -> None:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    world = load(OWNED % ("web-0", version, kind, phase) + workload(kind, TEMPLATE, version=version))
    assert names(world) == ["web-0"]


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_failed_pods_of_a_real_cluster_are_replaced(load: Load, kind: str) -> None:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    world = load(OWNED % ("web-0", version, kind, "Failed") + workload(kind, TEMPLATE, version=version))
    assert only(world).status.phase == "Pending"


def test_a_deployment_of_a_real_cluster_has_its_replica_set(load: Load) -> None:
    replica_set = """
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-abc
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]
spec: {replicas: 2}
"""
    world = load(workload("Deployment", f"replicas: 2, {TEMPLATE}") + "---" + replica_set)
    assert [name.rpartition("-")[0] for name in names(world)] == ["web-abc", "web-abc"]


def test_late_workloads_wait(load: Load, world: World, clock: Clock) -> None:
    load(workload("ReplicaSet", TEMPLATE, meta=", annotations: {sim.mooring.io/arrives-at: 10s}"))
    assert not world.pods
    clock.pop()()
    assert (clock.now, len(world.pods)) == (10.0, 1)


@pytest.mark.parametrize("given", ["web-1", ""], ids=["with its ReplicaSet", "without"])
def test_pods_of_a_live_deployment_are_not_made_again(given: str) -> None:
    meta = "uid: u%s, resourceVersion: '1', labels: {a: b, pod-template-hash: '1'}"
    owner = "ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, controller: true}]"
    template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
    spec = f"spec: {{replicas: 2, selector: {{matchLabels: {{a: b}}}}, {template}}}"
    pods = [
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: web-1-{index}, {meta % index}, "
        f"{owner % ('ReplicaSet', 'web-1')}}}, spec: {{containers: [{{name: c, image: i}}]{place}}}}}"
        for index, place in enumerate(["", ", nodeName: n"])
    ]
    sets = f"{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: web-1, {meta % 's'}, "
    sets += f"{owner % ('Deployment', 'web')}}}, {spec}}}"
    deployment = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, {meta % 'd'}}}, {spec}}}"
    on = "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 4}}}"
    documents = [deployment, *([sets] if given else []), on, *pods]
    simulation = Simulation(FirstFit(), read("\n---\n".join(documents)))
    assert sorted(simulation.run().placements) == ["default/web-1-0", "default/web-1-1"]
