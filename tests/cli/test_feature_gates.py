"""Feature gates on the command line: they reach the plugins, and mistakes in them are bad usage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SHAPE = "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args:\n      shape: [{score: 1}]\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 4, pods: 10}}\n"
REFUSED = 'initializing plugin "VolumeBinding": shape needs the feature gate StorageCapacityScoring'
COMMANDS = ("check", "simulate", "run")


@pytest.fixture
def shape(tmp_path: Path) -> Path:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + SHAPE)
    return file


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    file = tmp_path / "nodes.yaml"
    file.write_text(NODE)
    return file


def test_a_gate_makes_an_argument_right(mooring: Run, shape: Path) -> None:
    assert mooring("check", shape).out == f"{shape}:7:14: {REFUSED}\n"
    ran = mooring("check", shape, "--feature-gates", "StorageCapacityScoring=true")
    assert (ran.code, ran.out) == (0, "1 file, no mistakes\n")


@pytest.mark.parametrize("gates", ["StorageCapacityScoring=true", "AllAlpha=true,VolumeLimitScaling=false"])
def test_a_simulation_runs_with_it(mooring: Run, shape: Path, nodes: Path, gates: str) -> None:
    ran = mooring("simulate", nodes, "--config", shape)
    assert ran.code == 2
    assert f"{shape}:7:14: {REFUSED}" in ran.err
    assert mooring("simulate", nodes, "--config", shape, "--feature-gates", gates).code == 0


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("gates", "what"),
    [
        ("StorageCapacityScorin=true", "unrecognized feature gate: StorageCapacityScorin. Did you mean"),
        ("SidecarContainers=false", "cannot set feature gate SidecarContainers to false"),
        ("GangScheduling=true", "depends on features that are disabled: GenericWorkload"),
        ("VolumeLimitScaling", 'missing value in "VolumeLimitScaling"'),
        ("VolumeLimitScaling=maybe", "expected true or false"),
    ],
)
def test_mistakes_are_bad_usage(mooring: Run, nodes: Path, command: str, gates: str, what: str) -> None:
    files = [] if command == "run" else [nodes]
    ran = mooring(command, *files, "--feature-gates", gates)
    assert ran.code == 2
    assert what in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_wrong_gate_is_told(mooring: Run, nodes: Path, command: str) -> None:
    files = [] if command == "run" else [nodes]
    ran = mooring(command, *files, "--feature-gates", "One=true,VolumeLimitScaling=2")
    assert "One" in ran.err
    assert "VolumeLimitScaling" in ran.err
