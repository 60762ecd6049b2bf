"""A profile is of the measured part alone, and can be read by people and by tools."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

from mooring.bench.cases import CASES
from mooring.bench.profile import write_profile
from mooring.bench.runner import run_case

PREPARING = ("_prepared", "make_registry", "plans_with")


def test_profile_has_both_orders_and_data_beside_it(tmp_path: Path) -> None:
    watching = cProfile.Profile()
    measured = run_case(CASES["SchedulingBasic"], 20, 60, watched=watching)
    data = write_profile(watching, measured, tmp_path / "out.txt")
    text = (tmp_path / "out.txt").read_text()
    assert text.startswith("SchedulingBasic: 60 pods on 20 nodes")
    own, whole = text.split("\nby ")[1:]
    assert own.startswith("own time\n")
    assert whole.startswith("time with what is called\n")
    columns = [(figures(own), 1), (figures(whole), 3)]
    for rows, column in columns:
        values = [row[column] for row in rows]
        assert values == sorted(values, reverse=True)
    assert "mooring/engine/engine.py" in whole
    assert data == tmp_path / "out.pstats"
    names = {name for _, _, name in pstats.Stats(str(data)).stats}  # type: ignore[attr-defined]
    assert "schedule" in names
    assert not names.intersection(PREPARING)


def figures(section: str) -> list[list[float]]:
    """calls, own ms, own share, ms in all, µs a call."""
    lines = [line for line in section.splitlines()[2:] if line]
    return [[float(word.strip("%").replace(",", "")) for word in line.split()[:5]] for line in lines]
