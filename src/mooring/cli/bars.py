"""`mooring bench --bars`: the rows that have a target, and whether each reaches it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence

import click
import msgspec

from mooring.bench import machine
from mooring.bench.bars import BARS, Bar, Judge, Row, Run
from mooring.bench.runner import Measured
from mooring.cli.bench_tables import rows_table, show
from mooring.cli.progress import progress_bar
from mooring.errors import did_you_mean


def rows_named(names: Sequence[str]) -> list[Bar]:
    """The rows of these names or cases; all of them without any."""
    known = list(dict.fromkeys(word for bar in BARS for word in (bar.name, bar.run.case)))
    for name in names:
        if name not in known:
            raise click.UsageError(f'no row named "{name}".{did_you_mean(name, known)}')
    return [bar for bar in BARS if not names or bar.name in names or bar.run.case in names]


def check(bars: Sequence[Bar], as_json: bool) -> int:
    """Checks rows and says how each came out; 1 if any missed."""
    speed = machine.speed()
    return tell(list(judged(bars, speed)), speed, as_json)


def judged(bars: Sequence[Bar], speed: float) -> Iterator[Row]:
    judge = Judge(speed, measure)
    with progress_bar() as bar:
        task = bar.add_task("bars", total=len(bars))
        for each in bars:
            bar.update(task, description=each.name)
            yield judge.row(each)
            bar.advance(task)


def tell(rows: Sequence[Row], speed: float, as_json: bool) -> int:
    """Prints rows; 1 if any missed."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows)))
    else:
        show(rows_table(rows, speed))
    missed = [row.name for row in rows if row.missed]
    if missed:
        click.echo(f"missed by more than 30 %: {', '.join(missed)}", err=True)
    return 1 if missed else 0


def measure(run: Run) -> Measured:
    sizes = ("--nodes", run.nodes, "--pods", run.pods, "--windows", run.windows)
    (measured,) = measure_apart(run.case, sizes)
    return measured


def measure_apart(case: str, words: Sequence[object]) -> list[Measured]:
    """Runs a case in a fresh process, so that memory is its own."""
    line = [sys.executable, "-m", "mooring.cli.main", "bench", case, "--json", *map(str, words)]
    done = subprocess.run(line, check=True, capture_output=True)
    return msgspec.json.decode(done.stdout, type=list[Measured])
