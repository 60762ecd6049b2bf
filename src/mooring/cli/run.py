"""`mooring run`: schedules a real cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mooring.app.options import OPEN_PATHS, SECURE_PORT, ElectionFlags, RunOptions
from mooring.cli.values import EXISTING_FILE, EXISTING_FOLDER, DurationType, GatesType
from mooring.config.feature_gates import FeatureGates
from mooring.logs import configure

Decorated = TypeVar("Decorated", bound=Callable[..., object])

# --flag, --flag=true, --flag=false, as in Go
TRUTH: dict[str, Any] = {"type": bool, "is_flag": False, "flag_value": "true"}

ELECTION = (
    click.option(
        "--leader-elect", **TRUTH, help="One of several replicas schedules at a time. [default: true]"
    ),
    click.option("--leader-elect-lease-duration", type=DurationType(), help="[default: 15s]"),
    click.option("--leader-elect-renew-deadline", type=DurationType(), help="[default: 10s]"),
    click.option("--leader-elect-retry-period", type=DurationType(), help="[default: 2s]"),
    click.option("--leader-elect-resource-lock", type=click.Choice(["leases"]), help="[default: leases]"),
    click.option("--leader-elect-resource-name", help="[default: kube-scheduler]"),
    click.option("--leader-elect-resource-namespace", help="[default: kube-system]"),
)


def election_options(command: Decorated) -> Decorated:
    """The flags of leader election, which are the fields of its settings."""
    for option in reversed(ELECTION):
        command = option(command)
    return command


def _election(flags: dict[str, Any]) -> ElectionFlags:
    """`leader_elect_lease_duration` is the field `lease_duration`, and so on."""
    return ElectionFlags(**{name.removeprefix("leader_elect_"): value for name, value in flags.items()})


@click.command(epilog="Example: mooring run --config scheduler.yaml --policies policies/ -v 2")
@click.option(
    "--config", type=EXISTING_FILE, help="A KubeSchedulerConfiguration; the default profile without."
)
@click.option("--kubeconfig", type=EXISTING_FILE, help="How to reach the API server; the pod's own without.")
@click.option("--master", default="", help="The address of the API server, instead of the kubeconfig's.")
@click.option("--policies", type=EXISTING_FOLDER, help="A folder of Python policies, added to every profile.")
@click.option("--feature-gates", "gates", type=GatesType(), help="Feature gates, such as A=true,B=false.")
@click.option(
    "--kube-api-qps", "qps", type=float, help="Requests per second, without --config. [default: 50]"
)
@click.option(
    "--kube-api-burst", "burst", type=int, help="Requests at once, without --config. [default: 100]"
)
@click.option(
    "--bind-address", default="0.0.0.0", show_default=True, help="Where to serve health and metrics."
)
@click.option(
    "--secure-port", type=click.IntRange(0, 65535), default=SECURE_PORT, show_default=True,
    help="The HTTPS port; 0 serves nothing.",
)  # fmt: skip
@click.option(
    "--cert-dir", type=click.Path(file_okay=False, path_type=Path), help="Where a certificate is kept."
)
@click.option("--tls-cert-file", type=EXISTING_FILE, help="The certificate; a self-signed one without.")
@click.option("--tls-private-key-file", type=EXISTING_FILE, help="Its key.")
@click.option(
    "--authorization-always-allow-paths", "open_paths", default=",".join(OPEN_PATHS), show_default=True,
    help="Paths anybody may read.",
)  # fmt: skip
@election_options
@click.option("--profiling", **TRUTH, default=True, help="Serve the debug flags.")
@click.option("--seed", type=int, help="Draws ties, so that runs repeat; from the system without.")
@click.option(
    "-v", "--v", "verbosity", type=click.IntRange(0, 10), default=0, help="How much is logged, 0 to 10."
)
@click.option(
    "--logging-format", "--log-format", "log_format", type=click.Choice(["text", "json"]), default="text",
    show_default=True,
)  # fmt: skip
def command(
    config: Path | None,
    kubeconfig: Path | None,
    master: str,
    policies: Path | None,
    gates: FeatureGates | None,
    qps: float | None,
    burst: int | None,
    bind_address: str,
    secure_port: int,
    cert_dir: Path | None,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    open_paths: str,
    profiling: bool,
    seed: int | None,
    verbosity: int,
    log_format: str,
    **election: Any,
) -> None:
    """Schedule a real cluster, through its API server.

    Without --kubeconfig the service account of the pod it runs in is used. SIGTERM ends it in order:
    what is under way is finished, the lease is given back.
    """
    from mooring.kube.settling import make_room

    make_room()  # already for all that is imported now
    from mooring.app.running import run

    configure(verbosity, log_format)
    options = RunOptions(
        config=config,
        kubeconfig=kubeconfig,
        master=master,
        policies=policies,
        election=_election(election),
        gates=gates,
        qps=qps,
        burst=burst,
        bind_address=bind_address,
        secure_port=secure_port,
        cert_dir=cert_dir,
        tls_cert_file=tls_cert_file,
        tls_private_key_file=tls_private_key_file,
        always_allow_paths=tuple(path for path in open_paths.split(",") if path),
        profiling=profiling,
        seed=seed,
    )
    sys.exit(run(options))
