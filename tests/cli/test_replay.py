"""`--record` and `mooring replay`: the same again with the same configuration; what another would decide."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.test_simulate import POLICY

Run = Callable[..., Any]

PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  plugins:
    score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}
"""


@pytest.fixture
def recording(mooring: Run, tmp_path: Path) -> Path:
    file = tmp_path / "run.rec"
    ran = mooring("simulate", "examples/quickstart", "--record", file)
    assert ran.code == 0, ran.err
    return file


def test_the_same_configuration_decides_the_same(mooring: Run, recording: Path) -> None:
    ran = mooring("replay", recording)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(" 0 differences\n")


def test_another_configuration_may_decide_otherwise(mooring: Run, recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(PACKED)
    ran = mooring("replay", recording, "--config", other, "--show", "1")
    assert ran.code == 1, ran.err
    entry, recorded, replayed, last = ran.out.splitlines()
    assert entry.startswith("entry ")
    assert recorded.startswith("  recorded: bind ")
    assert replayed.startswith("  replayed: ")
    assert not last.endswith(" 0 differences")


def test_json(mooring: Run, recording: Path, tmp_path: Path) -> None:
    same = json.loads(mooring("replay", recording, "--json").out)
    assert same["differences"] == 0
    assert same["binds"] > 30
    assert (same["cut"], same["stopped"], same["shown"]) == (False, "", [])
    other = tmp_path / "other.yaml"
    other.write_text(PACKED)
    ran = mooring("replay", recording, "--config", other, "--json", "--show", "2")
    found = json.loads(ran.out)
    assert ran.code == 1
    assert found["differences"] > 2 == len(found["shown"])
    assert found["shown"][0]["recorded"][0]["type"] == "Bind"


def test_a_recording_with_policies_needs_them(mooring: Run, manifests: Path, tmp_path: Path) -> None:
    policies, file = tmp_path / "policies", tmp_path / "run.rec"
    policies.mkdir()
    (policies / "only_b.py").write_text(POLICY)
    assert mooring("simulate", manifests, "--policies", policies, "--record", file).code == 0
    assert mooring("replay", file, "--policies", policies).code == 0
    ran = mooring("replay", file)
    assert ran.code == 2
    assert "OnlyB" in ran.err
    assert "policies are not part of a recording: name their folder with --policies" in ran.err


def test_what_is_no_recording_is_told(mooring: Run, manifests: Path) -> None:
    file = manifests if manifests.is_file() else next(manifests.iterdir())
    ran = mooring("replay", file)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"{file}: is not a recording of Mooring\n"
