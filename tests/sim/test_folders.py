"""Folders as people keep them: what is read, what is passed over, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import ManifestError, Mistake
from mooring.sim.manifests.manifests import read_manifests

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: i}]}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"

Write = Callable[[dict[str, str]], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Write:
    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return write


def load(path: Path) -> tuple[list[str], list[str]]:
    """The names of the objects of a folder, and the notes, with paths from there."""
    remarks: list[Mistake] = []
    entries = read_manifests([path], remark=remarks.append)
    names = [entry.object.metadata.name for entry in entries]
    return names, [str(remark).replace(f"{path}/", "") for remark in remarks]


PASSED_OVER = {
    "dot-file": (".hidden.yaml", POD % "x", "dot-files"),
    "dot-folder": (".github/workflows/ci.yaml", "on: push\n", "dot-files"),
    "test data": ("pkg/testdata/pod.yaml", POD % "x", "testdata"),
    "values": ("values.yaml", "replicaCount: 1\nimage: {tag: x}\n", "holds no Kubernetes object"),
    "a list": ("list.yaml", "- a\n- b\n", "holds no Kubernetes object"),
    "package": ("package.json", json.dumps({"name": "x", "scripts": {}}), "holds no Kubernetes object"),
    "JSON with comments": ("tsconfig.json", '// x\n{"a": 1,}\n', "holds no Kubernetes object"),
    "tags of CloudFormation": (
        "cf.yaml",
        "Resources: {A: {Ref: !GetAtt x.y}}\n",
        "holds no Kubernetes object",
    ),
    "kind's cluster": (
        "kind.yaml",
        "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: [{role: worker}]\n",
        "Cluster of kind.x-k8s.io/v1alpha4 is configuration of a tool",
    ),
    "descheduler": (
        "policy.yaml",
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: []\n",
        "DeschedulerPolicy of descheduler/v1alpha2 is configuration of a tool",
    ),
    "kubeconfig": (
        "config.yaml",
        "apiVersion: v1\nkind: Config\nclusters: []\n",
        "Config of v1 is configuration",
    ),
    "kubeadm": (
        "kubeadm.yaml",
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n",
        "ClusterConfiguration of kubeadm.k8s.io/v1beta4 is configuration of a tool",
    ),
    "skaffold": (
        "skaffold.yaml",
        "apiVersion: skaffold/v4beta1\nkind: Config\nmetadata: {name: x}\n",
        "Config of skaffold/v4beta1 is configuration of a tool",
    ),
    "patch": (
        "patch.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{$patch: delete, name: c}]}\n",
        "is a kustomize patch ($patch)",
    ),
    "broken template": (
        "t.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Name }}\n{{- if .x }}\nspec: {}\n{{- end }}\n",
        "is a template that has to be filled in first",
    ),
    "template in quotes": ("t.yaml", POD % '"{{ .Name }}"', "is a template that has to be filled in first"),
    "envsubst": (
        "t.yaml",
        "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: x}\nspec:\n  replicas: ${REPLICAS}\n",
        "is a template that has to be filled in first",
    ),
}


@pytest.mark.parametrize(("name", "text", "words"), PASSED_OVER.values(), ids=PASSED_OVER)
def test_what_is_no_manifest_is_passed_over_with_a_note(
    folder: Write, name: str, text: str, words: str
) -> None:
    names, notes = load(folder({"pod.yaml": POD % "a", name: text}))
    assert names == ["a"]
    assert [note for note in notes if note.startswith(name) and words in note]


def test_what_is_not_text_is_passed_over(folder: Write) -> None:
    path = folder({"pod.yaml": POD % "a"})
    (path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    assert load(path) == (["a"], ["x.yaml: is not UTF-8 text; it is not read."])


def test_the_same_reason_is_told_once(folder: Write) -> None:
    _, notes = load(folder({f"v{index}/values.yaml": "a: 1\n" for index in range(5)}))
    assert notes == [
        "v0/values.yaml, v1/values.yaml, v2/values.yaml and 2 more: "
        "holds no Kubernetes object; it is not read."
    ]


def test_charts_are_not_rendered_but_their_definitions_are_read(folder: Write) -> None:
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n"
    path = folder(
        {
            "web/Chart.yaml": "apiVersion: v2\nname: web\n",
            "web/values.yaml": "replicas: 1\n",
            "web/templates/pod.yaml": POD % "fixed",
            "web/crds/a.yaml": crd,
            "pod.yaml": POD % "a",
        }
    )
    names, notes = load(path)
    assert names == ["a", "a.b"]
    assert [
        note for note in notes if note.startswith("web: is a Helm chart and not rendered; `helm template")
    ]


def test_kustomizations_say_what_is_a_resource(folder: Write) -> None:
    path = folder(
        {
            "base/kustomization.yaml": "resources: [web.yaml]\ncommonLabels: {app: web}\n",
            "base/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
            "spec: {template: {spec: {containers: [{name: c, image: i}]}}}\n",
            "base/unlisted.yaml": POD % "unlisted",
            "overlays/prod/kustomization.yaml": "namespace: prod\nresources: [../../base, extra.yaml]\n"
            "patches: [{path: more.yaml}]\nconfigMapGenerator: [{name: x, files: [settings.json]}]\n",
            "overlays/prod/more.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
            "spec: {replicas: 5}\n",
            "overlays/prod/settings.json": "{}",
            "overlays/prod/extra.yaml": POD % "extra",
        }
    )
    entries = read_manifests([path])
    assert [entry.object.key for entry in entries] == ["default/web", "prod/extra"]
    assert entries[0].object.data["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    _, notes = load(path)
    assert [note for note in notes if "is not built" in note and "`kubectl kustomize DIRECTORY |" in note]
    assert [
        note
        for note in notes
        if note.startswith("overlays/prod/more.yaml, overlays/prod/settings.json: is no")
    ]
    assert [note for note in notes if note.startswith("base/unlisted.yaml: lies beside a kustomization")]


def test_an_object_given_again_and_equal_is_one(folder: Write) -> None:
    names, notes = load(
        folder({"a.yaml": POD % "a", "b.yaml": POD % "a, namespace: default" + "status: {}\n"})
    )
    assert names == ["a"]
    assert notes == ["b.yaml:3:18: the same object again, and equal; it is one."]


def test_an_object_given_again_and_differently_is_a_mistake(folder: Write) -> None:
    path = folder({"a.yaml": POD % "a", "b.yaml": (POD % "a").replace("image: i", "image: j")})
    with pytest.raises(ManifestError) as caught:
        read_manifests([path])
    assert str(caught.value).replace(f"{path}/", "") == (
        "b.yaml:3:18: Pod default/a is given twice and differently; the first is at a.yaml:3:18."
    )


def test_further_down_the_first_counts(folder: Write) -> None:
    other = (POD % "a").replace("image: i", "image: j")
    names, notes = load(folder({"dev/a.yaml": POD % "a", "prod/a.yaml": other}))
    assert names == ["a"]
    assert notes == [
        "prod/a.yaml:3:18 (Pod default/a, first at dev/a.yaml:3:18): given again and differently; "
        "the first counts: name the file or folder that is meant."
    ]


def test_what_decides_nothing_may_differ(folder: Write) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: %s}\n"
    names, notes = load(folder({"a.yaml": text % "x", "b.yaml": text % "y"}))
    assert names == ["a"]
    assert "given again and differently; the first counts" in notes[0]


def test_namespaces_have_the_labels_of_all(folder: Write) -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {%s}}\n"
    [entry] = read_manifests([folder({"a.yaml": text % "a: b", "b.yaml": text % "c: d"})])
    assert entry.object.metadata.labels == {"a": "b", "c": "d"}


def test_mistakes_further_down_leave_one_object_out(folder: Write) -> None:
    typo = (POD % "b").replace("containers", "nodeselector: {a: b}, containers")
    names, notes = load(
        folder({"app/a.yaml": f"{POD % 'a'}---\n{typo}", "app/bad.yaml": "apiVersion: v1\nkind: [\n"})
    )
    assert names == ["a"]
    assert notes[0].startswith("app/bad.yaml:")
    assert notes[0].endswith("It is left out.")
    assert notes[1] == (
        'app/a.yaml:9:8: unknown field "spec.nodeselector". Did you mean "nodeSelector"? It is left out.'
    )


def test_mistakes_right_in_the_folder_are_mistakes(folder: Write) -> None:
    typo = (POD % "b").replace("containers", "nodeselector: {a: b}, containers")
    with pytest.raises(ManifestError, match="unknown field"):
        read_manifests([folder({"a.yaml": typo})])


def test_many_left_out_are_counted(folder: Write) -> None:
    _, notes = load(folder({f"x/{index}.yaml": f"{POD % index}" for index in range(30)}))
    assert len(notes) == 21
    assert notes[-1].startswith("and 10 more mistakes")


def test_a_dump_without_its_priority_classes(folder: Write) -> None:
    meta = "uid: u%s, resourceVersion: '5'"
    dump = f"""
apiVersion: v1
kind: List
items:
- {{apiVersion: v1, kind: Node, metadata: {{name: n, {meta % 0}}}}}
- apiVersion: v1
  kind: Pod
  metadata: {{name: web-1-a, {meta % 1}, ownerReferences: [
    {{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, controller: true}}]}}
  spec: {{priorityClassName: high, priority: 7, nodeName: n, containers: [{{name: c, image: i}}],
    fromTheFuture: 1}}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata: {{name: web-1, {meta % 2}}}
  spec: {{replicas: 1, selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}},
    spec: {{priorityClassName: high, containers: [{{name: c, image: i}}]}}}}}}
"""
    names, notes = load(folder({"dump.yaml": dump}))
    assert names == ["n", "web-1-a", "web-1"]
    assert notes == ['dump.yaml:11:5: unknown field "spec.fromTheFuture".']


def test_names_of_what_is_not_given_are_told(folder: Write) -> None:
    spec = "spec: {priorityClassName: critical, containers"
    bound = (POD % "b").replace("spec: {", "spec: {nodeName: far, ")
    names, notes = load(
        folder({"a.yaml": (POD % "a").replace("spec: {containers", spec), "b.yaml": bound, "n.yaml": NODE})
    )
    assert names == ["a", "n"]
    assert [
        note
        for note in notes
        if note.startswith('a.yaml:4:27: priorityClassName "critical" names no PriorityClass')
    ]
    assert [
        note
        for note in notes
        if note.startswith("b.yaml:4:18: the pod is bound to node far, which is not given")
    ]


SETS = ("DaemonSet", "StatefulSet", "ReplicaSet")
REMOVED = {
    "extensions/v1beta1 Deployment": "apps/v1",
    "extensions/v1beta1 DaemonSet": "apps/v1",
    "extensions/v1beta1 Ingress": "networking.k8s.io/v1",
    "apps/v1beta1 StatefulSet": "apps/v1",
    "apps/v1beta2 ReplicaSet": "apps/v1",
    "batch/v1beta1 CronJob": "batch/v1",
    "policy/v1beta1 PodDisruptionBudget": "policy/v1",
    "scheduling.k8s.io/v1beta1 PriorityClass": "scheduling.k8s.io/v1",
    "node.k8s.io/v1beta1 RuntimeClass": "node.k8s.io/v1",
    "storage.k8s.io/v1beta1 StorageClass": "storage.k8s.io/v1",
    "autoscaling/v2beta2 HorizontalPodAutoscaler": "autoscaling/v2",
}


@pytest.mark.parametrize("what", REMOVED)
def test_removed_versions_are_read_as_their_successors(folder: Write, what: str) -> None:
    version, kind = what.split()
    spec = "{template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}"
    job = '{schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, %s}}}}}'
    job %= "containers: [{name: c, image: i}]"
    spec = job if kind == "CronJob" else spec if kind in ("Deployment", *SETS) else "{}"
    rest = "value: 1\n" if kind == "PriorityClass" else f"spec: {spec}\n"
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n{rest}"
    text = text.replace("spec: {}\n", "") if kind in ("RuntimeClass", "StorageClass") else text
    path = folder({"a.yaml": text})
    [entry] = read_manifests([path])
    assert entry.object.api_version == REMOVED[what]
    _, notes = load(path)
    assert notes[0].startswith(f"a.yaml:1:13: {kind} of {version} was removed in Kubernetes 1.")
    assert notes[0].endswith(f"; it is read as one of {REMOVED[what]}.")


def test_runtime_classes_that_are_not_given_are_told(folder: Write) -> None:
    _, notes = load(folder({"a.yaml": (POD % "a").replace("spec: {", "spec: {runtimeClassName: nvidia, ")}))
    assert notes == [
        'a.yaml:4:26: runtimeClassName "nvidia" names no RuntimeClass here; '
        "what it asks of nodes is not known."
    ]


def test_quotas_of_other_objects_are_told(folder: Write) -> None:
    text = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
    text += "spec: {hard: {pods: 1, count/services: 2}}\n"
    _, notes = load(folder({"q.yaml": text}))
    assert notes == ["q.yaml:4:40: a quota of count/services is not acted on: only those of pods are."]
