"""What `mooring simulate` tells beside its answer, and how it shows it to people."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring import logs

from .conftest import NODE, POD

Run = Callable[..., Any]

RUNNING = """\
apiVersion: v1
kind: Pod
metadata: {name: old-%d, uid: u%d}
spec: {nodeName: a, containers: [{name: main, image: web}]}
---
"""
HEAD = "from mooring import Plugin\nclass Mine(Plugin):\n"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    logs.quiet()


def policies(folder: Path, text: str) -> Path:
    folder = folder / "policies"
    folder.mkdir()
    (folder / "mine.py").write_text(HEAD + text)
    return folder


@pytest.mark.parametrize("before", [True, False])
def test_decisions_are_logged_as_run_does(mooring: Run, manifests: Path, before: bool) -> None:
    words = ["-v", "2", "simulate", manifests] if before else ["simulate", manifests, "-v", "2"]
    ran = mooring(*words, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["summary"]["bound"] == 2
    assert re.search(r'^I.* "Successfully bound pod to node" pod="default/web" node="[ab]"', ran.err, re.M)
    assert '"Unable to schedule pod; no fit; waiting" pod="default/huge"' in ran.err


def test_lines_have_the_simulated_time(mooring: Run, manifests: Path) -> None:
    late = manifests.with_name("late.yaml")
    late.write_text(
        POD.replace("name: %s", "name: %s, annotations: {sim.mooring.io/arrives-at: 90s}") % ("z", 1)
    )
    err = mooring("simulate", manifests, late, "-v", "2").err
    (line,) = [line for line in err.splitlines() if "Successfully bound" in line and "default/z" in line]
    assert line.split()[1].endswith(":01:30.000000")


def test_nothing_is_logged_unless_asked_for(mooring: Run, manifests: Path) -> None:
    assert mooring("simulate", manifests).err == ""


def failing(point: str, body: str) -> str:
    return f"    {point}:\n        if pod.name in ('web', 'small'):\n            {body}\n"


@pytest.mark.parametrize(
    ("point", "body", "said"),
    [
        ("def filter(self, cycle, pod, node)", "raise KeyError('zone')", "KeyError: 'zone'"),
        ("def filter(self, cycle, pod, node)", "return 7", "returned 7"),
        ("def reserve(self, cycle, pod, node_name)", "raise KeyError(0)", "KeyError: 0"),
        ("def permit(self, cycle, pod, node_name)", "raise KeyError(1)", "KeyError: 1"),
        ("async def pre_bind(self, cycle, pod, node_name)", "raise KeyError(2)", "KeyError: 2"),
        ("def pod_seen(self, pod)", "raise KeyError(3)", "KeyError: 3"),
        ("def pre_enqueue(self, pod)", "raise KeyError(4)", "KeyError: 4"),
        ("def post_bind(self, cycle, pod, node_name)", "raise KeyError(6)", "KeyError: 6"),
    ],
)
def test_a_plugin_that_fails_is_told(
    mooring: Run, manifests: Path, tmp_path: Path, point: str, body: str, said: str
) -> None:
    """It is not found when it is loaded: it fails for some pods only."""
    ran = mooring("simulate", manifests, "--policies", policies(tmp_path, failing(point, body)), "--json")
    assert ran.code == 1
    assert "Mine" in ran.err
    assert said in ran.err
    json.loads(ran.out)


def test_failures_are_part_of_the_answer(mooring: Run, manifests: Path, tmp_path: Path) -> None:
    folder = policies(tmp_path, failing("def filter(self, cycle, pod, node)", "raise KeyError('zone')"))
    ran = mooring("simulate", manifests, "--policies", folder, "--json")
    message = "running \"Mine\" filter plugin: KeyError: 'zone'"
    pods = ["default/small", "default/web"]
    assert json.loads(ran.out)["failures"] == {"Mine": {"message": message, "pods": pods}}
    assert f"mooring: plugin Mine failed for default/small and 1 more: {message}" in ran.err


def test_scores_are_shown_to_people(mooring: Run, manifests: Path) -> None:
    data = json.loads(mooring("simulate", manifests, "--scores", "--json").out)["scores"]
    out = mooring("simulate", manifests, "--scores").out
    rows = [re.findall(r"[\w/]+", line) for line in out[out.index("Scores") :].splitlines()]
    for total in data["default/web"].values():
        assert any(str(total) in row for row in rows)


def test_what_is_new_is_shown_first_and_whole(mooring: Run, tmp_path: Path) -> None:
    live, new = tmp_path / "live.yaml", tmp_path / "new.yaml"
    live.write_text(NODE % "a" + "".join(RUNNING % (n, n) for n in range(8)))
    new.write_text("".join(POD % (f"new-{n:02}", "9" if n % 2 else "10m") for n in range(20)))
    out = mooring("simulate", live, new).out
    assert all(f"new-{n:02}" in out for n in range(20))
    live.write_text(NODE.replace('"10"', '"110"') % "a" + "".join(RUNNING % (n, n) for n in range(16)))
    out = mooring("simulate", live, new).out
    assert all(f"new-{n:02}" in out for n in range(20))
    assert "and 10 more" in out  # of those that were there before
    assert out.index("new-00") < out.index("old-0")


def test_nodes_with_something_new_come_first(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(NODE % "z" + NODE.replace('"10"', '"1"') % "a" + RUNNING % (1, 1) + POD % ("new", "1"))
    out = mooring("simulate", file).out
    assert out.index("default/new") < out.index("default/old-1")


def test_an_empty_cluster_says_so(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(POD % ("web", "1"))
    for words in ([], ["--json"]):
        ran = mooring("simulate", file, *words)
        assert "note: no node" in ran.err
        assert "no pod" not in ran.err
    file.write_text(NODE % "a")
    ran = mooring("simulate", file)
    assert "note: no pod" in ran.err
    assert "Placements" not in ran.out
    assert "no node" not in ran.err
