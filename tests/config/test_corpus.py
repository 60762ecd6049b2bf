"""Whole configurations, as people write them: good ones do what they say, bad ones are told every mistake.

Files say at their end what is expected of them.

Bad ones: `# expect: line:column: what`, a line for each mistake.
Good ones: `# expect: <profile> scores with <plugin> <weight>, ...` and
`# expect: <profile> filters with <plugin>, ...`, in order.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mooring.app.making import make_engine, read_config
from mooring.cli.check import command
from mooring.engine.decisions import Bind
from mooring.engine.events import NodeAdded, PodAdded
from mooring.plugins.catalogue import make_registry
from mooring.testing import node, pod

CORPUS = Path(__file__).parent / "corpus"
GOOD, BAD = (sorted((CORPUS / name).glob("*.yaml")) for name in ("good", "bad"))
EXPECT = "# expect: "


def expected(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(EXPECT) for line in lines if line.startswith(EXPECT)]


def checked(file: Path) -> list[str]:
    """What `mooring check` says, with places in the file."""
    ran = CliRunner().invoke(command, [str(file), "--json"])
    mistakes = json.loads(ran.stdout)
    assert ran.exit_code == (1 if mistakes else 0)
    return [
        f"{each['place']}: {each['what']}".replace(f"{file}:", "").replace(str(file), "").strip()
        for each in mistakes
    ]


def named(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("file", BAD, ids=named)
def test_every_mistake_is_told(file: Path) -> None:
    assert checked(file) == expected(file) != []


@pytest.mark.parametrize("file", GOOD, ids=named)
def test_nothing_is_wrong_with_it(file: Path) -> None:
    assert checked(file) == []


@pytest.mark.parametrize("file", [file for file in GOOD if expected(file)], ids=named)
def test_it_means_what_it_says(file: Path) -> None:
    said = []
    for plan in read_config(file, make_registry()).profiles:
        uses = [use for use in plan.points["score"] if use.name != "Coscheduling"]  # kube-scheduler has none
        scorers = ", ".join(f"{use.name} {use.weight}" for use in uses)
        filters = ", ".join(use.name for use in plan.points["filter"])
        said.append(f"{plan.scheduler_name} scores with {scorers or 'nothing'}")
        said.append(f"{plan.scheduler_name} filters with {filters}")
    assert [line for line in said if line in expected(file)] == expected(file), said


@pytest.mark.parametrize("file", [file for file in GOOD if named(file) != "extenders"], ids=named)
def test_every_profile_places_pods(file: Path) -> None:
    registry = make_registry()
    engine = make_engine(read_config(file, registry), registry)
    for name in ("a", "b"):
        engine.handle(NodeAdded(node(name).build()), 0.0)
    for number, profile in enumerate(engine.profiles):
        wanted = pod(f"pod-{number}").scheduler(profile).build()
        engine.handle(PodAdded(wanted), 0.0)
        decisions = engine.schedule(0.0)
        assert [type(decision) for decision in decisions or ()] == [Bind]


def test_there_are_files_enough() -> None:
    assert len(GOOD) >= 10
    assert len(BAD) >= 20
