"""`mooring simulate`: runs manifests on the embedded cluster and reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from mooring.app.simulating import simulate
from mooring.cli.placements import print_result
from mooring.cli.policies import watched
from mooring.cli.values import DURATION, EXISTING_FILE, EXISTING_FOLDER, GATES
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
    "--scores", is_flag=True, help="With --json: the total of every feasible node for each pod placed."
)
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Record it here, for `mooring replay`."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--report", type=click.Path(file_okay=False, path_type=Path), help="Write an HTML page here.")
def command(
    paths: Sequence[str],
    config: Path | None,
    policies: Path | None,
    seed: int,
    until: float | None,
    gates: FeatureGates | None,
    scores: bool,
    record: Path | None,
    as_json: bool,
    report: Path | None,
) -> None:
    """Place the pods of ordinary Kubernetes manifests on an embedded cluster.

    Each PATH is a file, a folder, or - for standard input. The annotations sim.mooring.io/arrives-at
    and sim.mooring.io/runs-for give objects a time. Nothing is placed if any document has a mistake.
    """
    with watched(policies, "placing pods") as update:
        result = simulate(
            paths,
            config=config,
            policies=policies,
            seed=seed,
            until=until,
            scores=scores,
            gates=gates,
            record=record,
            progress=lambda done, total: update(completed=done, total=total),
            remark=lambda remark: click.echo(f"note: {remark}", err=True),
        )
    page = write_report(result, report) if report else None
    _show(result, page, as_json=as_json)


def _show(result: Result, page: Path | None, *, as_json: bool) -> None:
    if as_json:
        click.echo(to_json(result), nl=False)
        return
    print_result(result)
    if page is not None:
        click.echo(f"report: {page}")
