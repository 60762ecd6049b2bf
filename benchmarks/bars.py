"""`make bench`: everything that has a target, in one table: the engine's rows, and those that need a server.

    python -m benchmarks.bars [--json]

The engine's rows are those of `mooring bench --bars`. The others run a program of this folder: a live
scheduler over loopback, and the reading of a cluster that is there already.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from mooring.bench import machine
from mooring.bench.bars import BARS, CPU_S, MB, PER_S, Row, judged
from mooring.cli import bars as engine_rows
from mooring.cli.progress import progress_bar

HERE = Path(__file__).parent
NODES, RUNS = 5000, 3
LOOPBACK, INGEST = "loopback.py", "ingest.py"

Found = dict[str, Any]


class Live(msgspec.Struct, frozen=True):
    """One row: the best of what a program found in several rounds."""

    name: str
    target: float
    unit: str
    program: str
    figure: Callable[[Found], float]

    def row(self, found: list[Found], speed: float) -> Row:
        best = (max if self.unit == PER_S else min)(map(self.figure, found))
        return judged(self.name, NODES, self.unit, self.target, best, speed)


LIVE: Final = (
    Live("loopback: watch, decide, bind", 3000, PER_S, LOOPBACK, lambda found: found["pods_per_s"]),
    Live("initial list of 50,000 pods", 1.5, CPU_S, INGEST, lambda found: found["list_cpu_s"]),
    Live("memory with 50,000 pods", 200, MB, INGEST, lambda found: found["settled_mb"]),
)


def rounds(program: str) -> list[Found]:
    """What a program found, round by round. One that misses its own bounds says so by its exit code, which
    is for those who run it by itself."""
    if program == LOOPBACK:
        return list(_said(program, f"--rounds={RUNS}"))
    return [_said(program) for _ in range(RUNS)]


def _said(program: str, *words: str) -> Any:
    line = [sys.executable, str(HERE / program), f"--nodes={NODES}", "--json", *words]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    if not done.stdout:
        raise click.ClickException(f"{program} found nothing:\n{done.stderr}")
    return json.loads(done.stdout)


def live_rows(speed: float) -> Iterator[Row]:
    found: dict[str, list[Found]] = {}
    with progress_bar() as bar:
        task = bar.add_task("live", total=len(LIVE))
        for each in LIVE:
            bar.update(task, description=each.name)
            if each.program not in found:
                found[each.program] = rounds(each.program)
            row = each.row(found[each.program], speed)
            if row.short:  # a second chance, as the engine's rows have
                found[each.program] += rounds(each.program)
                row = each.row(found[each.program], speed)
            yield row
            bar.advance(task)


@click.command(epilog="Example: python -m benchmarks.bars --json")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a row.")
def bars(as_json: bool) -> None:
    """Check every row that has a target, scaled to this machine; fail when one misses by more than 30 %."""
    speed = machine.speed()
    rows = [*engine_rows.judged(BARS, speed), *live_rows(speed)]
    sys.exit(engine_rows.tell(rows, speed, as_json))


if __name__ == "__main__":
    bars()
