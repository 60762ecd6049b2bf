"""Pods with volumes on the embedded cluster, from manifests to placements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from mooring.app.simulating import simulate
from mooring.sim.result import Result

EXAMPLE = Path(__file__).parents[3] / "examples" / "volumes"
Run = Callable[[str], Result]

NODES = "".join(
    f"""
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}, topology.kubernetes.io/zone: {name[0]}}}}}
status: {{allocatable: {{cpu: "8", memory: 16Gi, pods: "110"}}}}
---"""
    for name in ("a-1", "b-1", "b-2")
)
WAITS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Simulates manifests on three nodes in two zones."""

    def simulated(*texts: str) -> Result:
        file = tmp_path / "all.yaml"
        file.write_text("\n---\n".join([NODES, *map(dedent, texts)]), encoding="utf-8")
        return simulate([str(file)], seed=1)

    return simulated


def claim(name: str, cls: str = "disk", size: str = "10Gi", modes: str = "ReadWriteOnce") -> str:
    return f"""
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {{name: {name}}}
    spec: {{storageClassName: {cls}, accessModes: [{modes}], resources: {{requests: {{storage: {size}}}}}}}
    """


def pod(name: str, *claims: str, extra: str = "") -> str:
    volumes = ", ".join(f"{{name: {each}, persistentVolumeClaim: {{claimName: {each}}}}}" for each in claims)
    container = '{name: c, image: "c:1", resources: {requests: {cpu: "1"}}}'
    return f"""
    apiVersion: v1
    kind: Pod
    metadata: {{name: {name}, annotations: {{{extra}}}}}
    spec: {{containers: [{container}], volumes: [{volumes}]}}
    """


def test_the_example() -> None:
    result = simulate([str(EXAMPLE)])
    placed = result.placements
    assert placed["default/cache"] == "a-1"
    assert {placed[f"default/db-{index}"][0] for index in range(3)} == {"b"}
    assert placed["default/scratch"][0] == "b"
    (message,) = (each.message for each in result.pending.values())
    assert "4 node(s) didn't find available persistent volumes to bind" in message


def test_a_stateful_set_goes_where_its_volumes_can_be_made(run: Run) -> None:
    topology = "allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [b-2]}]}]"
    result = run(
        WAITS + topology,
        """
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: db}
        spec:
          replicas: 3
          selector: {matchLabels: {app: db}}
          template:
            metadata: {labels: {app: db}}
            spec:
              containers: [{name: db, image: "db:1", resources: {requests: {cpu: "1"}}}]
              terminationGracePeriodSeconds: 0
          volumeClaimTemplates:
            - metadata: {name: data}
              spec:
                storageClassName: disk
                accessModes: [ReadWriteOnce]
                resources: {requests: {storage: 1Gi}}
        """,
    )
    assert result.placements == {f"default/db-{index}": "b-2" for index in range(3)}
    assert not result.pending


def test_pods_that_share_a_claim_follow_the_first(run: Run) -> None:
    first, *others = run(
        WAITS, claim("shared"), *(pod(f"p{n}", "shared") for n in range(4))
    ).placements.values()
    assert {name[0] for name in others} == {first[0]}  # the zone the volume was made in


def test_immediate_claims_are_bound_before_the_pod_comes(run: Run) -> None:
    now = WAITS.replace("WaitForFirstConsumer", "Immediate")
    assert not run(now, claim("c"), pod("p", "c")).pending


def test_without_a_class_claims_stay_unbound(run: Run) -> None:
    (message,) = (each.message for each in run(claim("c"), pod("p", "c")).pending.values())
    assert message.startswith("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.")


def test_a_claim_that_comes_later_wakes_its_pod(run: Run) -> None:
    late = claim("c").replace("name: c}", 'name: c, annotations: {sim.mooring.io/arrives-at: "60s"}}')
    result = run(WAITS, pod("p", "c"), late)
    assert list(result.placements) == ["default/p"]
    assert result.summary.end_time_s >= 60


def test_one_pod_at_a_time(run: Run) -> None:
    alone = claim("c", modes="ReadWriteOncePod")
    result = run(WAITS, alone, pod("p", "c", extra='sim.mooring.io/runs-for: "30s"'), pod("q", "c"))
    assert sorted(result.placements) == ["default/p", "default/q"]
    assert result.summary.end_time_s >= 30
    (message,) = (each.message for each in run(WAITS, alone, pod("p", "c"), pod("q", "c")).pending.values())
    assert "already in-use by another pod" in message


def test_local_volumes_run_out(run: Run) -> None:
    local = WAITS.replace("disk.example.com", "kubernetes.io/no-provisioner")
    volumes = [
        f"""
        apiVersion: v1
        kind: PersistentVolume
        metadata: {{name: local-{name}}}
        spec:
          storageClassName: disk
          accessModes: [ReadWriteOnce]
          capacity: {{storage: 20Gi}}
          nodeAffinity:
            required:
              nodeSelectorTerms:
                - matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: [{name}]}}]
        """
        for name in ("a-1", "b-2")
    ]
    pods = [text for n in range(3) for text in (claim(f"c{n}"), pod(f"p{n}", f"c{n}"))]
    result = run(local, *volumes, *pods)
    assert sorted(result.placements.values()) == ["a-1", "b-2"]
    assert len(result.pending) == 1


def test_room_runs_out(run: Run) -> None:
    driver = """
    apiVersion: storage.k8s.io/v1
    kind: CSIDriver
    metadata: {name: disk.example.com}
    spec: {storageCapacity: true}
    """
    room = """
    apiVersion: storage.k8s.io/v1
    kind: CSIStorageCapacity
    metadata: {name: b}
    storageClassName: disk
    capacity: 25Gi
    nodeTopology: {matchLabels: {topology.kubernetes.io/zone: b}}
    """
    pods = [text for n in range(3) for text in (claim(f"c{n}"), pod(f"p{n}", f"c{n}"))]
    result = run(WAITS, driver, room, *pods)
    assert {name[0] for name in result.placements.values()} == {"b"}
    assert len(result.placements) == 2
    (message,) = (each.message for each in result.pending.values())
    assert "3 node(s) did not have enough free storage" in message


def test_a_driver_attaches_only_so_many(run: Run) -> None:
    limits = [
        f"""
        apiVersion: storage.k8s.io/v1
        kind: CSINode
        metadata: {{name: {name}}}
        spec: {{drivers: [{{name: disk.example.com, nodeID: x, allocatable: {{count: 1}}}}]}}
        """
        for name in ("a-1", "b-1", "b-2")
    ]
    pods = [text for n in range(4) for text in (claim(f"c{n}"), pod(f"p{n}", f"c{n}"))]
    result = run(WAITS, *limits, *pods)
    assert sorted(result.placements.values()) == ["a-1", "b-1", "b-2"]
    (message,) = (each.message for each in result.pending.values())
    assert "3 node(s) exceed max volume count" in message
