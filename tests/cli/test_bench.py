"""`mooring bench`: cases, windows, profiles, and bars that decide the exit code. Nothing looks at times."""

from __future__ import annotations

import json
import pstats
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.bench import machine
from mooring.bench.bars import BARS, PER_S, Run
from mooring.bench.runner import Measured
from mooring.cli import bars, bench

Mooring = Callable[..., Any]
SMALL = ("--nodes", "20", "--pods", "40")


def test_help_tells_of_profile_and_bars(mooring: Mooring) -> None:
    said = mooring("bench", "--help").out
    for word in ("--profile [FILE]", "--bars", "--windows", ".pstats"):
        assert word in said


def test_one_case(mooring: Mooring) -> None:
    ran = mooring("bench", "SchedulingBasic", *SMALL, "--json")
    (row,) = json.loads(ran.out)
    assert (ran.code, row["case"], row["bound"]) == (0, "SchedulingBasic", 40)
    assert "best_per_cpu_s" not in row


def test_windows_add_columns(mooring: Mooring) -> None:
    (row,) = json.loads(mooring("bench", "SchedulingBasic", *SMALL, "--windows", "2", "--json").out)
    assert {"best_per_cpu_s", "best_p99_us"} <= row.keys()
    assert "best pods/s" in mooring("bench", "SchedulingBasic", *SMALL, "--windows", "2").out
    assert "best pods/s" not in mooring("bench", "SchedulingBasic", *SMALL).out


def test_sizes_are_passed_on_to_other_processes() -> None:
    words = bench.Wanted(nodes=7, windows=2).words()
    assert words == ["--nodes", "7", "--windows", "2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("SchedulingBasik",), 'no case named "SchedulingBasik". Did you mean "SchedulingBasic"?'),
        (("--bars", "HardSpred"), 'no row named "HardSpred". Did you mean "HardSpread"?'),
        (("--bars", "--nodes", "5"), "--bars has sizes of its own"),
        (("--bars", "--windows", "5"), "--bars has sizes of its own"),
        (("HardSpread", "Everything", "--profile"), "--profile goes with one CASE"),
        (("--profile",), "--profile goes with one CASE"),
        (("Extender", "--profile"), "--profile goes with one CASE"),
        (("HardSpread", "--profile", "not/there/p.txt"), "there is no folder not/there"),
        (("HardSpread", "Everything", "--steps"), "--steps goes with one CASE"),
        (("Extender", "--steps"), "--steps goes with one CASE"),
        (("HardSpread", "--steps", "--profile"), "--profile goes with one CASE by itself"),
        (("--bars", "--steps"), "--bars has sizes of its own"),
    ],
)
def test_bad_usage(mooring: Mooring, words: tuple[str, ...], said: str) -> None:
    ran = mooring("bench", *words)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())


# profiles


def test_profile_to_a_file(mooring: Mooring, tmp_path: Path) -> None:
    file = tmp_path / "hot.txt"
    ran = mooring("bench", "SchedulingBasic", *SMALL, "--profile", file)
    assert ran.code == 0
    assert "SchedulingBasic: 40 pods on 20 nodes" in file.read_text()
    assert pstats.Stats(str(tmp_path / "hot.pstats")).total_calls > 0  # type: ignore[attr-defined]
    assert str(file) in "".join(ran.err.split("\n"))
    assert "SchedulingBasic" in ran.out


@pytest.mark.parametrize("words", [("SchedulingBasic", "--profile"), ("--profile", "SchedulingBasic")])
def test_profile_without_a_file_is_here(
    mooring: Mooring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mooring("bench", *SMALL, *words).code == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["profile.pstats", "profile.txt"]


def test_steps_tell_how_the_time_of_a_pod_is_made_up(mooring: Mooring) -> None:
    words = ("bench", "SchedulingBasic", "--nodes", "20", "--pods", "2000", "--steps")
    (row,) = json.loads(mooring(*words, "--json").out)
    assert sum(step["share"] for step in row["steps"]) == pytest.approx(1.0, abs=0.01)
    assert sum(step["us_per_pod"] for step in row["steps"]) == pytest.approx(row["cpu_us_per_pod"], rel=0.01)
    shown = mooring(*words).out
    assert "what is done for a pod" in shown
    assert "together" in shown


# bars


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the runs of a case come to, times the target of its bar; exactly the target unless told."""
    told: dict[str, float] = {}
    targets = {bar.run: bar.target for bar in BARS if bar.unit == PER_S}

    def measured(run: Run) -> Measured:
        rate = targets.get(run, 25_000) * told.get(run.case, 1.0)
        return Measured(run.case, run.nodes, run.pods, 0, 0, 0, 0, 0, 0, best_per_cpu_s=rate, best_p99_us=500)

    monkeypatch.setattr(bars, "measure", measured)
    monkeypatch.setattr(machine, "speed", lambda: 1.0)
    return told


def test_all_bars_reached(mooring: Mooring, figures: dict[str, float]) -> None:
    ran = mooring("bench", "--bars")
    assert ran.code == 0
    for bar in BARS:
        assert bar.name in ran.out
    assert "missed" not in ran.out + ran.err


def test_a_row_that_misses_makes_the_command_fail(mooring: Mooring, figures: dict[str, float]) -> None:
    figures["HardSpread"] = 0.69
    ran = mooring("bench", "--bars")
    assert ran.code == 1
    assert "missed by more than 30 %: HardSpread" in ran.err
    figures["HardSpread"] = 0.71
    assert mooring("bench", "--bars").code == 0


def test_rows_by_name_or_case_as_json(mooring: Mooring, figures: dict[str, float]) -> None:
    rows = json.loads(mooring("bench", "--bars", "HardSpread", "SchedulingBasic", "--json").out)
    assert {row["name"] for row in rows} == {
        "HardSpread",
        *(bar.name for bar in BARS if bar.run.case == "SchedulingBasic"),
    }
    assert rows[0]["target"] == rows[0]["bar"] == rows[0]["measured"]
    (row,) = json.loads(mooring("bench", "--bars", "p99 of a cycle, hot class", "--json").out)
    assert (row["unit"], row["measured"]) == ("ms", 0.5)
