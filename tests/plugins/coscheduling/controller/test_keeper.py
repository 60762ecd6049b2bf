"""The plugin's own gangs and what is written about them, in an embedded cluster."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from mooring.app.simulating import simulate
from mooring.framework.api.writes import Write
from mooring.sim.performer import Performer

NODE = """
    apiVersion: v1
    kind: Node
    metadata: {name: n1}
    status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
"""
DEFINITION = """
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: podgroups.scheduling.sigs.k8s.io}
    spec: {group: scheduling.sigs.k8s.io, scope: Namespaced, names: {kind: PodGroup, plural: podgroups}}
"""
POD_GROUP = """
    apiVersion: scheduling.sigs.k8s.io/v1alpha1
    kind: PodGroup
    metadata: {name: train, namespace: default}
    spec: {minMember: 2}
"""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Write]:
    writes: list[Write] = []
    real = Performer.perform_write

    def perform_write(self: Performer, decision: Write) -> None:
        writes.append(decision)
        real(self, decision)

    monkeypatch.setattr(Performer, "perform_write", perform_write)
    return writes


def member(number: int, marks: str, *, arrives: str = "0s", runs: str = "60s") -> str:
    return f"""
    apiVersion: v1
    kind: Pod
    metadata:
      name: train-{number}
      namespace: default
      {marks}
    spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1"}}}}}}]}}
    """.replace("TIMES", f"sim.mooring.io/arrives-at: {arrives}, sim.mooring.io/runs-for: {runs}")


LABEL = "labels: {pod-group.scheduling.sigs.k8s.io: train}\n      annotations: {TIMES}"
ANNOTATED = (
    "annotations: {gang.scheduling.koordinator.sh/name: train, "
    'gang.scheduling.koordinator.sh/min-available: "2", TIMES}'
)


def run(tmp_path: Path, *documents: str) -> None:
    file = tmp_path / "gang.yaml"
    file.write_text("\n---\n".join(map(dedent, documents)), encoding="utf-8")
    simulate([str(file)])


def said(written: list[Write]) -> list[str]:
    return [write.body["status"]["phase"] if write.verb == "patch" else write.verb for write in written]


def test_the_phases_of_a_gang(tmp_path: Path, written: list[Write]) -> None:
    """In a simulation pods run as soon as they are bound. Those that finish are counted as they end."""
    run(
        tmp_path,
        NODE,
        POD_GROUP,
        member(0, LABEL),
        member(1, LABEL, arrives="30s"),
    )
    phases = said([write for write in written if "phase" in write.body["status"]])
    assert phases == ["Pending", "Scheduling", "Running", "Finished"]
    assert {write.key for write in written} == {"default/train"}


def test_a_gang_of_annotations(tmp_path: Path, written: list[Write]) -> None:
    run(tmp_path, NODE, DEFINITION, member(0, ANNOTATED), member(1, ANNOTATED))
    assert said(written) == ["create", "Running", "delete"]


def test_without_the_kind_nothing_comes_of_it(tmp_path: Path, written: list[Write]) -> None:
    run(tmp_path, NODE, member(0, ANNOTATED), member(1, ANNOTATED))
    assert set(said(written)) == {"create"}
