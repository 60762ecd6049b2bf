"""`mooring bench`: engine benchmarks, one table."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import click
import msgspec
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from mooring.bench import extender
from mooring.bench.cases import CASES
from mooring.bench.runner import Measured, run_case
from mooring.cli.progress import progress_bar
from mooring.errors import did_you_mean

TABLE_WIDTH = 120  # figures are not cut off, whatever the terminal
KNOWN = {**{case.name: case.about for case in CASES.values()}, extender.NAME: extender.ABOUT}
COLUMNS = ("pods/s", "CPU µs/pod", "p50 µs", "p99 µs", "peak MB")
COLD = ("first ms", "later ms")  # cycles that make room for a pod
EXTENDED = ("µs/pod", "filter")  # wall-clock time of a pod, and the share of the filter in it


@click.command(epilog="Example: mooring bench SchedulingBasic --nodes 5000 --pods 20000")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--nodes", type=click.IntRange(1, 200_000), help="Nodes, instead of the case's own number.")
@click.option(
    "--pods", type=click.IntRange(1, 2_000_000), help="Measured pods, instead of the case's own number."
)
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a case.")
@click.option("--list", "as_list", is_flag=True, help="List the cases and stop.")
def command(cases: Sequence[str], nodes: int | None, pods: int | None, as_json: bool, as_list: bool) -> None:
    """Measure the engine in process: queue, plugins, placing and decisions, without an API server.

    Without CASE every case runs, each in a process of its own so that memory is its own.
    """
    if as_list:
        for name, about in KNOWN.items():
            click.echo(f"{name:32} {about}")
        return
    names = list(cases) or list(KNOWN)
    for name in names:
        if name not in KNOWN:
            raise click.UsageError(f'no case named "{name}".{did_you_mean(name, list(KNOWN))}')
    with progress_bar() as bar:
        if len(names) == 1:
            measured = _here(names[0], nodes, pods, bar)
        else:
            task = bar.add_task("benchmarks", total=len(names))
            measured = []
            for name in names:
                bar.update(task, description=name)
                measured.extend(_apart(name, nodes, pods))
                bar.advance(task)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(measured)))
    else:
        Console(width=max(Console().width, TABLE_WIDTH)).print(_table(measured))


def _here(name: str, nodes: int | None, pods: int | None, bar: Progress) -> list[Measured]:
    if name == extender.NAME:
        total = pods or extender.PODS
        task = bar.add_task(name, total=total)
        return extender.run_extender(
            nodes or extender.NODES, total, lambda done, _: bar.update(task, completed=done)
        )
    case = CASES[name]
    total = pods or case.pods
    task = bar.add_task(name, total=total)
    return [run_case(case, nodes or case.nodes, total, lambda done, _: bar.update(task, completed=done))]


def _apart(name: str, nodes: int | None, pods: int | None) -> list[Measured]:
    """Runs a case in a fresh process."""
    line = [sys.executable, "-m", "mooring.cli.main", "bench", name, "--json"]
    line += ["--nodes", str(nodes)] if nodes else []
    line += ["--pods", str(pods)] if pods else []
    done = subprocess.run(line, check=True, capture_output=True)
    return msgspec.json.decode(done.stdout, type=list[Measured])


def _table(measured: Sequence[Measured]) -> Table:
    cold = any(row.first_ms is not None for row in measured)
    extended = any(row.extender_share is not None for row in measured)
    columns = (*COLUMNS, *(COLD if cold else ()), *(EXTENDED if extended else ()))
    table = Table("case", "nodes", "pods", "bound", *columns, box=box.SIMPLE_HEAD)
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for row in measured:
        figures = (row.pods_per_s, row.cpu_us_per_pod, row.p50_us, row.p99_us, row.peak_mb)
        counts = (row.nodes, row.pods, row.bound)
        table.add_row(
            row.case,
            *(f"{f:,.0f}" for f in (*counts, *figures)),
            *(_cold(row) if cold else ()),
            *(_extended(row) if extended else ()),
        )
    return table


def _cold(row: Measured) -> tuple[str, str]:
    if row.first_ms is None or row.later_ms is None:
        return "", ""
    return f"{row.first_ms:,.1f}", f"{row.later_ms:,.1f}"


def _extended(row: Measured) -> tuple[str, str]:
    if row.us_per_pod is None or row.extender_share is None:
        return "", ""
    return f"{row.us_per_pod:,.0f}", f"{row.extender_share:.0%}"
