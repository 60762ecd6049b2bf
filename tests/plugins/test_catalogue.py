"""Policies of a folder run where a configuration names them, and everywhere if it names them nowhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.app.making import read_config
from mooring.errors import PolicyError
from mooring.plugins.catalogue import make_registry

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
POLICY = """from mooring import Plugin, PluginArgs
class {name}(Plugin):
    class Args(PluginArgs):
        label: str = "x"
    def filter(self, cycle, pod, node): return None
    def score(self, cycle, pod, node): return 0
"""
Points = list[str]
Told = Callable[[str], tuple[dict[str, Points], list[str]]]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """At which points of which profile a policy named Mine is, and what is said of it."""

    def told(profiles: str) -> tuple[dict[str, list[str]], list[str]]:
        folder, file = tmp_path / "policies", tmp_path / "c.yaml"
        folder.mkdir(exist_ok=True)
        (folder / "mine.py").write_text(POLICY.format(name="Mine"))
        file.write_text(HEADER + profiles)
        config = read_config(file, make_registry(folder))
        points = {
            plan.scheduler_name: [
                p for p, uses in plan.points.items() if "Mine" in {use.name for use in uses}
            ]
            for plan in config.profiles
        }
        return points, [sentence.removeprefix('policy "Mine" ') for sentence in config.policies]

    return told


BOTH = ["filter", "score"]
NOWHERE = "is enabled in every profile: the configuration does not name it"


LISTED = "plugins: {%s: {enabled: [{name: Mine}]}}"
OFF = "plugins: {multiPoint: {disabled: [{name: Mine}]}}"
TIES = "pluginConfig: [{name: Mooring, args: {ties: Mine}}]"
ARGS = "pluginConfig: [{name: Mine, args: {label: y}}]"


@pytest.mark.parametrize(
    ("a", "b", "where", "said"),
    [
        ("", "", (BOTH, BOTH), NOWHERE),
        (LISTED % "score", "", (["score"], []), 'is enabled in "a" at score'),
        ("", LISTED % "multiPoint", ([], BOTH), 'is enabled in "b" at filter, score'),
        (ARGS, "", (BOTH, []), 'is enabled in "a" at filter, score'),
        (ARGS, LISTED % "filter", ([], ["filter"]), 'is enabled in "b" at filter'),
        (TIES, "", ([], []), "is enabled in no profile"),
        (OFF, "", ([], BOTH), 'is enabled in "b" at filter, score'),
        ("plugins: {score: {disabled: [{name: '*'}]}}", "", (["filter"], BOTH), NOWHERE),
        (LISTED % "filter", LISTED % "score", (["filter"], ["score"]),
         'is enabled in every profile: "a" at filter; "b" at score'),
    ],
)  # fmt: skip
def test_where_a_policy_runs(
    told: Told, a: str, b: str, where: tuple[list[str], list[str]], said: str
) -> None:
    points, sentences = told(f"- schedulerName: a\n  {a}\n- schedulerName: b\n  {b}\n")
    assert (points["a"], points["b"]) == where
    assert sentences == [said]


def test_the_log_says_which(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mooring.app"):
        told("- {}\n")
    assert caplog.messages == [f'policy "Mine" {NOWHERE}']


def mistakes(folder: Path) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        make_registry(folder)
    return [str(mistake).replace(f"{folder}/", "") for mistake in caught.value.mistakes]


def test_two_classes_of_one_name_in_a_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(POLICY.format(name="Same"))
    taken = 'there is already a plugin named "Same" (a.py:2:1): give this one another `name`'
    assert mistakes(tmp_path) == [f"b.py:2:1: {taken}"]


def test_two_classes_of_one_name_in_a_file(tmp_path: Path) -> None:
    other = POLICY.format(name="Other").replace("    class", '    name = "One"\n    class')
    (tmp_path / "a.py").write_text(POLICY.format(name="One") + other)
    taken = 'there is already a plugin named "One" (a.py:2:1): give this one another `name`'
    assert mistakes(tmp_path) == [f"a.py:8:1: {taken}"]


def test_a_class_that_is_written_twice(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(POLICY.format(name="Same") * 2)
    assert mistakes(tmp_path) == ['a.py:8:1: there is already a class named "Same" on line 2']


def test_a_name_that_is_mooring_s(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(POLICY.format(name="NodeName"))
    (found,) = mistakes(tmp_path)
    assert 'there is already a plugin named "NodeName" (mooring.plugins.node_name)' in found
