"""`mooring check`: mistakes with their places, exit code 1."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

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


POLICY = """from mooring import Plugin
class P(Plugin):
    def score(self, cycle, pod, node):
        {0}
        return 1
"""


def test_what_does_not_come_to_an_end_is_found_with_its_line(mooring: Run, tmp_path: Path) -> None:
    texts = {
        "at_import": "while True: pass\n",
        "in_score": POLICY.format("while True: pass"),
        "in_c": POLICY.format("import re; re.match('(a+)+$', 'a' * 60 + 'b')"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    ran = mooring("check", "--timeout", "1s", *(tmp_path / f"{name}.py" for name in texts))
    what = "does not come to an end: stopped after 1 s"
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"{tmp_path}/at_import.py:1:1: {what}",
        f"{tmp_path}/in_score.py:4:1: {what}",
        f"{tmp_path}/in_c.py:4:1: {what}",
    ]


@pytest.mark.parametrize(
    ("text", "how"),
    [("import os\nos._exit(3)\n", "with code 3"), ("import os\nos.kill(os.getpid(), 9)\n", "by SIGKILL")],
)
def test_what_ends_the_process_is_found(mooring: Run, tmp_path: Path, text: str, how: str) -> None:
    file = tmp_path / "ends.py"
    file.write_text(text)
    ran = mooring("check", file)
    assert (ran.code, ran.out) == (1, f"{file}: ends the process that loads it, {how}\n")


@pytest.mark.parametrize("text", ["import sys\nsys.exit(3)\n", "raise KeyboardInterrupt\n"])
def test_what_wants_to_end_it_is_found_with_its_line(mooring: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "ends.py"
    file.write_text(text)
    ran = mooring("check", file)
    assert ran.code == 1
    assert ran.out.startswith(f"{file}:{text.count(chr(10))}:1: cannot be imported: ")


PRINTING = "import os\n" + POLICY.format("print('in score'); os.system('echo from a program')")


def test_what_policies_print_is_no_part_of_the_answer(tmp_path: Path, manifests: Path) -> None:
    """In a process of its own: what a program writes that a policy starts, no test here could tell."""
    (folder := tmp_path / "policies").mkdir()
    (folder / "printing.py").write_text("print('at import')\n" + PRINTING)
    for words in (["check", folder / "printing.py"], ["simulate", manifests, "--policies", folder]):
        command = [sys.executable, "-c", "from mooring.cli.main import main; main()", *words, "--json"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        json.loads(ran.stdout)
        for line in ("at import", "in score", "from a program"):
            assert line in ran.stderr.splitlines()
        assert f"note: {folder / 'printing.py'}:1:1: prints to standard output" in ran.stderr


@pytest.mark.parametrize(
    ("does", "what"),
    [
        ("import signal; signal.signal(signal.SIGUSR1, print)", "changes signal handlers"),
        ("import sys; sys.path.append('x')", "changes sys.path"),
        ("import warnings; warnings.simplefilter('ignore')", "changes the filters of warnings"),
        ("import logging; logging.disable(50)", "changes the root logger"),
        ("import random; random.seed(1)", "changes the state of random"),
        ("import os; os.environ['TZ'] = 'UTC'", "changes the environment"),
        (
            "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
            "starts threads",
        ),
    ],
)
def test_what_is_changed_for_all_is_remarked_upon(mooring: Run, tmp_path: Path, does: str, what: str) -> None:
    file = tmp_path / "changes.py"
    file.write_text(f"{does}\n" + POLICY.format("pass"))
    ran = mooring("check", file)
    assert ran.code == 0
    assert ran.err.startswith(f"note: {file}: {what}")


OLD = "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n"


def test_an_old_configuration_is_converted(mooring: Run, tmp_path: Path) -> None:
    file, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    file.write_text(OLD + "profiles:\n- plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}\n")
    ran = mooring("check", "--convert", file)
    assert (ran.code, ran.err.count("note: ")) == (0, 1)
    new.write_text(ran.out)
    assert mooring("check", new).out == "1 file, no mistakes\n"
    assert "MostAllocated" in ran.out


def test_mistakes_that_no_conversion_mends_are_told(mooring: Run, tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(OLD + "parallelism: 0\n")
    ran = mooring("check", "--convert", file)
    assert ran.code == 1
    assert ran.out.startswith("apiVersion: kubescheduler.config.k8s.io/v1\n")
    assert f"{file} (converted):3:14: parallelism: should be" in ran.err
    assert mooring("check", "--convert", file, file).code == 2


def test_it_says_where_policies_run(mooring: Run, tmp_path: Path) -> None:
    folder, file = tmp_path / "policies", tmp_path / "scheduler.yaml"
    folder.mkdir()
    (folder / "p.py").write_text(
        "from mooring import Plugin\nclass P(Plugin):\n    def score(self, cycle, pod, node): return 1\n"
    )
    file.write_text(HEAD)
    ran = mooring("check", file, "--policies", folder)
    where = 'policy "P" is enabled in every profile: the configuration does not name it'
    assert (ran.code, ran.err) == (0, f"note: {file}: {where}\n")
