"""kube-scheduler and Mooring by turns, with a long or thin line to the API server, or a slow webhook.

The pods are there before the scheduler starts. The first bind is counted from the start of its process; pods
a second from the first bind to the last. Both have the same configuration. With leader election
kube-scheduler was seen to lose its lease over 500 ms here; why was not looked into.

    python -m benchmarks.distance [--nodes 500] [--pods 2000] [--case far-500 ...] [--json]
"""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import msgspec
from aiohttp import web
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the control plane of the end-to-end tests
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.arena.__main__ import NEEDED, PLAIN, QPS
from benchmarks.arena.turn import LEASE, LEASES, NAMESPACE, PODS, BoundPods, Spent, clear, cpu_s
from benchmarks.arena.workloads import nodes
from e2e import binaries
from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK, free_ports
from e2e.relay import Relay
from e2e.scheduler import Scheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

PATIENCE_S = 60.0
WEBHOOK = "slow-bindings"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Case(msgspec.Struct, frozen=True):
    """What is between a scheduler and the API server, and how long a binding takes there."""

    round_trip_s: float = 0.0
    webhook_s: float = 0.0
    bytes_per_s: float | None = None


CASES = {
    "near": Case(),
    "far-50": Case(round_trip_s=0.05),
    "far-200": Case(round_trip_s=0.2),
    "far-500": Case(round_trip_s=0.5),
    "webhook-200": Case(webhook_s=0.2),
    "webhook-1000": Case(webhook_s=1.0),
    "thin": Case(bytes_per_s=250_000.0),
}


class Figures(msgspec.Struct, frozen=True):
    case: str
    scheduler: str
    first_bind_s: float  # since its process was started
    last_bind_s: float
    pods_per_s: float
    cpu_ms_per_pod: float


def make_scheduler(plane: ControlPlane, name: str, kubeconfig: Path, leader_elect: bool) -> Scheduler:
    (port,) = free_ports(1)
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": QPS, "burst": QPS},
        "leaderElection": {
            "leaderElect": leader_elect,
            "resourceName": LEASE,
            "resourceNamespace": "kube-system",
        },
    }
    file = plane.folder / "distance.yaml"
    file.write_text(json.dumps(configuration))
    programs = {
        "kube-scheduler": [binaries.program("kube-scheduler")],
        "mooring": [Path(sys.executable).with_name("mooring"), "run"],
    }
    serving = [f"--config={file}", f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
    return Scheduler(name, [*programs[name], *serving], plane.folder, port)


@contextmanager
def webhook(plane: ControlPlane, seconds: float) -> Iterator[None]:
    """The API server asks before each binding, and has to wait so long for the answer."""
    if not seconds:
        yield
        return
    (port,) = free_ports(1)
    pair = plane.authority.server("webhook")
    loop, started, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def allow(request: web.Request) -> web.Response:
        asked = await request.json()
        await asyncio.sleep(seconds)
        return web.json_response({**asked, "response": {"uid": asked["request"]["uid"], "allowed": True}})

    async def serve() -> None:
        app = web.Application()
        app.router.add_post("/", allow)
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(pair.certificate, pair.key)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, LOOPBACK, port, ssl_context=tls).start()
        started.set()
        await ended.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    started.wait()
    bundle = plane.authority.certificate.read_bytes()
    plane.api.create(WEBHOOKS, webhook_of(f"https://{LOOPBACK}:{port}/", bundle))
    try:
        yield
    finally:
        plane.api.delete(f"{WEBHOOKS}/{WEBHOOK}")
        loop.call_soon_threadsafe(ended.set)
        thread.join()


def webhook_of(url: str, authority: bytes) -> dict[str, object]:
    bindings = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods/binding"],
        "operations": ["CREATE"],
    }
    hook = {
        "name": "slow.bindings.example",
        "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
        "rules": [bindings],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 10,
    }
    return {"metadata": {"name": WEBHOOK}, "webhooks": [hook]}


def one_turn(plane: ControlPlane, name: str, case_name: str, pods: int, leader_elect: bool) -> Figures:
    clear(plane)
    plane.api.delete(f"{LEASES}/{LEASE}")
    plane.api.create_all(PODS, (pod(f"pod-{number}") for number in range(pods)))
    case = CASES[case_name]
    with (
        webhook(plane, case.webhook_s),
        Relay(plane, round_trip_s=case.round_trip_s, bytes_per_s=case.bytes_per_s) as relay,
    ):
        scheduler = make_scheduler(plane, name, relay.kubeconfig, leader_elect)
        nothing = Spent(0.0, 0.0, 0.0, 0.0)
        with BoundPods(plane, pods, lambda: nothing) as bound:
            began = time.monotonic()
            scheduler.start()
            try:
                wait_for(bound.all_there, within=PATIENCE_S, every=0.05, saying="binds", tail=scheduler.tail)
                cpu = cpu_s(scheduler.pid)
            finally:
                scheduler.kill()
    first, last = bound.moments[0] - began, bound.moments[-1] - began
    return Figures(case_name, name, first, last, (pods - 1) / (last - first), 1000 * cpu / pods)


@click.command()
@click.option("--nodes", "node_count", type=click.IntRange(1), default=500, show_default=True)
@click.option("--pods", "pod_count", type=click.IntRange(2), default=2000, show_default=True)
@click.option("--case", "chosen", multiple=True, type=click.Choice(list(CASES)), help="Only these.")
@click.option(
    "--scheduler",
    "schedulers",
    multiple=True,
    type=click.Choice(["kube-scheduler", "mooring"]),
    default=("kube-scheduler", "mooring"),
)
@click.option("--leader-elect/--no-leader-elect", default=False, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def distance(
    node_count: int,
    pod_count: int,
    chosen: tuple[str, ...],
    schedulers: tuple[str, ...],
    leader_elect: bool,
    as_json: bool,
) -> None:
    """Both schedulers by turns, at every distance."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended
    binaries.build(NEEDED)
    results = []
    with ExitStack() as started:
        folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="mooring-distance-")))
        plane = started.enter_context(ControlPlane(folder, {"kube-apiserver": [PLAIN]}, bare=True))
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        plane.api.create_all("/api/v1/nodes", nodes(node_count))
        for case in chosen or CASES:
            for name in schedulers:
                results.append(one_turn(plane, name, case, pod_count, leader_elect))
                click.echo(str(results[-1]), err=True)
    if as_json:
        click.echo(msgspec.json.encode(results))
    else:
        show(results)


def show(results: list[Figures]) -> None:
    table = Table(title="distance")
    for column in ("case", "scheduler"):
        table.add_column(column)
    for column in ("first bind s", "last bind s", "pods/s", "CPU ms/pod"):
        table.add_column(column, justify="right")
    for one in results:
        binds = (f"{one.first_bind_s:.2f}", f"{one.last_bind_s:.2f}")
        table.add_row(one.case, one.scheduler, *binds, f"{one.pods_per_s:.0f}", f"{one.cpu_ms_per_pod:.2f}")
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    distance()
