"""`mooring run`: schedules a real cluster."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from mooring.cli.flags import ELECTION, IGNORED, SERVING, TRUST, TRUTH, all_of, without_effect
from mooring.cli.run_values import VERBOSITIES_OF_MODULES, VERBOSITY, WORDS
from mooring.cli.values import EXISTING_FILE, EXISTING_FOLDER
from mooring.config.feature_gates import parse_feature_gates
from mooring.logs import configure

Flags = TypeVar("Flags", bound=msgspec.Struct)

KUBERNETES = "v1.36"


def show_version(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and value.lower() not in ("false", "0"):
        click.echo(f"Mooring {version('mooring')} (as kube-scheduler of Kubernetes {KUBERNETES})")
        ctx.exit()


@click.command(
    epilog="Example: mooring run --config scheduler.yaml --policies policies/ -v 2",
    context_settings={"token_normalize_func": lambda name: name.replace("_", "-")},
)
@click.option(
    "--config", type=EXISTING_FILE, help="A KubeSchedulerConfiguration; the default profile without."
)
@click.option("--kubeconfig", type=EXISTING_FILE, help="How to reach the API server; the pod's own without.")
@click.option("--master", default="", help="The address of the API server, instead of the kubeconfig's.")
@click.option(
    "--policies",
    type=EXISTING_FOLDER,
    help="A folder of Python policies; who is named nowhere is in every profile.",
)
@click.option(
    "--write-config-to", type=click.Path(dir_okay=False, path_type=Path),
    help="Write the configuration as it would be used to this file, and end.",
)  # fmt: skip
@click.option("--feature-gates", multiple=True, help="Feature gates, such as A=true,B=false.")
@click.option("--kube-api-qps", type=float, help="Requests per second, without --config. [default: 50]")
@click.option("--kube-api-burst", type=int, help="Requests at once, without --config. [default: 100]")
@all_of(SERVING)
@all_of(TRUST)
@all_of(ELECTION)
@click.option("--profiling", **TRUTH, default=True, help="Serve the debug flags and the profile.")
@click.option("--disabled-metrics", type=WORDS, default=(), help="Metrics that are not shown.")
@click.option("--seed", type=int, help="Draws ties, so that runs repeat; from the system without.")
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record what it is told and decides here, for `mooring replay`; earlier ones become FILE.1 to .3.",
)
@click.option(
    "--record-max-mb",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    metavar="MB",
    help="Recording ends when the file is so large.",
)
@click.option("-v", "--v", "verbosity", type=VERBOSITY, default=0, help="How much is logged, 0 to 10.")
@click.option("--vmodule", type=VERBOSITIES_OF_MODULES, default=(), help="The same for single modules.")
@click.option(
    "--logging-format", "--log-format", "log_format", type=click.Choice(["text", "json"]), default="text",
    show_default=True,
)  # fmt: skip
@click.option(
    "--version", is_flag=False, flag_value="true", is_eager=True, expose_value=False, callback=show_version,
    help="Say which version this is.",
)  # fmt: skip
@all_of(IGNORED)
def command(
    verbosity: int,
    vmodule: tuple[tuple[str, int], ...],
    log_format: str,
    feature_gates: tuple[str, ...],
    **flags: Any,
) -> None:
    """Schedule a real cluster, through its API server.

    Flags are kube-scheduler's. Without --kubeconfig the service account of the pod it runs in is used.
    SIGTERM ends it in order: what is under way is finished, the lease is given back.
    """
    from mooring.kube.garbage_collection import make_room

    make_room()  # already for all that is imported now
    from mooring.app.options import ElectionFlags, RunOptions, ServingFlags, TrustFlags
    from mooring.app.running import run

    configure(verbosity, log_format, modules=vmodule)
    options = RunOptions(
        **{name: flags[name] for name in RunOptions.__struct_fields__ if name in flags},
        election=_of(ElectionFlags, flags),
        serving=_of(ServingFlags, flags),
        trust=_of(TrustFlags, flags),
        gates=parse_feature_gates(",".join(feature_gates)) if feature_gates else None,
        without_effect=without_effect(flags),
    )
    sys.exit(run(options))


def _of(kind: type[Flags], flags: dict[str, Any]) -> Flags:
    """The flags of one group: its fields are named as they are."""
    return kind(**{name: flags[name] for name in kind.__struct_fields__})
