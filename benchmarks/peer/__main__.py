"""`make peer`: kube-scheduler's own code and Mooring's engine, in process, on the same nodes and pods.

Each measurement is a process of its own; the two take turns. With `--compare` nothing is timed: both decide
the same pods on the same cluster, and the nodes each thinks the best must be the same ones.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # who builds the end-to-end tests' programs
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.peer.binary import program
from benchmarks.peer.cases import CASES
from benchmarks.peer.compare import Compared, compare
from benchmarks.peer.ours import Figures
from e2e.binaries import CannotBuild

ROOT = Path(__file__).parents[2]
WARM_UP = 100
TIMED = [name for name, case in CASES.items() if case.timed]
NODES, PODS, ALL_PODS = 5000, 4000, 500
COMPARED_NODES, COMPARED_PODS = 500, 1000
SAMPLED, ALL = 0, 100
TABLE_WIDTH = 140
COLUMNS = (
    ("", "case"),
    ("", "pods"),
    ("sampled", "pods/s"),
    ("all nodes", "pods/s"),
    ("Mooring", "pods/s"),
    ("sampled", "CPU ms/pod"),
    ("all nodes", "CPU ms/pod"),
    ("Mooring", "CPU ms/pod"),
    ("CPU less", "than sampled"),
    ("CPU less than", "all nodes"),
    ("", "target"),
)


class Row(msgspec.Struct, frozen=True):
    """One case: the peer with its adaptive sampling, the peer looking at every node, and Mooring."""

    case: str
    nodes: int
    sampled: Figures
    all_nodes: Figures
    mooring: Figures
    cpu_ratio: float
    cpu_ratio_all_nodes: float
    target: float | None


@click.command(epilog="Example: python -m benchmarks.peer --cases basic --cases classes --pods 8000")
@click.option("--nodes", type=click.IntRange(1, 50_000), help=f"{NODES}, or {COMPARED_NODES} to compare.")
@click.option("--pods", type=click.IntRange(1), help=f"{PODS}, or {COMPARED_PODS} to compare.")
@click.option(
    "--all-pods", default=ALL_PODS, show_default=True, help="Pods for the peer when it looks at every node."
)
@click.option(
    "--warm-up", default=WARM_UP, show_default=True, help="Pods placed before anything is measured."
)
@click.option("--cases", "chosen", multiple=True, type=click.Choice(list(CASES)), help="Only these.")
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Turns of each; the one of least CPU counts.",
)
@click.option("--compare", "comparing", is_flag=True, help="Compare the best nodes of every pod instead.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a case.")
def peer(
    nodes: int | None,
    pods: int | None,
    all_pods: int,
    warm_up: int,
    chosen: Sequence[str],
    rounds: int,
    comparing: bool,
    as_json: bool,
) -> None:
    """kube-scheduler's own code beside Mooring's engine: pods/s, CPU per pod, how many times less."""
    try:
        built = program()
    except CannotBuild as error:
        click.echo(error, err=True)
        sys.exit(2)
    with tempfile.TemporaryDirectory(prefix="mooring-peer-") as folder:
        if comparing:
            names = chosen or list(CASES)
            sizes = nodes or COMPARED_NODES, pods or COMPARED_PODS
            compared = [compare_one(built, name, Path(folder), *sizes) for name in names]
            show_compared(compared, as_json)
            sys.exit(any(one.mismatch for one in compared))
        file = Path(folder) / "objects.jsonl"
        rows = []
        for name in chosen or TIMED:
            CASES[name].write(file, nodes or NODES, warm_up + (pods or PODS))
            rows.append(one_row(Turns(built, file, warm_up), name, nodes or NODES, all_pods, rounds))
    show(rows, as_json)


class Turns(msgspec.Struct, frozen=True):
    """What both take for the pods of one file."""

    built: Path
    file: Path
    warm_up: int

    def theirs(self, percent: int, pods: int | None = None) -> Figures:
        most = 0 if pods is None else self.warm_up + pods
        options = {"file": self.file, "percent": percent, "pods": most, "warm-up": self.warm_up}
        return figures_of(
            [str(self.built), "measure", *(f"-{name}={value}" for name, value in options.items())]
        )

    def ours(self) -> Figures:
        words = ["-m", "benchmarks.peer.ours", str(self.file), f"--warm-up={self.warm_up}"]
        return figures_of([sys.executable, *words])


def one_row(turns: Turns, name: str, nodes: int, all_pods: int, rounds: int) -> Row:
    sampled, ours = [], []
    for _ in range(rounds):
        sampled.append(turns.theirs(SAMPLED))
        ours.append(turns.ours())
    least, mine = min(sampled, key=cpu), min(ours, key=cpu)
    whole = turns.theirs(ALL, all_pods)
    target = CASES[name].target
    row = Row(name, nodes, least, whole, mine, cpu(least) / cpu(mine), cpu(whole) / cpu(mine), target)
    say(
        f"{name}: kube-scheduler {cpu(least):.2f} ms of CPU a pod, {cpu(whole):.2f} with all nodes, "
        f"Mooring {cpu(mine):.3f}: {row.cpu_ratio:.1f} times less"
    )
    return row


def cpu(figures: Figures) -> float:
    return figures.cpu_ms_per_pod


def figures_of(line: Sequence[str]) -> Figures:
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    return msgspec.json.decode(done.stdout, type=Figures)


def compare_one(built: Path, name: str, folder: Path, nodes: int, pods: int) -> Compared:
    file = folder / f"{name}.jsonl"
    CASES[name].write(file, nodes, pods)
    done = compare(name, built, file, lambda count: say(f"{name}: {count} pods compared"))
    said = "no difference" if done.mismatch is None else "they differ"
    say(f"{name}: {done.pods} pods compared on {done.nodes} nodes, {said}")
    return done


def show(rows: Sequence[Row], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows)))
        return
    click.echo(
        "kube-scheduler with its adaptive sampling, kube-scheduler with all nodes, Mooring with all nodes"
    )
    table = Table(*("\n".join(words) for words in COLUMNS), box=box.SIMPLE_HEAD)
    for column in table.columns:
        column.justify, column.no_wrap = "right", True
    table.columns[0].justify = "left"
    for row in rows:
        three = (row.sampled, row.all_nodes, row.mooring)
        table.add_row(
            row.case,
            f"{row.mooring.pods:,}",
            *(f"{each.pods_per_s:,.0f}" for each in three),
            *(f"{cpu(each):.3f}" for each in three),
            *(f"{ratio:,.1f}x" for ratio in (row.cpu_ratio, row.cpu_ratio_all_nodes)),
            f"{row.target:g}x" if row.target else "",
        )
    Console(width=None if sys.stdout.isatty() else TABLE_WIDTH).print(table)


def show_compared(compared: Sequence[Compared], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(compared)))
        return
    for one in compared:
        if one.mismatch is not None:
            click.echo(f"{one.case}, {one.mismatch.pod}:")
            click.echo(f"  kube-scheduler: {one.mismatch.theirs}")
            click.echo(f"  Mooring:        {one.mismatch.ours}")
            for line in one.mismatch.why or ["no plugin by itself: what is kept is not what they say"]:
                click.echo(f"  {line}")
    pods, wrong = sum(one.pods for one in compared), sum(one.mismatch is not None for one in compared)
    unfit = sum(one.unfit for one in compared)
    click.echo(f"{pods:,} pods compared, of which {unfit:,} fit nowhere; {wrong} mismatches")


def say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    peer()
