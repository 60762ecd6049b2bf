"""`mooring simulate`: runs manifests on the embedded cluster and reports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mooring import logs
from mooring.app.simulating import simulate
from mooring.cli.placements import notes, print_result
from mooring.cli.policies import watched
from mooring.cli.run_values import VERBOSITY
from mooring.cli.values import DURATION, EXISTING_FILE, EXISTING_FOLDER, GATES, NAMES
from mooring.config.feature_gates import FeatureGates
from mooring.sim.report import write_report
from mooring.sim.result import Result, to_json


@click.command(epilog="Example: mooring simulate examples/quickstart --report out/report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--config", type=EXISTING_FILE, help="A KubeSchedulerConfiguration; kube-scheduler's default without."
)
@click.option(
    "--policies",
    type=EXISTING_FOLDER,
    help="A folder of Python policies; who is named nowhere is in every profile.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Draws ties and generated names; runs repeat."
)
@click.option("--until", type=DURATION, help="Stop after this much simulated time, such as 90s or 1h30m.")
@click.option("--feature-gates", "gates", type=GATES, help="Feature gates, such as A=true,B=false.")
@click.option(
    "--adopt",
    multiple=True,
    type=NAMES,
    metavar="NAME,...",
    help="Place the pods of these schedulers too, as those of the first profile. May be given several times.",
)
@click.option("--scores", is_flag=True, help="Show the total of every feasible node for each pod placed.")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Record it here, for `mooring replay`."
)
@click.option("--lenient", is_flag=True, help="Only warn of unknown and missing fields in manifests.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("-v", "--v", "verbosity", type=VERBOSITY, help="Log what is decided, as `run` does, 0 to 10.")
@click.option("--report", type=click.Path(file_okay=False, path_type=Path), help="Write an HTML page here.")
def command(
    paths: Sequence[str],
    config: Path | None,
    policies: Path | None,
    seed: int,
    until: float | None,
    gates: FeatureGates | None,
    adopt: Sequence[Sequence[str]],
    scores: bool,
    record: Path | None,
    lenient: bool,
    as_json: bool,
    verbosity: int | None,
    report: Path | None,
) -> None:
    """Place the pods of ordinary Kubernetes manifests on an embedded cluster.

    Each PATH is a file, a folder, or - for standard input. The annotations sim.mooring.io/arrives-at
    and sim.mooring.io/runs-for give objects a time. Nothing is placed if any document has a mistake.
    """
    logged = _set_up_logging(verbosity)
    with watched(policies, "placing pods", bar_shown=not logged) as update:
        result = simulate(
            paths,
            config=config,
            policies=policies,
            seed=seed,
            until=until,
            scores=scores,
            gates=gates,
            adopt=[name for names in adopt for name in names],
            record=record,
            logged=logged,
            lenient=lenient,
            progress=lambda done, total: update(completed=done, total=total),
            remark=lambda remark: click.echo(f"note: {remark}", err=True),
        )
    page = write_report(result, report) if report else None
    _show(result, page, as_json=as_json)
    for note in notes(result):
        click.echo(f"note: {note}", err=True)
    for plugin, failure in result.failures.items():
        pods = f"{failure.pods[0]} and {len(failure.pods) - 1} more" if failure.pods[1:] else failure.pods[0]
        click.echo(f"mooring: plugin {plugin} failed for {pods}: {failure.message}", err=True)
    if result.failures or result.stopped or logs.errors():
        sys.exit(1)


def _set_up_logging(verbosity: int | None) -> bool:
    """Whether decisions are logged. What plugins do wrong is told even if nobody asks."""
    if verbosity is None:
        verbosity = click.get_current_context().find_root().params.get("verbosity")
    if verbosity is None:
        logs.quiet(but_errors=True)
        return False
    logs.configure(verbosity)
    return True


def _show(result: Result, page: Path | None, *, as_json: bool) -> None:
    if as_json:
        click.echo(to_json(result), nl=False)
        return
    print_result(result)
    if page is not None:
        click.echo(f"report: {page}")
