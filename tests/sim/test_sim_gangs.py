"""Gangs in a run's result, its tables and its page."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from mooring.app.making import make_engine, read_config
from mooring.app.simulating import simulate
from mooring.cli.main import cli
from mooring.plugins.catalogue import make_registry
from mooring.sim.report import render
from mooring.sim.report.gangs import where
from mooring.sim.result import Result, to_data
from mooring.sim.simulation import Simulation
from sim.conftest import read

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


def test_gangs_of_one_name_are_not_one() -> None:
    node = "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: {cpu: 4}}}\n---\n"
    group = (
        "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, namespace: default},"
        " spec: {minMember: 1}}\n---\n"
    )
    koordinator = 'gang.scheduling.koordinator.sh/name: g, gang.scheduling.koordinator.sh/min-available: "1"'
    pods = "".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: {space}, {marks}}}, "
        "spec: {containers: [{name: c, image: i}]}}\n---\n"
        for name, space, marks in (
            ("a", "default", "labels: {scheduling.x-k8s.io/pod-group: g}"),
            ("b", "default", f"annotations: {{{koordinator}}}"),
            ("a", "other", f"annotations: {{{koordinator}}}"),
        )
    )
    gangs = simulated(node + group + pods).gangs
    found = {name: list(gang.pods) for name, gang in gangs.items()}
    assert found == {"default/g": ["default/b"], "x-k8s:default/g": ["default/a"], "other/g": ["other/a"]}


def test_members_that_another_stands_for_say_why_they_wait() -> None:
    """Cut short while the gang backs off: one of its pods stands in the queue for all."""
    node = (
        "{apiVersion: v1, kind: Node, metadata: {name: n%d, annotations: {%s}}, status: {capacity: {cpu: 1}}}"
    )
    group = (
        "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}, "
        "spec: {minMember: 3}}"
    )
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {scheduling.x-k8s.io/pod-group: g}}, "
        "spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}"
    )
    nodes = [node % (0, ""), node % (1, "sim.mooring.io/arrives-at: 1s")]
    text = "\n---\n".join([*nodes, group, *(pod % name for name in "abc")])
    messages = {waiting.message for waiting in simulated(text, until=1.5).pending.values()}
    assert len(messages) == 1
    assert "already exists" not in messages.pop()


def simulated(text: str, until: float | None = None) -> Result:
    registry = make_registry()
    engine = make_engine(read_config(None, registry), registry)
    return Simulation(engine, read(text), until=until).run()
