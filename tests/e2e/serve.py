"""`make cluster`: a real control plane with nodes and Mooring, for a person with kubectl, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does for the tests

from e2e import binaries
from e2e.control_plane import MASTERS, ControlPlane
from e2e.mooring_process import mooring
from e2e.nodes import node
from e2e.scheduler import Scheduler, kube_scheduler

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok", "kubectl")


@click.command()
@click.option("--nodes", default=10, show_default=True, help="How many nodes kwok plays.")
@click.option("--cpu", default="8", show_default=True, help="Of each node.")
@click.option("--memory", default="32Gi", show_default=True, help="Of each node.")
@click.option("--config", type=click.Path(exists=True, path_type=Path), help="A KubeSchedulerConfiguration.")
@click.option("--policies", type=click.Path(exists=True, path_type=Path), help="A folder of policies.")
@click.option("--scheduler", type=click.Choice(["mooring", "kube-scheduler", "none"]), default="mooring")
def serve(
    nodes: int, cpu: str, memory: str, config: Path | None, policies: Path | None, scheduler: str
) -> None:
    """A control plane, nodes and a scheduler, until Ctrl-C."""
    try:
        binaries.build(NEEDED if scheduler != "kube-scheduler" else (*NEEDED, scheduler))
    except binaries.CannotBuild as error:
        click.echo(error, err=True)
        sys.exit(2)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with ExitStack() as started:
        folder = started.enter_context(tempfile.TemporaryDirectory(prefix="mooring-cluster-"))
        plane = started.enter_context(ControlPlane(Path(folder)))
        plane.api.create_all(
            "/api/v1/nodes", (node(f"node-{number}", cpu=cpu, memory=memory) for number in range(nodes))
        )
        running = started_scheduler(started, plane, scheduler, config, policies)
        tell(plane, nodes, running)
        wait_until_told(running)
    click.echo("ended")


def started_scheduler(
    started: ExitStack, plane: ControlPlane, name: str, config: Path | None, policies: Path | None
) -> Scheduler | None:
    if name == "none":
        return None
    if name != "mooring":
        return started.enter_context(kube_scheduler(plane, config))
    # With an account of its own: nothing is there yet of what the chart or the manifests install.
    account = plane.user("mooring-of-this-cluster", MASTERS)
    return started.enter_context(mooring(plane, config, policies=policies, kubeconfig=account))


def tell(plane: ControlPlane, nodes: int, running: Scheduler | None) -> None:
    kubectl = binaries.PROGRAMS["kubectl"].path
    lines = [
        f"A control plane with {nodes} nodes. In another terminal:",
        "",
        f"  export KUBECONFIG={plane.kubeconfig} PATH={kubectl.parent}:$PATH",
        "  kubectl get nodes",
        "  kubectl create deployment web --image=nothing --replicas=3",
        "",
        f"Logs are in {plane.folder}.",
    ]
    if running is not None:
        lines.append(f"{running.name} serves {running.url}; its log is {running.log.name}.")
    click.echo("\n".join([*lines, "Ctrl-C ends it all."]))


def wait_until_told(running: Scheduler | None) -> None:
    """Until Ctrl-C, or until the scheduler ends by itself."""
    try:
        if running is None:
            signal.pause()
        elif running.running is not None:
            code = running.running.wait()
            click.echo(f"{running.name} ended with code {code}:\n{running.tail()}", err=True)
    except KeyboardInterrupt:
        click.echo("\nending")


if __name__ == "__main__":
    serve()
