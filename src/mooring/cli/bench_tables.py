"""What `mooring bench` prints for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from mooring.bench.bars import MB, PER_S, Row
from mooring.bench.runner import Measured
from mooring.bench.steps import Step

TABLE_WIDTH = 120  # figures are not cut off, whatever the terminal
COLUMNS = ("pods/s", "CPU µs/pod", "p50 µs", "p99 µs", "peak MB")
COLD = ("first ms", "later ms")  # cycles that make room for a pod
EXTENDED = ("µs/pod", "filter")  # wall-clock time of a pod, and the share of the filter in it
BEST = ("best pods/s", "best p99 µs")  # of the windows; pods a second of processor time


def show(table: Table) -> None:
    Console(width=max(Console().width, TABLE_WIDTH)).print(table)


def measured_table(measured: Sequence[Measured]) -> Table:
    cold = any(row.first_ms is not None for row in measured)
    extended = any(row.extender_share is not None for row in measured)
    best = any(row.best_per_cpu_s is not None for row in measured)
    more = (*(COLD if cold else ()), *(EXTENDED if extended else ()), *(BEST if best else ()))
    table = _table("case", "nodes", "pods", "bound", *COLUMNS, *more)
    for row in measured:
        figures = (row.pods_per_s, row.cpu_us_per_pod, row.p50_us, row.p99_us, row.peak_mb)
        counts = (row.nodes, row.pods, row.bound)
        table.add_row(
            row.case,
            *(f"{f:,.0f}" for f in (*counts, *figures)),
            *(_cold(row) if cold else ()),
            *(_extended(row) if extended else ()),
            *(_best(row) if best else ()),
        )
    return table


def steps_table(steps: Sequence[Step]) -> Table:
    """Where the time of a pod goes, with the sum."""
    table = _table("what is done for a pod", "µs", "share")
    for step in steps:
        table.add_row(step.part, f"{step.us_per_pod:,.1f}", f"{step.share:.0%}")
    table.add_row("together", f"{sum(step.us_per_pod for step in steps):,.1f}", "")
    return table


def rows_table(rows: Sequence[Row], speed: float) -> Table:
    """Each row with its target, the bar for this machine, what was measured, and their ratio."""
    table = _table("row", "nodes", "target", f"bar here (x {speed:.2f})", "measured", "ratio", "")
    for row in rows:
        sign = "≥" if row.unit == PER_S else "≤"
        table.add_row(
            row.name,
            f"{row.nodes:,}",
            f"{sign} {_figure(row.target, row.unit)}",
            f"{sign} {_figure(row.bar, row.unit)}",
            _figure(row.measured, row.unit),
            f"{row.ratio:.2f}",
            "missed" if row.missed else "",
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(*columns, box=box.SIMPLE_HEAD)
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _figure(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if unit in (PER_S, MB) else f"{value:,.2f} {unit}"


def _cold(row: Measured) -> tuple[str, str]:
    if row.first_ms is None or row.later_ms is None:
        return "", ""
    return f"{row.first_ms:,.1f}", f"{row.later_ms:,.1f}"


def _extended(row: Measured) -> tuple[str, str]:
    if row.us_per_pod is None or row.extender_share is None:
        return "", ""
    return f"{row.us_per_pod:,.0f}", f"{row.extender_share:.0%}"


def _best(row: Measured) -> tuple[str, str]:
    if row.best_per_cpu_s is None or row.best_p99_us is None:
        return "", ""
    return f"{row.best_per_cpu_s:,.0f}", f"{row.best_p99_us:,.0f}"
