"""Whatever is read and not acted on is told, with counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mooring.cli.main import cli

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, memory: 8Gi}}
---
"""
POD = "{restartPolicy: Never, containers: [{name: c, image: i}]}"
TEMPLATE = f"{{spec: {POD}}}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "manifests.yaml"


def simulate(file: Path, text: str, *options: str) -> Result:
    file.write_text(NODE + text.replace("TEMPLATE", TEMPLATE).replace("POD", POD))
    result = CliRunner().invoke(cli, ["simulate", str(file), *options])
    assert result.exit_code == 0, result.output
    return result


def line(result: Result) -> str:
    [found] = [each for each in result.output.splitlines() if each.startswith("not acted on: ")]
    return found.removeprefix("not acted on: ")


def obj(version: str, kind: str, name: str = "x", spec: str = "{}") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n"


PODS_OF_OTHERS = obj("v1", "Pod", "a", "{schedulerName: volcano, containers: [{name: c, image: i}]}")

CASES = {
    "kinds that make pods": (
        obj("example.com/v1", "FooJob", "a", "{deep: [{template: TEMPLATE}]}")
        + obj("example.com/v1", "FooJob", "b", "POD"),
        "2 FooJob (they hold pod templates; which pods their operator makes is not known here)",
    ),
    "quotas": (
        obj("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota")
        + obj("scheduling.koordinator.sh/v1alpha1", "Reservation")
        + obj("scheduling.volcano.sh/v1beta1", "Queue", "a")
        + obj("scheduling.run.ai/v2", "Queue", "b")
        + obj("scheduling.koordinator.sh/v1alpha1", "Device"),
        "2 Queue, 1 Device, 1 ElasticQuota, 1 Reservation (what they limit or reserve is not read yet)",
    ),
    "other schedulers": (
        PODS_OF_OTHERS,
        "1 pod of scheduler volcano: --adopt volcano, or a profile of that name",
    ),
    "suspended": (
        obj("batch/v1", "Job", "x", "{suspend: true, template: TEMPLATE}")
        + obj("jobset.x-k8s.io/v1alpha2", "JobSet", "x", "{suspend: true}"),
        "1 Job, 1 JobSet (suspended)",
    ),
    "schedules": (
        obj("batch/v1", "CronJob", "x", "{schedule: '@daily', jobTemplate: {spec: {template: TEMPLATE}}}"),
        "1 CronJob (no pods without --until)",
    ),
    "autoscalers": (
        obj("autoscaling/v2", "HorizontalPodAutoscaler"),
        "1 HorizontalPodAutoscaler (how many pods there are is as written)",
    ),
    "kinds nobody knows": (
        "".join(obj("example.com/v1", f"Kind{n}") for n in range(7)),
        "1 Kind0, 1 Kind1, 1 Kind2, 1 Kind3, 1 Kind4, 2 others (of no kind that is known here)",
    ),
    "what an object refers to": (
        obj("trainer.kubeflow.org/v1alpha1", "TrainJob", "x", "{runtimeRef: {name: torch}}"),
        'TrainJob default/x: its ClusterTrainingRuntime "torch" is not there: its nodes are made without',
    ),
    "pods that come after others": (
        obj("batch/v1", "Job", "x", "{parallelism: 1, completions: 3, template: TEMPLATE}")
        + obj("argoproj.io/v1alpha1", "Workflow", "y", "{entrypoint: a, templates: [{name: a, steps: "
        "[[{name: b, template: c}], [{name: d, template: c}]]}, {name: c, container: {image: i}}]}"),
        "3 pods of Job default/x, Workflow default/y come when pods before them run or finish: "
        "sim.mooring.io/runs-for says when one does",
    ),
    "topology of others": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: "
        "{kueue.x-k8s.io/podset-required-topology: rack}}\nspec: POD\n",
        "1 pod with annotation kueue.x-k8s.io/podset-required-topology: it is not read",
    ),
    "nothing": ("", "there is no pod in what was read, and nothing that makes one"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_is_told_in_one_line(case: str, file: Path) -> None:
    text, said = CASES[case]
    assert line(simulate(file, text)) == said


@pytest.mark.parametrize(
    "text",
    [
        obj("v1", "Pod", "x", "POD"),
        obj("v1", "ConfigMap") + obj("v1", "Pod", "x", "POD"),
        obj("argoproj.io/v1alpha1", "WorkflowTemplate", "x", "{templates: [{containers: [{image: i}]}]}")
        + obj("v1", "Pod", "x", "POD"),
    ],
)
def test_nothing_is_said_where_nothing_is_left_out(text: str, file: Path) -> None:
    assert "not acted on" not in simulate(file, text).output


def test_json_and_page_say_it_too(file: Path, tmp_path: Path) -> None:
    result = simulate(file, PODS_OF_OTHERS, "--json", "--report", str(tmp_path))
    [found] = json.loads(result.output)["not_acted_on"]
    assert (found["what"], found["counts"]) == ("schedulers", {"volcano": 1})
    assert "1 pod of scheduler volcano" in (tmp_path / "index.html").read_text()


def test_adopted_pods_are_placed(file: Path) -> None:
    pods = PODS_OF_OTHERS + PODS_OF_OTHERS.replace("name: a", "name: b").replace("volcano", "kai")
    result = simulate(file, pods, "--adopt", "volcano,kai", "--json")
    assert sorted(json.loads(result.stdout)["placements"]) == ["default/a", "default/b"]
    again = simulate(file, pods, "--adopt", "volcano", "--adopt", "kai")
    assert "2 of 2 pods placed" in again.output


def test_an_adopted_name_that_no_pod_has_is_told(file: Path) -> None:
    result = simulate(file, PODS_OF_OTHERS, "--adopt", "vulcano")
    assert 'note: --adopt: no pod names scheduler "vulcano"' in result.output


def test_gangs_where_nobody_looks_after_gangs(file: Path, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: "
        "{multiPoint: {disabled: [{name: Coscheduling}]}}}]\n"
    )
    labels = "labels: {scheduling.x-k8s.io/pod-group: g}"
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: x, {labels}}}\nspec: POD\n"
    said = line(simulate(file, text, "--config", str(config)))
    assert said == "gangs of 1 pod in all: profile default-scheduler has no plugin for gangs"
