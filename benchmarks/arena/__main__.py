"""`make arena`: kube-scheduler and Mooring by turns on one control plane, the same nodes, pods and qps.

The control plane is etcd and the API server alone: kubelets and controllers would take the same from both.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import click
import msgspec
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # the control plane of the end-to-end tests
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.arena.turn import LEASE, NAMESPACE, Figures, Turn, clear
from benchmarks.arena.workloads import WORKLOADS, nodes
from e2e import binaries
from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK, free_ports
from e2e.scheduler import Scheduler

QPS = 5000
NEEDED = ("etcd", "kube-apiserver", "kube-scheduler", "kubectl")
# What only a kubelet or a controller would undo, or make.
PLAIN = "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount"
TARGET_SPEED, TARGET_CPU = 3.0, 0.1


def make_scheduler(plane: ControlPlane, name: str) -> Scheduler:
    """Both with the same configuration and all rights."""
    (port,) = free_ports(1)
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(plane.kubeconfig), "qps": QPS, "burst": QPS},
        "leaderElection": {"leaderElect": True, "resourceName": LEASE, "resourceNamespace": "kube-system"},
    }
    file = plane.folder / "scheduler.yaml"
    file.write_text(json.dumps(configuration))
    programs = {
        "kube-scheduler": [binaries.program("kube-scheduler")],
        "mooring": [Path(sys.executable).with_name("mooring"), "run"],
    }
    serving = [f"--config={file}", f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
    return Scheduler(name, [*programs[name], *serving], plane.folder, port)


@click.command()
@click.option("--nodes", "node_count", type=click.IntRange(1), default=2000, show_default=True)
@click.option("--pods", "pod_count", type=click.IntRange(2), default=2000, show_default=True)
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="Turns of each; the median counts."
)
@click.option("--workload", "chosen", multiple=True, type=click.Choice(list(WORKLOADS)), help="Only these.")
@click.option("--json", "as_json", is_flag=True, help="Print every turn as one JSON list.")
def arena(node_count: int, pod_count: int, rounds: int, chosen: tuple[str, ...], as_json: bool) -> None:
    """Both schedulers by turns: pods/s, CPU per pod, memory, and the ratios."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended
    try:
        binaries.build(NEEDED)
    except binaries.CannotBuild as error:
        click.echo(error, err=True)
        sys.exit(2)
    with ExitStack() as started:
        folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="mooring-arena-")))
        plane = started.enter_context(ControlPlane(folder, {"kube-apiserver": [PLAIN]}, bare=True))
        say(f"making {node_count} nodes")
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        plane.api.create_all("/api/v1/nodes", nodes(node_count))
        results = [
            one_turn(plane, workload, name, pod_count, number)
            for workload in chosen or WORKLOADS
            for number in range(rounds)
            for name in ("kube-scheduler", "mooring")
        ]
    if as_json:
        click.echo(json.dumps([msgspec.to_builtins(one) for one in results]))
    else:
        show(results)


def one_turn(plane: ControlPlane, workload: str, name: str, pod_count: int, number: int) -> Figures:
    clear(plane)
    scheduler = make_scheduler(plane, name)
    figures = Turn(plane, scheduler, workload).run(map(WORKLOADS[workload], range(pod_count)))
    say(
        f"{workload}, turn {number + 1}, {name}: {figures.pods_per_s:.0f} pods/s, "
        f"{figures.cpu_ms_per_pod:.2f} ms CPU a pod"
    )
    return figures


def show(results: list[Figures]) -> None:
    table = Table(title="the arena, medians")
    for column in ("workload", "scheduler"):
        table.add_column(column)
    for column in ("pods/s", "CPU ms/pod", "RSS MB", "first bind s", "last bind s"):
        table.add_column(column, justify="right")
    for column in ("own cores", "server cores", "idle cores"):
        table.add_column(column, justify="right")
    table.add_column(f"pods/s ratio (≥ {TARGET_SPEED:g})", justify="right")
    table.add_column(f"CPU ratio (≤ {TARGET_CPU:g})", justify="right")
    for workload in dict.fromkeys(one.workload for one in results):
        theirs = middle(results, workload, "kube-scheduler")
        ours = middle(results, workload, "mooring")
        table.add_row(*row(theirs), "", "")
        speed, cpu = ours.pods_per_s / theirs.pods_per_s, ours.cpu_ms_per_pod / theirs.cpu_ms_per_pod
        table.add_row(*row(ours), f"{speed:.2f}", f"{cpu:.2f}", end_section=True)
    Console(width=None if sys.stdout.isatty() else 180).print(table)


def middle(results: list[Figures], workload: str, scheduler: str) -> Figures:
    """The median of every figure."""
    turns = [one for one in results if (one.workload, one.scheduler) == (workload, scheduler)]
    numbers = {
        field: median(getattr(one, field) for one in turns)
        for field in Figures.__struct_fields__
        if isinstance(getattr(turns[0], field), float)
    }
    return msgspec.structs.replace(turns[0], **numbers)


def row(figures: Figures) -> list[str]:
    return [
        figures.workload,
        figures.scheduler,
        f"{figures.pods_per_s:.0f}",
        f"{figures.cpu_ms_per_pod:.2f}",
        f"{figures.rss_mb:.0f}",
        f"{figures.first_bind_s:.2f}",
        f"{figures.last_bind_s:.2f}",
        *(f"{cores:.2f}" for cores in (figures.own_cores, figures.server_cores, figures.idle_cores)),
    ]


def say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    arena()
