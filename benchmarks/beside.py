"""What a change costs: the engine of an earlier revision and this one, by turns, in one table of ratios.

    python -m benchmarks.beside REVISION [CASE...] [--runs N | --count] [--json]

The earlier revision is checked out below `out/beside` with an environment of its own, and kept for the next
time. Each run is a process of its own; who goes first changes from run to run, so that a machine whose speed
drifts is as kind to one as to the other. Two ratios are told, of CPU per pod after to before: of the best
windows of all runs, which leaves out what others did to the machine, and of the middle runs, which leaves out
nothing. Above 1 the change made it dearer.

Time scatters by a tenth on a shared machine. `--count` counts instructions instead (valgrind's callgrind),
each case in two sizes, so that what a start takes is left out by the difference. It repeats to a part in a
thousand whatever else the machine does, but knows nothing of caches: what it tells is work, not time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import click
import msgspec

from mooring.bench.bars import BARS, PER_S, Run
from mooring.cli.progress import progress_bar

HERE = Path(__file__).parents[1]
KEPT = HERE / "out" / "beside"
RUNS: dict[str, Run] = {bar.run.case: bar.run for bar in BARS if bar.unit == PER_S}


class Compared(msgspec.Struct, frozen=True):
    """One case, before and after, in microseconds of CPU per pod."""

    case: str
    runs: int
    before_best_us: float
    after_best_us: float
    before_median_us: float
    after_median_us: float
    best_ratio: float
    median_ratio: float


class Counted(msgspec.Struct, frozen=True):
    """One case, before and after, in instructions per pod."""

    case: str
    before: int
    after: int
    ratio: float


def checked_out(revision: str) -> Path:
    """A folder with that revision, ready to run."""
    commit = _git(
        "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", wrong=f"no revision {revision!r}"
    )
    tree = KEPT / commit[:12]
    if not (tree / ".venv" / ".ready").exists():
        if not tree.exists():
            _git("worktree", "add", "--detach", "--force", str(tree), commit)
        click.echo(f"setting up {revision} in {tree}", err=True)
        done = subprocess.run(["make", "setup"], cwd=tree, check=False, capture_output=True, text=True)
        if done.returncode:
            raise click.ClickException(f"{revision} cannot be set up in {tree}:\n{done.stderr}")
    return tree


def _git(*words: str, wrong: str = "") -> str:
    done = subprocess.run(["git", *words], cwd=HERE, check=False, capture_output=True, text=True)
    if done.returncode:
        raise click.UsageError(wrong) if wrong else click.ClickException(done.stderr.strip())
    return done.stdout.strip()


def measured(tree: Path, run: Run) -> tuple[float, float]:
    """Microseconds of CPU per pod: in the best window, and over all."""
    size = [f"--nodes={run.nodes}", f"--pods={run.pods}", f"--windows={run.windows}", "--json"]
    words = [str(tree / ".venv" / "bin" / "mooring"), "bench", run.case, *size]
    done = subprocess.run(words, cwd=tree, check=False, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{run.case} in {tree}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)[0]
    return 1e6 / found["best_per_cpu_s"], found["cpu_us_per_pod"]


def compare(run: Run, before: Path, after: Path, runs: int) -> Compared:
    """Measures one case by turns."""
    found: dict[Path, list[tuple[float, float]]] = {before: [], after: []}
    for number in range(runs):
        for tree in (before, after) if number % 2 == 0 else (after, before):
            found[tree].append(measured(tree, run))
    best_before, best_after = (min(best for best, _ in found[tree]) for tree in (before, after))
    whole_before, whole_after = (median(whole for _, whole in found[tree]) for tree in (before, after))
    return Compared(
        run.case,
        runs,
        round(best_before, 2),
        round(best_after, 2),
        round(whole_before, 2),
        round(whole_after, 2),
        round(best_after / best_before, 3),
        round(whole_after / whole_before, 3),
    )


def count(run: Run, before: Path, after: Path) -> Counted:
    """Counts one case, both versions at once."""
    with ThreadPoolExecutor(2) as pool:
        was, now = pool.map(counted, (before, after), (run, run))
    return Counted(run.case, was, now, round(now / was, 4))


def counted(tree: Path, run: Run) -> int:
    """Instructions per pod: of so many pods, less those of a few."""
    few, many = max(run.pods // 10, 1), max(run.pods // 2, 2)
    return (_instructions(tree, run, many) - _instructions(tree, run, few)) // (many - few)


def _instructions(tree: Path, run: Run, pods: int) -> int:
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    words += [str(tree / ".venv" / "bin" / "python"), "-m", "mooring.cli.main", "bench", run.case]
    words += [f"--nodes={run.nodes}", f"--pods={pods}", "--json"]
    settled = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(words, cwd=tree, env=settled, check=False, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None:
        raise click.ClickException(f"{run.case} in {tree}: {done.stderr.strip()}")
    return int(found[1])


@click.command(epilog="Example: python -m benchmarks.beside HEAD~20 SchedulingBasic Gang --runs 10")
@click.argument("revision")
@click.argument("cases", metavar="[CASE]...", nargs=-1, type=click.Choice(list(RUNS)))
@click.option("--runs", type=click.IntRange(1, 1000), default=6, show_default=True, help="Of each version.")
@click.option(
    "--count", "counting", is_flag=True, help="Count instructions instead of time (needs valgrind)."
)
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a case.")
@click.option("--forget", is_flag=True, help="Remove what was checked out, afterwards.")
def main(
    revision: str, cases: tuple[str, ...], runs: int, counting: bool, as_json: bool, forget: bool
) -> None:
    """Measure the cases of `make bench` with REVISION and with the files that are here, by turns."""
    if counting and shutil.which("valgrind") is None:
        raise click.UsageError("--count needs valgrind, which is not on the PATH")
    before = checked_out(revision)
    rows: list[Compared | Counted] = []
    with progress_bar() as bar:
        task = bar.add_task("beside", total=len(cases or RUNS))
        for case in cases or RUNS:
            bar.update(task, description=case)
            run = RUNS[case]
            rows.append(count(run, before, HERE) if counting else compare(run, before, HERE, runs))
            if not as_json:
                bar.console.print(f"{case:28} {_told(rows[-1])}", highlight=False, soft_wrap=True)
            bar.advance(task)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows)).decode())
    if forget:
        _git("worktree", "remove", "--force", str(before))
        shutil.rmtree(before, ignore_errors=True)


def _told(row: Compared | Counted) -> str:
    if isinstance(row, Counted):
        return f"{row.before:12,} -> {row.after:12,} instructions a pod  x {row.ratio:6.4f}"
    best = f"best {row.before_best_us:9.2f} -> {row.after_best_us:9.2f} us  x {row.best_ratio:5.3f}"
    middle = f"median {row.before_median_us:9.2f} -> {row.after_median_us:9.2f} us  x {row.median_ratio:5.3f}"
    return f"{best}   {middle}"


if __name__ == "__main__":
    main()
