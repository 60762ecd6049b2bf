"""Gangs in a run's result, its tables and its page."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from mooring.app.simulating import simulate
from mooring.cli.main import cli
from mooring.sim.report import render
from mooring.sim.report.gangs import where
from mooring.sim.result import Result, to_data

EXAMPLES = Path(__file__).parents[2] / "examples" / "gangs"


def run(example: str) -> Result:
    return simulate([str(EXAMPLES / example)])


def test_one_gang_after_the_other() -> None:
    result = run("conflict")
    red, blue = result.gangs["default/red"], result.gangs["default/blue"]
    assert {red.placed, red.members, blue.placed, blue.members} == {6}
    assert sorted([red.started_s, blue.started_s]) == [1.0, 601.0]  # type: ignore[type-var]


def test_a_gang_that_does_not_start_says_why() -> None:
    result = run("training")
    gang = result.gangs["default/too-large"]
    assert (gang.placed, gang.members, gang.started_s) == (0, 10, None)
    assert "can be placed" in gang.message
    assert result.gangs["default/train"].message == ""


def test_a_launcher_that_comes_late() -> None:
    gang = run("mpi").gangs["default/mpi"]
    assert (gang.placed, gang.members, gang.started_s) == (5, 5, 10.0)


def test_gangs_stay_in_their_racks() -> None:
    result = run("racks")
    racks = {
        name: {result.network[node] for node in gang.pods.values()} for name, gang in result.gangs.items()
    }
    assert [len(racks[f"default/{name}"]) for name in ("in-a-rack", "close", "nowhere")] == [1, 1, 0]
    assert len(racks["default/in-a-spine"]) == 2
    assert len({spine for spine, _ in racks["default/in-a-spine"]}) == 1
    page = render(result)
    assert page.count('<div class="rack">') == 4
    assert page.count('<div class="seats"') == 12
    assert page.count('</i><i class="c') + page.count('"><i class="c') == 34


def test_data_have_gangs_only_when_there_are_any() -> None:
    gangs = to_data(run("mpi"))["gangs"]["default/mpi"]
    assert sorted(gangs) == ["members", "message", "pods", "started_s"]
    result = msgspec.structs.replace(run("mpi"), gangs={})
    assert "gangs" not in to_data(result)
    assert "Gangs" not in render(result)


def test_the_table_of_gangs() -> None:
    shown = CliRunner().invoke(cli, ["simulate", str(EXAMPLES / "mpi")])
    assert shown.exit_code == 0, shown.output
    assert "default/mpi" in shown.output
    assert "5 of 5" in shown.output


@pytest.mark.parametrize(
    ("pods", "network", "said"),
    [
        ({}, {}, ""),
        ({"a": "n", "b": "n"}, {}, "1 node"),
        ({"a": "n", "b": "m"}, {"n": ("s", "r")}, "s/r: 1"),
        ({"a": "n", "b": "n"}, {"n": ("r2",)}, "r2: 2"),
    ],
)
def test_where_a_gang_is(pods: dict[str, str], network: dict[str, tuple[str, ...]], said: str) -> None:
    assert where(pods, network) == said
