"""`make conformance`: Kubernetes' own end-to-end suite for scheduling, on Mooring and on kube-scheduler."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does for the tests

from conformance.cluster import NODE_COUNT, make_cluster, wait_until_whole
from conformance.progress import Progress, follow
from conformance.report import all_passed, as_json, failures, outcomes, table
from conformance.results import STARTED, Lines, Result
from conformance.suite import SUITE, SuiteFailed, specs, suite_run
from e2e import binaries
from e2e.control_plane import ControlPlane
from e2e.mooring_process import mooring
from e2e.scheduler import kube_scheduler

HERE = Path(__file__).parent
OUT = HERE.parents[1] / "out" / "conformance"
SCHEDULERS = {"mooring": mooring, "kube-scheduler": kube_scheduler}
NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")


@click.command()
@click.option("--only", type=click.Choice(list(SCHEDULERS)), help="With this scheduler alone.")
@click.option("--focus", default="", help="Only the specs whose names this regular expression finds.")
@click.option("--seed", type=int, help="The order of the specs; random without it.")
@click.option("--json", "print_json", is_flag=True, help="Print every result as one JSON list.")
def conformance(only: str | None, focus: str, seed: int | None, print_json: bool) -> None:
    """Every spec with each scheduler, one after the other; exit code 1 unless all ran and passed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        binaries.build_missing([*(binaries.PROGRAMS[name] for name in NEEDED), SUITE])
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        names = specs(focus, OUT)
    except (binaries.CannotBuild, SuiteFailed) as error:
        click.echo(error, err=True)
        sys.exit(2)
    if not names:
        click.echo(f"no spec is found by {focus!r}", err=True)
        sys.exit(2)
    chosen = [only] if only else list(SCHEDULERS)
    try:
        found = {each: outcomes(names, run(each, len(names), focus, seed)) for each in chosen}
    except SuiteFailed as error:
        click.echo(error, err=True)
        sys.exit(1)
    if print_json:
        click.echo(as_json(found))
    else:
        Console(width=None if sys.stdout.isatty() else 200).print(table(found))
    if not all_passed(found):
        click.echo(f"{failures(found)}\nLogs are in {OUT}.", err=True)
        sys.exit(1)


def run(name: str, count: int, focus: str, seed: int | None) -> list[Result]:
    """What the suite told of a scheduler, on a control plane of its own."""
    folder = OUT / name
    folder.mkdir()
    with ExitStack() as started:
        work = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="mooring-conformance-")))
        plane = ControlPlane(work, {"kwok": [f"--config={HERE / 'kubelet.yaml'}"]})
        started.enter_context(plane)
        make_cluster(plane)
        scheduler = SCHEDULERS[name](plane)
        started.callback(lambda: (folder / "scheduler.log").write_text(scheduler.output()))
        started.enter_context(scheduler)
        wait_until_whole(plane)
        suite = suite_run(plane, folder, NODE_COUNT, focus, seed)
        started.callback(suite.stop)
        suite.start()
        told = list(follow(suite, scheduler, Lines(folder / "results.jsonl"), Progress(name, count)))
        if suite.exit_code() and all(each.passed for each in told if each.state != STARTED):
            raise SuiteFailed(f"the suite ended with code {suite.exit_code()}:\n{suite.tail()}")
        return told


if __name__ == "__main__":
    conformance()
