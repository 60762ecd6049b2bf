"""`make bench` has rows that need a server: the best round counts, one program serves several rows."""

from __future__ import annotations

import pytest

from benchmarks import bars
from benchmarks.bars import INGEST, LIVE, LOOPBACK, Found
from mooring.bench.bars import CPU_S, MB, PER_S, judged

FOUND: dict[str, list[Found]] = {
    LOOPBACK: [{"pods_per_s": 2000.0}, {"pods_per_s": 3300.0}],
    INGEST: [{"list_cpu_s": 3.0, "settled_mb": 180.0}, {"list_cpu_s": 1.8, "settled_mb": 190.0}],
}


def test_the_best_round_counts_and_programs_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def rounds(program: str) -> list[Found]:
        asked.append(program)
        return FOUND[program]

    monkeypatch.setattr(bars, "rounds", rounds)
    rows = {row.unit: row for row in bars.live_rows(0.5)}
    assert asked == [LOOPBACK, INGEST]
    assert len(rows) == len(LIVE)
    assert (rows[PER_S].measured, rows[PER_S].bar, rows[PER_S].missed) == (3300.0, 1500.0, False)
    assert (rows[CPU_S].measured, rows[CPU_S].bar, rows[CPU_S].missed) == (1.8, 3.0, False)
    assert (rows[MB].measured, rows[MB].bar, rows[MB].missed) == (180.0, 200.0, False)


def test_a_row_below_its_bar_gets_a_second_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {LOOPBACK: [[2900.0], [3100.0]], INGEST: [[1.6], [1.4]]}

    def rounds(program: str) -> list[Found]:
        (figure,) = found[program].pop(0)
        return [{"pods_per_s": figure, "list_cpu_s": figure, "settled_mb": 150.0}]

    monkeypatch.setattr(bars, "rounds", rounds)
    rows = {row.unit: row for row in bars.live_rows(1.0)}
    assert (rows[PER_S].measured, rows[CPU_S].measured) == (3100.0, 1.4)


@pytest.mark.parametrize(
    ("unit", "measured", "missed"),
    [(CPU_S, 1.94, False), (CPU_S, 1.96, True), (MB, 259, False), (MB, 261, True)],
)
def test_less_is_better_but_for_rates(unit: str, measured: float, missed: bool) -> None:
    assert judged("row", 1, unit, 200 if unit == MB else 1.5, measured, 1.0).missed is missed
