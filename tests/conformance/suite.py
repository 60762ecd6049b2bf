"""Kubernetes' own end-to-end suite for scheduling as a program, and one run of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from conformance.results import Lines
from e2e import binaries
from e2e.control_plane import ControlPlane
from e2e.process import Process

SUITE = binaries.OwnProgram(
    "scheduling-suite", str(Path(__file__).parent / "suite"), "k8s.io/kubernetes", "."
)
# Specs of alpha features test API groups that no server has unless it is told to.
SELECTED = "--ginkgo.label-filter=!Alpha"
AT_MOST = "45m"
LIST_SECONDS = 60


class SuiteFailed(Exception):
    """The suite did not even start; says what it said."""


def specs(focus: str, folder: Path) -> list[str]:
    """The names of the specs that would run, in order of the alphabet."""
    told = folder / "specs.jsonl"
    command = [SUITE.path, f"--results={told}", "--ginkgo.dry-run", *selection(focus)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIST_SECONDS, check=False, cwd=folder
    )
    if done.returncode:
        said = done.stdout + done.stderr
        panics = (line for line in said.splitlines() if line.startswith("panic: "))  # a focus it cannot read
        raise SuiteFailed(next(panics, said))
    return sorted({each.name for each in Lines(told).new()})


def suite_run(plane: ControlPlane, folder: Path, node_count: int, focus: str, seed: int | None) -> Process:
    """The suite against this control plane, not started yet; it tells results to `results.jsonl` there."""
    command = [
        SUITE.path,
        f"--results={folder / 'results.jsonl'}",
        f"--kubeconfig={plane.kubeconfig}",
        "--provider=skeleton",
        f"--num-nodes={node_count}",
        f"--kubectl-path={binaries.program('kubectl')}",
        f"--ginkgo.timeout={AT_MOST}",
        "--ginkgo.v",
        "--ginkgo.no-color",
        *selection(focus),
        *([f"--ginkgo.seed={seed}"] if seed is not None else ()),
    ]
    return Process("the suite", command, folder / "suite.log")


def selection(focus: str) -> list[str]:
    return [SELECTED, *([f"--ginkgo.focus={focus}"] if focus else ())]
