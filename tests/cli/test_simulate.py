"""`mooring simulate`: the public JSON, determinism, policies, mistakes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

POLICY = """
from mooring import Plugin, Scope, unschedulable

class OnlyB(Plugin):
    scope = Scope.STATIC

    def sign(self, pod):
        return 0

    def filter(self, cycle, pod, node):
        if node.name != "b":
            return unschedulable("node(s) are not b")
"""


def test_json_has_the_public_shape(mooring: Run, manifests: Path) -> None:
    ran = mooring("simulate", manifests, "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert set(data) == {"placements", "pending", "evicted", "patches", "summary"}
    assert set(data["placements"]) == {"default/web", "default/small"}
    assert set(data["placements"].values()) <= {"a", "b"}
    assert data["pending"] == {
        "default/huge": {
            "message": "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            "plugins": ["NodeResourcesFit"],
            "nominated": None,
        }
    }
    assert data["evicted"] == []
    assert data["patches"] == {}
    assert data["summary"] == {
        "nodes": 2, "pods": 3, "bound": 2, "pending": 1, "evicted": 0, "end_time_s": 0.0,
    }  # fmt: skip


def test_scores_hold_every_feasible_node(mooring: Run, manifests: Path) -> None:
    data = json.loads(mooring("simulate", manifests, "--json", "--scores").out)
    assert set(data["scores"]) == {"default/web", "default/small"}
    assert set(data["scores"]["default/web"]) == {"a", "b"}
    best = max(data["scores"]["default/web"].values())
    assert data["scores"]["default/web"][data["placements"]["default/web"]] == best


def test_two_runs_with_one_seed_print_the_same_bytes(mooring: Run, manifests: Path) -> None:
    first = mooring("simulate", manifests, "--json", "--scores", "--seed", "7")
    assert mooring("simulate", manifests, "--json", "--scores", "--seed", "7").out == first.out


def test_people_see_tables_and_reasons(mooring: Run, manifests: Path, tmp_path: Path) -> None:
    ran = mooring("simulate", manifests, "--report", tmp_path / "report")
    assert ran.code == 0
    assert "default/web" in ran.out
    assert "2 Insufficient cpu" in " ".join(ran.out.split())
    page = tmp_path / "report" / "index.html"
    assert f"report: {page}" in ran.out
    assert "default/huge" in page.read_text()


def test_policies_of_a_folder_take_part(mooring: Run, manifests: Path, tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "only_b.py").write_text(POLICY)
    data = json.loads(mooring("simulate", manifests, "--policies", policies, "--json").out)
    assert set(data["placements"].values()) == {"b"}


def test_a_configuration_may_disable_a_policy(mooring: Run, manifests: Path, tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "only_b.py").write_text(POLICY)
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- plugins: {multiPoint: {disabled: [{name: OnlyB}]}}\n"
    )
    data = json.loads(
        mooring("simulate", manifests, "--policies", policies, "--config", config, "--json").out
    )
    assert set(data["placements"].values()) == {"a", "b"}


def test_standard_input_is_a_path(mooring: Run, manifests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(manifests.read_text()))
    assert json.loads(mooring("simulate", "-", "--json").out)["summary"]["bound"] == 2


def test_one_bad_document_is_named_and_nothing_is_placed(mooring: Run, manifests: Path) -> None:
    bad = manifests.parent / "z.yaml"
    spec = 'spec: {priority: "high", containers: [{name: c, image: i}]}'
    bad.write_text(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\n{spec}\n")
    ran = mooring("simulate", manifests.parent, "--json")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"{bad}:4:")
    assert len(ran.err.strip().splitlines()) == 1
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("name", "text", "place", "words"),
    [
        (
            "config",
            "apiVersion: v1\nkind: KubeSchedulerConfiguration\n",
            ":1:13",
            "kubescheduler.config.k8s.io/v1",
        ),
        ("config", "profiles: [", ":2:1", ""),
    ],
)
def test_a_bad_configuration_gives_its_place(
    mooring: Run, manifests: Path, tmp_path: Path, name: str, text: str, place: str, words: str
) -> None:
    file = tmp_path / f"{name}.cfg"
    file.write_text(text)
    ran = mooring("simulate", manifests, "--config", file)
    assert ran.code == 2
    assert f"{file}{place}" in ran.err
    assert words in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("import nowhere_to_be_found\n", 1, "cannot be imported"),
        ("def broken(:\n", 1, "invalid syntax"),
        ("x = 1\n", 1, "defines no subclass of mooring.Plugin"),
        (
            "from mooring import Plugin\nclass P(Plugin):\n    def filter(self, pod):\n        pass\n",
            3,
            "P.filter takes (pod); it is called with (cycle, pod, node)",
        ),
        (
            "from mooring import Plugin\nclass P(Plugin):\n    def score(self, cycle, pod, node):\n"
            "        return 101\n",
            3,
            "invalid score 101",
        ),
        (
            "from mooring import Plugin\nclass P(Plugin):\n    async def filter(self, cycle, pod, node):\n"
            "        pass\n",
            3,
            "deciding never awaits",
        ),
        (
            "from mooring import Plugin\nclass P(Plugin):\n    def preFilter(self, cycle, pod):\n"
            "        pass\n",
            3,
            'Did you mean "pre_filter"?',
        ),
    ],
)
def test_a_bad_policy_gives_its_place(
    mooring: Run, manifests: Path, tmp_path: Path, source: str, line: int, words: str
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "mine.py").write_text(source)
    ran = mooring("simulate", manifests, "--policies", folder)
    assert ran.code == 2
    assert f"{folder / 'mine.py'}:{line}:" in ran.err
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_a_policy_that_raises_costs_its_pods_a_cycle_and_is_named(
    mooring: Run, manifests: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from mooring import Plugin\nclass Picky(Plugin):\n    def filter(self, cycle, pod, node):\n"
        '        if pod.name == "web":\n            raise KeyError("zone")\n'
    )
    data = json.loads(mooring("simulate", manifests, "--policies", folder, "--json").out)
    assert data["pending"]["default/web"]["message"] == "running \"Picky\" filter plugin: KeyError: 'zone'"
    assert "default/small" in data["placements"]


@pytest.mark.parametrize("words", [["simulate"], ["simulate", "x", "--until", "soon"], ["frobnicate"]])
def test_bad_usage_exits_with_2(mooring: Run, words: list[str]) -> None:
    ran = mooring(*words)
    assert ran.code == 2
    assert "Traceback" not in ran.err


ENDLESS = """
from mooring import Plugin

class P(Plugin):
    def filter(self, cycle, pod, node):
        while pod.name == "web":
            pass
"""


def test_a_policy_that_never_ends_ends_the_run(
    mooring: Run, manifests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "policies").mkdir()
    (folder / "endless.py").write_text(ENDLESS)
    monkeypatch.setattr("mooring.cli.policies.LIMIT_S", 0.2)
    ran = mooring("simulate", manifests, "--policies", folder)
    assert (ran.code, ran.out) == (2, "")
    assert f"plugin P, filter, pod default/web, at {folder}/endless.py:6" in ran.err


@pytest.mark.parametrize(
    "text", ["while True:\n    pass\n", ENDLESS.replace("huge", "full")], ids=["import", "rehearsal"]
)
def test_a_policy_that_cannot_be_loaded_ends_the_run(
    mooring: Run, manifests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (folder := tmp_path / "policies").mkdir()
    (folder / "endless.py").write_text(text)
    monkeypatch.setattr("mooring.cli.policies.LIMIT_S", 0.2)
    ran = mooring("simulate", manifests, "--policies", folder)
    assert (ran.code, ran.out) == (2, "")
    assert f", at {folder}/endless.py:" in ran.err
