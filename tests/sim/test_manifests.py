from __future__ import annotations

import json
from pathlib import Path

import pytest

from mooring.errors import ManifestError
from mooring.model.objects import Node, Pod
from mooring.sim.manifests.manifests import read_manifests
from mooring.sim.world.workloads import DaemonSet, Deployment, Job, PriorityClass, ReplicaSet, StatefulSet

from .conftest import read

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: i}]}\n"


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("v1", "Node", Node),
        ("v1", "Pod", Pod),
        ("apps/v1", "Deployment", Deployment),
        ("apps/v1", "ReplicaSet", ReplicaSet),
        ("apps/v1", "StatefulSet", StatefulSet),
        ("apps/v1", "DaemonSet", DaemonSet),
        ("batch/v1", "Job", Job),
    ],
)
def test_known_kinds_are_typed(api_version: str, kind: str, expected: type) -> None:
    [entry] = read(f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}}}")
    assert type(entry.value) is expected
    assert entry.object.kind == kind


def test_other_kinds_stay_plain_data() -> None:
    [entry] = read("""
        apiVersion: scheduling.x-k8s.io/v1alpha1
        kind: PodGroup
        metadata: {name: gang}
        spec: {minMember: 3}
    """)
    assert entry.value is None
    assert entry.object.key == "default/gang"
    assert entry.object.data["spec"] == {"minMember": 3}


def test_a_job_of_another_group_is_not_a_job() -> None:
    [entry] = read("{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: a}}")
    assert entry.value is None


def test_priority_classes_are_typed() -> None:
    [entry] = read("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}, value: 7}")
    assert isinstance(entry.value, PriorityClass)
    assert entry.value.value == 7


@pytest.mark.parametrize("kind", ["Node", "Namespace", "PersistentVolume"])
def test_cluster_wide_kinds_get_no_namespace(kind: str) -> None:
    [entry] = read(f"{{apiVersion: v1, kind: {kind}, metadata: {{name: a}}}}")
    assert entry.object.metadata.namespace == ""


def test_definitions_say_which_kinds_are_cluster_wide() -> None:
    entries = read("""
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: fleets.example.com}
        spec: {scope: Cluster, names: {kind: Fleet}}
        ---
        {apiVersion: example.com/v1, kind: Fleet, metadata: {name: a}}
    """)
    assert entries[1].object.key == "a"


def test_lists_are_flattened_however_deep() -> None:
    entries = read("""
        apiVersion: v1
        kind: List
        items:
          - {apiVersion: v1, kind: Pod, metadata: {name: a}}
          - apiVersion: v1
            kind: PodList
            items: [{metadata: {name: b}}, {metadata: {name: c}}]
    """)
    assert [(type(entry.value), entry.object.key) for entry in entries] == [
        (Pod, "default/a"),
        (Pod, "default/b"),
        (Pod, "default/c"),
    ]


def test_an_empty_list_is_fine() -> None:
    assert read("{apiVersion: v1, kind: List, items: []}") == ()


def test_nulls_count_as_absent() -> None:
    [entry] = read("""
        apiVersion: v1
        kind: Pod
        metadata: {name: a, labels: null, creationTimestamp: null}
        spec: {containers: [{name: c, resources: {limits: }}], affinity: null}
        status: {}
    """)
    assert isinstance(entry.value, Pod)
    assert entry.value.spec.affinity is None


def test_configuration_among_manifests_is_passed_over() -> None:
    assert read("{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}\n---\n") == ()


def test_folders_are_read_whole_and_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "in-json"}})
    )
    (tmp_path / "a.yml").write_text(POD % "in-yml")
    (tmp_path / "c.yaml").write_text(POD % "in-yaml")
    (tmp_path / "notes.txt").write_text("not a manifest")
    names = [entry.object.metadata.name for entry in read_manifests([tmp_path])]
    assert names == ["in-yml", "in-json", "in-yaml"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(POD % "a")
    assert len(read_manifests([file, tmp_path, str(file)])) == 1


def test_times_come_from_annotations() -> None:
    pod, node = read("""
        apiVersion: v1
        kind: Pod
        metadata: {name: a, annotations: {sim.mooring.io/arrives-at: 1m30s}}
        ---
        apiVersion: v1
        kind: Node
        metadata:
          name: n
          annotations: {sim.mooring.io/arrives-at: 10s, sim.mooring.io/leaves-at: 1h}
    """)
    assert pod.arrives_at == 90.0
    assert (node.arrives_at, node.leaves_at) == (10.0, 3600.0)


def test_a_workload_comes_when_both_it_and_its_template_say() -> None:
    [entry] = read("""
        apiVersion: batch/v1
        kind: Job
        metadata: {name: a, annotations: {sim.mooring.io/arrives-at: 5s}}
        spec:
          template:
            metadata: {annotations: {sim.mooring.io/arrives-at: 8s}}
    """)
    assert entry.arrives_at == 8.0


def test_all_mistakes_of_all_files_come_at_once(tmp_path: Path) -> None:
    first, second, empty = tmp_path / "1.yaml", tmp_path / "2.yaml", tmp_path / "empty"
    first.write_text("kind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\n")
    second.write_text("a: [\n")
    empty.mkdir()
    with pytest.raises(ManifestError) as caught:
        read_manifests([first, tmp_path / "none.yaml", second, empty])
    assert [str(mistake).replace(str(tmp_path), "") for mistake in caught.value.mistakes][:4] == [
        "/1.yaml:1:1: apiVersion is missing.",
        "/1.yaml:4:1: metadata.name is missing.",
        "/none.yaml: no such file or folder.",
        "/2.yaml:2:1: not valid YAML: did not find expected node content "
        "(while parsing a flow node from line 2).",
    ]
    assert str(caught.value.mistakes[-1]).endswith("/empty: no *.yaml, *.yml or *.json file in this folder.")


def test_a_file_without_objects_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("# nothing\n---\n")
    with pytest.raises(ManifestError, match=r"a\.yaml: no object in it\."):
        read_manifests([file])


def test_text_that_is_not_utf8_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: \xff\xfe")
    with pytest.raises(ManifestError, match=r"a\.yaml: not UTF-8 text\."):
        read_manifests([file])
