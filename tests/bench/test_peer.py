"""What is written for both schedulers, how ours plays it, and that a difference between them is seen.

The peer itself is Go and is tested with the end-to-end tests; here its answers are Mooring's own, or made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.peer import compare as comparing
from benchmarks.peer.cases import CASES, THERE_EACH
from benchmarks.peer.compare import Choice, Compared, Ours, compare
from benchmarks.peer.ours import measure, read
from benchmarks.peer.why import differences

NODES, PODS = 20, 18


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(case: str, folder: Path) -> Path:
    file = folder / "objects.jsonl"
    CASES[case].write(file, NODES, PODS)
    return file


def own_choices(file: Path) -> list[Choice]:
    """What Mooring chooses when nobody says which of the best to take."""
    things = read(file)
    ours = Ours(things)
    return [ours.choose(pod, "") for pod in things.pods]


def test_lines_are_objects_as_an_api_server_has_them(case: str, tmp_path: Path) -> None:
    lines = [msgspec.json.decode(line) for line in written(case, tmp_path).read_bytes().splitlines()]
    assert all({"apiVersion", "kind", "metadata", "spec"} <= line.keys() for line in lines)
    kinds = [line["kind"] for line in lines]
    assert kinds.count("Node") == NODES
    assert kinds.count("Pod") == PODS + NODES // THERE_EACH
    assert len({line["metadata"]["uid"] for line in lines if line["kind"] == "Pod"}) == kinds.count("Pod")


def test_ours_places_what_it_is_given(case: str, tmp_path: Path) -> None:
    things = read(written(case, tmp_path))
    assert (len(things.nodes), len(things.pods), len(things.there)) == (NODES, PODS, NODES // THERE_EACH)
    figures = measure(things, warm_up=4)
    assert figures.pods == PODS - 4
    assert 0 < figures.bound <= figures.pods


def against(choices: list[Choice], monkeypatch: pytest.MonkeyPatch, file: Path) -> Compared:
    def told(*_: Any) -> Iterator[Choice]:
        return iter(choices)

    monkeypatch.setattr(comparing, "their_choices", told)
    monkeypatch.setattr(comparing, "their_parts", lambda *_: {"node-0": {"NodeResourcesFit": 1}})
    return compare("case", Path("peer"), file, lambda done: None)


def test_the_same_choices_are_no_mismatch(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(case, tmp_path)
    done = against(own_choices(file), monkeypatch, file)
    assert (done.pods, done.mismatch) == (PODS, None)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda said: {"best": said.best[:-1]},
        lambda said: {"best": [*said.best, "node-99"]},
        lambda said: {"total": said.total + 1},
        lambda said: {"sum": said.sum - 1},
        lambda said: {"feasible": said.feasible - 1},
        lambda said: {"node": "", "best": []},
        lambda said: {"node": "node-99"},
    ],
)
def test_any_other_choice_is_a_mismatch(wrong: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written("basic", tmp_path)
    choices = own_choices(file)
    choices[5] = msgspec.structs.replace(choices[5], **wrong(choices[5]))
    done = against(choices, monkeypatch, file)
    assert done.pods == 6
    assert done.mismatch is not None
    assert done.mismatch.pod == choices[5].pod
    assert done.mismatch.theirs != done.mismatch.ours
    assert any(line.startswith("NodeResourcesFit differs on 1 nodes: node-0") for line in done.mismatch.why)


def test_differences_are_told_plugin_by_plugin() -> None:
    theirs = {"a": {"Fit": 5, "Image": 1}, "b": {"Fit": 5}, "c": {"Fit": 1}}
    ours = {"a": {"Fit": 5, "Image": 2}, "b": {"Fit": 4, "Image": 3}, "d": {"Fit": 1}}
    assert list(differences(theirs, ours)) == [
        "1 nodes are feasible for kube-scheduler alone, c for one",
        "1 nodes are feasible for Mooring alone, d for one",
        "Image differs on 2 nodes: a has 1 there and 2 here",
        "Fit differs on 1 nodes: b has 5 there and 4 here",
    ]
    assert list(differences(theirs, theirs)) == []
