"""The same scenario in simulation and on the real API server tells the same story.

Each is simulated first. What happened there from outside is done to a real API server, moment by moment, with
Mooring deciding by the same configuration; then every pod has the same node or the same condition, and the
same Events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.control_plane import ControlPlane
from e2e.gangs import install
from e2e.mooring_process import mooring
from e2e.played import BARE, Stage
from e2e.scenarios import scenario
from e2e.scheduler import Scheduler
from e2e.simulated import Played, Story, simulated, uncounted_story
from e2e.waiting import wait_for

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAYED_ONLY = {EXAMPLES / "operators"}  # no operator runs beside the API server that would make its pods
FOLDERS = sorted({file.parent for file in EXAMPLES.rglob("*nodes.yaml")} - PLAYED_ONLY)
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"pluginConfig": [{"name": "Mooring", "args": {"ties": "First"}}]}],
}
TENTH = re.compile(r"(sim\.mooring\.io/[a-z-]+: )(\d+)([sm])")
SEEDS = range(100)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("config") / "scheduler.yaml"
    file.write_text(json.dumps(CONFIG))
    return file


@pytest.fixture(scope="module")
def started_stage(tmp_path_factory: pytest.TempPathFactory, config: Path) -> Iterator[Stage]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("same-story")
        plane = stack.enter_context(ControlPlane(folder, {"kube-apiserver": BARE}, bare=True))
        install(plane)
        flags = (
            "--authorization-always-allow-paths=/metrics,/readyz",
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
            "--seed=0",
        )

        def start() -> Scheduler:
            return stack.enter_context(mooring(plane, config, kubeconfig=plane.kubeconfig, flags=flags))

        yield Stage(plane, start)


@pytest.fixture
def stage(started_stage: Stage) -> Iterator[Stage]:
    yield started_stage
    started_stage.clean()


@pytest.mark.parametrize("seed", SEEDS)
def test_generated(stage: Stage, config: Path, tmp_path: Path, seed: int) -> None:
    file = tmp_path / "scenario.yaml"
    for drawn in range(seed, 10_000, len(SEEDS)):
        file.write_text("\n---\n".join(map(json.dumps, scenario(drawn))))
        if not (played := simulated([file], config)).depends_on_pace():
            break
    compare(stage, played)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(EXAMPLES).as_posix())
def test_examples(stage: Stage, config: Path, tmp_path: Path, folder: Path) -> None:
    """In a tenth of the time: what time alone brings is for tests of the simulator."""
    files = [tmp_path / file.name for file in sorted(folder.glob("*.yaml"))]
    for file in files:
        file.write_text(TENTH.sub(_tenth, (folder / file.name).read_text()))
    compare(stage, simulated(files, config), loosely=True)


def _tenth(found: re.Match[str]) -> str:
    return f"{found[1]}{int(found[2]) * (60 if found[3] == 'm' else 1) / 10:g}s"


def compare(stage: Stage, played: Played, *, loosely: bool = False) -> None:
    expected = played.story()
    if played.evicted:  # among nodes that are alike the first looked at is drawn
        stage.restart()
    stage.play(played.moments, loosely=loosely)

    def same() -> bool:
        assert not (different := difference(expected, stage.story(), loosely=loosely)), different
        return True

    wait_for(same, within=10, every=0.05, saying="the same story")


def difference(expected: Story, real: Story, *, loosely: bool) -> str:
    if loosely:
        expected, real = uncounted_story(expected), uncounted_story(real)
    return "\n".join(
        f"{key}:\n  simulated {expected.get(key)}\n  real      {real.get(key)}"
        for key in sorted(expected.keys() | real.keys())
        if expected.get(key) != real.get(key)
    )
