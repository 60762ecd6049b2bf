"""Profiles of one scheduler, and policies beside it: pods go where the very same engine says they go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.nodes import node
from e2e.scheduler import SchedulerDied, StartScheduler
from e2e.waiting import holds, wait_for
from e2e.workloads import pod
from mooring.app.simulating import simulate

PACKING: Object = {
    "schedulerName": "packer",
    "pluginConfig": [
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                }
            },
        }
    ],
}
CONFIG: Object = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "default-scheduler"}, PACKING],
}
POLICY = '''
from mooring import Cycle, Node, Plugin, Pod, Status, unschedulable


class OldFirst(Plugin):
    """Batch pods go to nodes marked old, the oldest before others; nobody else goes there."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        batch, old = pod.labels.get("kind") == "batch", "age" in node.labels
        return None if batch == old else unschedulable("node(s) are kept for other kinds of pods")

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return int(node.labels.get("age", 0))
'''


def test_one_profile_packs_and_the_other_spreads(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """By hand: node-0 is the fullest that has room, then full; node-2 is always the emptiest."""
    cluster.add_nodes(3, cpu=4, memory="4Gi")
    cluster.create_pods(
        pod("much", cpu="2", memory="2Gi", nodeName="node-0"),
        pod("some", cpu="1", memory="1Gi", nodeName="node-1"),
    )
    start_mooring(CONFIG)
    assert placed(cluster, pod("tight-0", cpu="1", memory="1Gi", schedulerName="packer")) == "node-0"
    assert placed(cluster, pod("tight-1", cpu="1", memory="1Gi", schedulerName="packer")) == "node-0"
    assert placed(cluster, pod("tight-2", cpu="1", memory="1Gi", schedulerName="packer")) == "node-1"
    assert placed(cluster, pod("loose-0", cpu="500m", memory="512Mi")) == "node-2"
    assert placed(cluster, pod("loose-1", cpu="500m", memory="512Mi")) == "node-2"
    told = {each["regarding"]["name"]: each["reportingController"] for each in scheduled(cluster, 5)}
    packed = {f"tight-{number}": "packer" for number in range(3)}
    assert told == packed | {f"loose-{number}": "default-scheduler" for number in range(2)}


def test_a_pod_of_another_scheduler_is_left_alone(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1)
    start_mooring(CONFIG)
    (theirs,) = cluster.create_pods(pod("theirs", schedulerName="somebody-else"))
    assert placed(cluster, pod("ours")) == "node-0"
    holds(lambda: cluster.pod("theirs").raw == theirs.raw, during=1.5, saying="nothing is written to it")
    assert cluster.events("theirs") == []


def test_pods_go_where_a_simulation_puts_them(
    cluster: Cluster, start_mooring: StartScheduler, tmp_path: Path
) -> None:
    """Nodes of many sizes, pods of many kinds, both profiles; one after the other, so that order is given."""
    nodes = [
        node(f"node-{number}", cpu=2 + number % 3, memory=f"{3 + number % 5}Gi",
             labels={"topology.kubernetes.io/zone": "abc"[number % 3], "disk": ["ssd", "hdd"][number % 2]})
        for number in range(8)
    ]  # fmt: skip
    pods = [mixed(number) for number in range(20)]
    cluster.create_nodes(nodes)
    cluster.wait_ready(each["metadata"]["name"] for each in nodes)
    start_mooring(CONFIG, flags=["--seed=7"])
    live = {f"default/{each['metadata']['name']}": placed(cluster, each) for each in pods}
    (tmp_path / "scheduler.yaml").write_text(json.dumps(CONFIG))
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text("\n---\n".join(json.dumps(each) for each in (*nodes, *pods)))
    expected = simulate([str(manifests)], config=tmp_path / "scheduler.yaml", seed=7)
    assert live == expected.placements
    assert len(set(live.values())) > 4


def test_a_policy_of_a_few_lines_changes_placements(
    cluster: Cluster, start_mooring: StartScheduler, tmp_path: Path
) -> None:
    cluster.create_nodes([node(f"old-{age}", labels={"age": str(age)}) for age in (3, 9, 6)])
    cluster.add_nodes(1, "new", cpu=1)
    cluster.wait_ready(["old-3", "old-9", "old-6"])
    (tmp_path / "old_first.py").write_text(POLICY)
    start_mooring(policies=tmp_path)
    batch = {"kind": "batch"}
    assert placed(cluster, pod("sums-0", cpu="3", labels=batch)) == "old-9"
    assert placed(cluster, pod("sums-1", cpu="3", labels=batch)) == "old-6"
    assert placed(cluster, pod("web")) == "new-0"
    cluster.create_pods(pod("huge", cpu="2"))
    assert cluster.wait_unschedulable("huge").message.startswith(
        "0/4 nodes are available: 1 node(s) are kept for other kinds of pods, 3 Insufficient cpu. "
    )


def test_without_the_policy_they_go_elsewhere(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.create_nodes([node("old-3", labels={"age": "3"}, cpu=8), node("old-9", labels={"age": "9"})])
    cluster.wait_ready(["old-3", "old-9"])
    start_mooring()
    assert placed(cluster, pod("sums", cpu="2", labels={"kind": "batch"})) == "old-3"


@pytest.mark.parametrize("said", ["class OldFirst(Plugin)\n", "import no_such_module\n"])
def test_a_policy_with_a_mistake_is_said_so_at_once(
    cluster: Cluster, start_mooring: StartScheduler, tmp_path: Path, said: str
) -> None:
    (tmp_path / "wrong.py").write_text(said)
    with pytest.raises(SchedulerDied) as died:
        start_mooring(policies=tmp_path)
    assert "wrong.py:1" in str(died.value)
    assert "Traceback" not in str(died.value)


def mixed(number: int) -> Object:
    """Of many sizes; some ask for a disk, some keep apart from their like."""
    words: Object = {"labels": {"app": f"app-{number % 4}"}}
    if number % 3 == 0:
        words["nodeSelector"] = {"disk": "ssd"}
    if number % 4 == 1:
        apart = {"labelSelector": {"matchLabels": words["labels"]}, "topologyKey": "kubernetes.io/hostname"}
        words["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    if number % 2:
        words["schedulerName"] = "packer"
    return pod(f"pod-{number}", cpu=f"{150 + 70 * (number % 5)}m", memory=f"{100 + number * 17}Mi", **words)


def placed(cluster: Cluster, manifest: Object) -> str:
    """Where a pod goes that is created now."""
    cluster.create_pods(manifest)
    name = manifest["metadata"]["name"]
    return wait_for(lambda: cluster.pod(name).node, every=0.02, saying=f"{name} to be bound")


def scheduled(cluster: Cluster, count: int) -> list[Object]:
    def told() -> list[Object]:
        found = [each for each in cluster.events() if each["reason"] == "Scheduled"]
        return found if len(found) >= count else []

    return wait_for(told, saying=f"{count} Events")
