"""`make arena`: kube-scheduler and Mooring by turns on one control plane, the same nodes, pods and qps.

The control plane is etcd and the API server alone: kubelets and controllers would take the same from both.
With `--beside REVISION` an earlier Mooring takes kube-scheduler's place: what a change costs live.
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
from benchmarks.beside import checked_out
from e2e import binaries
from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK, free_ports
from e2e.scheduler import Scheduler

QPS = 5000
NEEDED = ("etcd", "kube-apiserver", "kube-scheduler", "kubectl")
# What only a kubelet or a controller would undo, or make.
PLAIN = "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount"
TARGET_SPEED, TARGET_CPU = 3.0, 0.1
OURS = "mooring"
Programs = dict[str, list[str | Path]]  # how each is started; the first is what ours is compared with


def contestants(revision: str | None) -> Programs:
    """kube-scheduler, or Mooring as it was at a revision; and Mooring as it is."""
    now: Programs = {OURS: [Path(sys.executable).with_name("mooring"), "run"]}
    if revision is None:
        return {"kube-scheduler": [binaries.program("kube-scheduler")], **now}
    name = f"{OURS}-{revision.replace('/', '-')}"
    return {name: [checked_out(revision) / ".venv" / "bin" / "mooring", "run"], **now}


def make_scheduler(plane: ControlPlane, name: str, program: list[str | Path]) -> Scheduler:
    """All with the same configuration and all rights."""
    (port,) = free_ports(1)
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(plane.kubeconfig), "qps": QPS, "burst": QPS},
        "leaderElection": {"leaderElect": True, "resourceName": LEASE, "resourceNamespace": "kube-system"},
    }
    file = plane.folder / "scheduler.yaml"
    file.write_text(json.dumps(configuration))
    serving = [f"--config={file}", f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
    return Scheduler(name, [*program, *serving], plane.folder, port)


@click.command()
@click.option("--nodes", "node_count", type=click.IntRange(1), default=2000, show_default=True)
@click.option("--pods", "pod_count", type=click.IntRange(2), default=2000, show_default=True)
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="Turns of each; the median counts."
)
@click.option("--workload", "chosen", multiple=True, type=click.Choice(list(WORKLOADS)), help="Only these.")
@click.option("--beside", metavar="REVISION", help="Compare with Mooring as it was, not with kube-scheduler.")
@click.option("--json", "as_json", is_flag=True, help="Print every turn as one JSON list.")
def arena(
    node_count: int, pod_count: int, rounds: int, chosen: tuple[str, ...], beside: str | None, as_json: bool
) -> None:
    """Both schedulers by turns: pods/s, CPU per pod, memory, and the ratios."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended
    try:
        binaries.build(NEEDED)
    except binaries.CannotBuild as error:
        click.echo(error, err=True)
        sys.exit(2)
    programs = contestants(beside)
    with ExitStack() as started:
        folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="mooring-arena-")))
        plane = started.enter_context(ControlPlane(folder, {"kube-apiserver": [PLAIN]}, bare=True))
        say(f"making {node_count} nodes")
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        plane.api.create_all("/api/v1/nodes", nodes(node_count))
        results = [
            one_turn(plane, workload, (name, programs[name]), pod_count, number)
            for workload in chosen or WORKLOADS
            for number in range(rounds)
            for name in (programs if number % 2 == 0 else reversed(programs))
        ]
    if as_json:
        click.echo(json.dumps([msgspec.to_builtins(one) for one in results]))
    else:
        show(results, next(iter(programs)))


def one_turn(
    plane: ControlPlane, workload: str, which: tuple[str, list[str | Path]], pod_count: int, number: int
) -> Figures:
    clear(plane)
    name, program = which
    scheduler = make_scheduler(plane, name, program)
    figures = Turn(plane, scheduler, workload).run(map(WORKLOADS[workload], range(pod_count)))
    say(
        f"{workload}, turn {number + 1}, {name}: {figures.pods_per_s:.0f} pods/s, "
        f"{figures.cpu_ms_per_pod:.2f} ms CPU a pod"
    )
    return figures


def show(results: list[Figures], other: str) -> None:
    table = Table(title="the arena, medians")
    for column in ("workload", "scheduler"):
        table.add_column(column)
    for column in ("pods/s", "CPU ms/pod", "RSS MB", "first bind s", "last bind s"):
        table.add_column(column, justify="right")
    for column in ("own cores", "server cores", "idle cores", "ms taking over", "binding", "afterwards"):
        table.add_column(column, justify="right")
    table.add_column(f"pods/s ratio (≥ {TARGET_SPEED:g})", justify="right")
    table.add_column(f"CPU ratio (≤ {TARGET_CPU:g})", justify="right")
    for workload in dict.fromkeys(one.workload for one in results):
        theirs, ours = middle(results, workload, other), middle(results, workload, OURS)
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
        *(f"{ms:.0f}" for ms in (figures.taking_over_ms, figures.binding_ms, figures.afterwards_ms)),
    ]


def say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    arena()
