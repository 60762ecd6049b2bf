"""`mooring bench`: engine benchmarks, one table."""

from __future__ import annotations

import cProfile
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import click
import msgspec
from rich.progress import Progress

from mooring.bench import extender
from mooring.bench.cases import CASES
from mooring.bench.profile import write_profile
from mooring.bench.runner import Measured, run_case
from mooring.bench.steps import Steps
from mooring.cli import bars as checking
from mooring.cli.bench_tables import measured_table, show, steps_table
from mooring.cli.progress import progress_bar
from mooring.errors import did_you_mean

KNOWN = {**{case.name: case.about for case in CASES.values()}, extender.NAME: extender.ABOUT}
PROFILE = "profile.txt"


class Wanted(msgspec.Struct, frozen=True):
    """What is asked of a case; None is the case's own."""

    nodes: int | None = None
    pods: int | None = None
    windows: int | None = None

    def words(self) -> list[str]:
        said = msgspec.to_builtins(self).items()
        return [word for name, value in said if value is not None for word in (f"--{name}", str(value))]


@click.command(epilog="Example: mooring bench SchedulingBasic --nodes 5000 --pods 20000")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--nodes", type=click.IntRange(1, 200_000), help="Nodes, instead of the case's own number.")
@click.option(
    "--pods", type=click.IntRange(1, 2_000_000), help="Measured pods, instead of the case's own number."
)
@click.option("--windows", type=click.IntRange(1, 1000), help="Also tell the best of so many equal parts.")
@click.option(
    "--bars",
    is_flag=True,
    help="Check the rows that have a target, scaled to this machine; fail when one misses by more than 30 %.",
)
@click.option(
    "--profile",
    is_flag=False,
    flag_value=PROFILE,
    metavar="[FILE]",
    help=f"Write where the time of one CASE goes: text to FILE ({PROFILE}), data beside it (.pstats).",
)
@click.option("--steps", is_flag=True, help="Also tell how the time of a pod of one CASE is made up.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a case or row.")
@click.option("--list", "as_list", is_flag=True, help="List the cases and stop.")
def command(
    cases: Sequence[str],
    nodes: int | None,
    pods: int | None,
    windows: int | None,
    bars: bool,
    profile: str | None,
    steps: bool,
    as_json: bool,
    as_list: bool,
) -> None:
    """Measure the engine in process: queue, plugins, placing and decisions, without an API server.

    Without CASE every case runs, each in a process of its own so that memory is its own.
    """
    if as_list:
        for name, about in KNOWN.items():
            click.echo(f"{name:32} {about}")
        return
    wanted = Wanted(nodes, pods, windows)
    if profile in KNOWN:  # an option that may go without its value takes the word after it
        cases, profile = (*cases, profile), PROFILE
    if bars:
        if profile or steps or wanted != Wanted():
            raise click.UsageError("--bars has sizes of its own: only CASE and --json go with it.")
        sys.exit(checking.check(checking.rows_named(cases), as_json))
    names = list(cases) or list(KNOWN)
    for name in names:
        if name not in KNOWN:
            raise click.UsageError(f'no case named "{name}".{did_you_mean(name, list(KNOWN))}')
    if profile or steps:
        option = "--profile" if profile else "--steps"
        if len(cases) != 1 or names[0] == extender.NAME or (profile and steps):
            raise click.UsageError(f"{option} goes with one CASE by itself, and not with {extender.NAME}.")
        name = names[0]
        measured = [_profiled(name, wanted, Path(profile)) if profile else _in_steps(name, wanted)]
    else:
        measured = _measured(names, wanted)
    _tell(measured, as_json)


def _tell(measured: list[Measured], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(measured)))
    else:
        show(measured_table(measured))
        for each in measured:
            if each.steps:
                show(steps_table(each.steps))


def _measured(names: Sequence[str], wanted: Wanted) -> list[Measured]:
    with progress_bar() as bar:
        if len(names) == 1:
            return _here(names[0], wanted, bar)
        task = bar.add_task("benchmarks", total=len(names))
        measured = []
        for name in names:
            bar.update(task, description=name)
            measured.extend(checking.measure_apart(name, wanted.words()))
            bar.advance(task)
    return measured


def _here(name: str, wanted: Wanted, bar: Progress) -> list[Measured]:
    if name == extender.NAME:
        total = wanted.pods or extender.PODS
        task = bar.add_task(name, total=total)
        return extender.run_extender(
            wanted.nodes or extender.NODES, total, lambda done, _: bar.update(task, completed=done)
        )
    return [_one(name, wanted, bar)]


def _one(
    name: str, wanted: Wanted, bar: Progress, watched: AbstractContextManager[object] | None = None
) -> Measured:
    case = CASES[name]
    total = wanted.pods or case.pods
    task = bar.add_task(name, total=total)
    return run_case(
        case,
        wanted.nodes or case.nodes,
        total,
        lambda done, _: bar.update(task, completed=done),
        windows=wanted.windows,
        watched=watched,
    )


def _profiled(name: str, wanted: Wanted, file: Path) -> Measured:
    if not file.parent.is_dir():
        raise click.UsageError(f"there is no folder {file.parent} to write {file.name} to.")
    watching = cProfile.Profile()
    with progress_bar() as bar:
        measured = _one(name, wanted, bar, watching)
    data = write_profile(watching, measured, file)
    click.echo(f"the profile is in {file}, its data in {data}", err=True)
    return measured


def _in_steps(name: str, wanted: Wanted) -> Measured:
    steps = Steps()
    with progress_bar() as bar:
        measured = _one(name, wanted, bar, steps)
    return msgspec.structs.replace(measured, steps=steps.of(measured.cpu_us_per_pod))
