"""What it costs this process to carry out a bind: the performer, the client and the transport together.

A server in another process takes every bind and every Event. `floor` is the transport alone, sending the
same requests; `binds` is the performer without Events; `events` is with the Event of each pod.

    python benchmarks/binding.py [--pods 20000] [--in-flight 100] [--json] [--profile]
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import pstats
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mooring.app.making import make_engine
from mooring.config.load import default_config
from mooring.engine.decisions import Bind
from mooring.engine.events import Bound, Event
from mooring.framework.api.cycle import Cycle
from mooring.framework.running.binding import BindingState
from mooring.kube.access.access import Access
from mooring.kube.client import Client
from mooring.kube.http.call_slots import Slots
from mooring.kube.http.transport import Request, Transport
from mooring.kube.perform.performer import KubePerformer
from mooring.kube.record.recorder import Recorder
from mooring.kube.request_bodies import binding
from mooring.model.objects import ObjectMeta, Pod
from mooring.plugins.catalogue import make_registry

HERE = Path(__file__).parent
DRAIN_S = 600.0


class Silent(Recorder):
    """Records nothing, so that binds are measured by themselves."""

    def record(self, *_: Any, **__: Any) -> None:
        return


class Measure:
    """Times what runs between its two calls."""

    def __init__(self, pods: int) -> None:
        self._pods = pods
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def end(self) -> dict[str, float]:
        cpu, wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        return {"cpu_us": 1e6 * cpu / self._pods, "per_s": self._pods / wall}


async def floor(transport: Transport, pods: list[Pod], in_flight: int) -> dict[str, float]:
    """The same requests with nothing around them."""
    left = iter(pods)

    async def send() -> None:
        for pod in left:
            path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
            await transport.ask(Request("POST", path, body=binding(pod, "node-1")))

    measure = Measure(len(pods))
    await asyncio.gather(*(send() for _ in range(in_flight)))
    return measure.end()


async def binds(transport: Transport, pods: list[Pod], in_flight: int, *, events: bool) -> dict[str, float]:
    """Decisions in, answers out."""
    registry = make_registry()
    engine = make_engine(default_config(registry), registry)
    client, slots, told = Client(transport), Slots(in_flight), list[Event]()
    recorder = (Recorder if events else Silent)(client, "host", slots=slots)
    profile = next(iter(engine.profiles.values()))
    state = BindingState(profile, Cycle(profile.name, 0.0))
    performer = KubePerformer(
        client, told.append, recorder=recorder, binding_state=lambda bind: state, slots=slots
    )
    engine.attach(performer.api)
    decisions = [Bind(pod, "node-1", profile.name, 0) for pod in pods]
    measure = Measure(len(pods))
    for decision in decisions:
        performer.perform(decision)
    await performer.drain(DRAIN_S)
    done = measure.end()
    await recorder.flush(DRAIN_S)
    assert len(told) == len(pods)
    assert all(isinstance(event, Bound) for event in told)
    return measure.end() if events else done


async def measure_all(server: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    transport = Transport(Access(server=server))
    count, in_flight = options.pods, options.in_flight
    pods = [
        Pod(metadata=ObjectMeta(name=f"pod-{n}", namespace="default", uid=f"{n:036}")) for n in range(count)
    ]
    await floor(transport, pods[:2000], in_flight)  # connections are open from then on
    found = {
        "floor": await floor(transport, pods, in_flight),
        "binds": await binds(transport, pods, in_flight, events=False),
        "events": await binds(transport, pods, in_flight, events=True),
    }
    await transport.close()
    return found


def run(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Runs the server beside, and the performer here."""
    command = [sys.executable, str(HERE / "binding_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        port = int(server.stdout.readline())
        try:
            return asyncio.run(measure_all(f"http://127.0.0.1:{port}", options))
        finally:
            server.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--in-flight", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", action="store_true", help="where the time goes, on standard error")
    options = parser.parse_args()
    profile = cProfile.Profile()
    found = profile.runcall(run, options) if options.profile else run(options)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        sys.stdout.write(f"{'':8}{'CPU µs/pod':>12}{'pods/s':>10}\n")
        for name, each in found.items():
            sys.stdout.write(f"{name:8}{each['cpu_us']:12.1f}{each['per_s']:10.0f}\n")
    if options.profile:
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
