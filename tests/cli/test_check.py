"""`mooring check`: mistakes with their places, exit code 1."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., object]

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_a_good_configuration_has_no_mistakes(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + "profiles:\n- schedulerName: mine\n")
    ran = mooring("check", file)
    assert (ran.code, ran.out) == (0, "1 file, no mistakes\n")


def test_every_mistake_of_a_file_is_reported_at_once(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(
        HEAD + "parallelism: 0\nprofiles:\n- plugins: {filter: {enabled: [{name: NodeResorcesFit}]}}\n"
    )
    ran = mooring("check", file)
    assert ran.code == 1
    first, second = ran.out.splitlines()
    assert first.startswith(f"{file}:3:")
    assert second == (f'{file}:5:39: no plugin named "NodeResorcesFit". Did you mean "NodeResourcesFit"?')


def test_mistakes_as_json(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + "paralelism: 3\n")
    ran = mooring("check", file, "--json")
    assert ran.code == 1
    assert json.loads(ran.out) == [
        {"place": f"{file}:3:1", "what": 'unknown field "paralelism". Did you mean "parallelism"?'}
    ]


def test_a_policy_is_checked_as_well(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from mooring import Plugin\nclass P(Plugin):\n    pass\n")
    ran = mooring("check", file)
    assert ran.code == 1
    assert ran.out == f"{file}:2:1: P implements no extension point\n"


def test_a_file_that_is_not_there_is_bad_usage(mooring: Run, tmp_path: Path) -> None:
    assert mooring("check", tmp_path / "nothing.yaml").code == 2


def test_what_has_no_effect_is_remarked_upon(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + "profiles:\n- pluginConfig:\n  - name: NotThere\n    args: {a: 1}\n")
    ran = mooring("check", file)
    assert ran.code == 0
    assert ran.err.startswith(f"note: {file}:5:")
    assert "NotThere" in ran.err
