"""How long a scheduler takes to know a large running cluster, and how much memory it needs for that.

A server in another process lists a recorded cluster; this process reads it through the transport, the
client, the informers and the engine of the default profile, as `mooring run` does, until everything is
synced and taken in. Processor time counts from the start of this process and is shown in two parts:

    imports and making the engine   until there is an engine that could take something in: Python itself,
                                    what this file imports, Mooring and its libraries, the default profile.
                                    The modules are compiled before, as they are where Mooring is installed.
                                    It does not grow with the cluster. `mooring run` imports more: it reads
                                    a kubeconfig, serves metrics and writes.
    the initial list                from there on: every page off the socket (no TLS, and not compressed
                                    without --gzip), read, told to the engine and taken in, all kinds
                                    together. Nothing is decided. The server's own time does not count.

    python benchmarks/ingest.py [--nodes 5000] [--pods 50000] [--classes 500] [--gzip] [--json] [--profile]
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import importlib.util
import json
import pstats
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# Seconds are those of the machine the bars were set on: a slower one has as much more time.
TARGETS = {"cpu_s": 3.0, "settled_mb": 200.0, "peak_mb": 200.0}
AIMS = {"list_cpu_s": 1.5, "settled_mb": 200.0, "peak_mb": 200.0}
STATUS = Path("/proc/self/status")


async def load(server: str) -> dict[str, Any]:
    """Knows the cluster, and says what that took."""
    from mooring.kube.garbage_collection import make_room, settle

    make_room()  # before everything else is imported, as the command does

    from mooring.app.driver import Clock, Driver
    from mooring.app.making import make_engine
    from mooring.config.load import default_config
    from mooring.framework.metrics.meter import Meter
    from mooring.kube.access.access import Access
    from mooring.kube.client import Client
    from mooring.kube.http.transport import Transport
    from mooring.kube.watch.followed_kinds import kinds_read
    from mooring.kube.watch.informers import Informers
    from mooring.plugins.catalogue import make_registry

    registry = make_registry()
    engine = make_engine(default_config(registry), registry, meter=Meter(time.perf_counter))
    marks = {"imported_cpu_s": time.process_time(), "imported_mb": _now_mb()}
    started = time.perf_counter()
    transport = Transport(Access(server=server))
    driver = Driver(engine, lambda decision: None, clock=Clock())
    informers = Informers(Client(transport), kinds_read(engine), driver.tell)
    tasks = [asyncio.create_task(informers.run()), asyncio.create_task(driver.run())]
    await informers.synced()
    await driver.caught_up()
    settle()
    marks |= {"cpu_s": time.process_time(), "wall_s": time.perf_counter() - started}
    marks |= {"settled_mb": _now_mb(), "peak_mb": _peak_mb(), "counts": informers.counts}
    marks["placed"] = len(engine.cluster.pods)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await transport.close()
    engine.check()
    return marks


def compile_modules() -> None:
    """Another process writes what is compiled, so that it is not our time."""
    spec = importlib.util.find_spec("mooring")
    assert spec is not None
    folders = spec.submodule_search_locations or []
    subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=True)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Runs the server beside, and the scheduler here."""
    compile_modules()
    sizes = [str(options.nodes), str(options.pods), str(options.classes)]
    command = [sys.executable, str(HERE / "ingest_server.py"), *sizes, "gzip" if options.gzip else "plain"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        port = int(server.stdout.readline())
        try:
            found = asyncio.run(load(f"http://127.0.0.1:{port}"))
        finally:
            server.stdin.close()
    found["list_cpu_s"] = found["cpu_s"] - found["imported_cpu_s"]
    found["us_per_pod"] = 1e6 * found["list_cpu_s"] / max(1, options.pods)
    found["machine_speed"] = machine_speed()
    return {"nodes": options.nodes, "pods": options.pods, "classes": options.classes, **found}


def machine_speed() -> float:
    """Times as fast as the machine the bars were set on. Imported only now: it is no part of a scheduler."""
    from mooring.bench.machine import speed

    return speed()


def bounds(at_speed_one: dict[str, float], found: dict[str, Any]) -> dict[str, float]:
    speed = found["machine_speed"]
    return {key: bound / speed if key.endswith("_s") else bound for key, bound in at_speed_one.items()}


def show(found: dict[str, Any]) -> None:
    rows = [
        ("CPU, both parts", "cpu_s", "s"),
        ("  imports and making the engine", "imported_cpu_s", "s"),
        ("  the initial list", "list_cpu_s", "s"),
        ("wall clock", "wall_s", "s"),
        ("memory when settled", "settled_mb", "MB"),
        ("memory at most", "peak_mb", "MB"),
        ("CPU of the list, per pod", "us_per_pod", "µs"),
        ("memory after imports", "imported_mb", "MB"),
    ]
    out = sys.stdout.write
    out(f"{found['nodes']} nodes, {found['pods']} pods of {found['classes']} workloads\n\n")
    out(f"{'':34}{'measured':>12}{'must':>10}{'aim':>10}\n")
    for name, key, unit in rows:
        both = (bounds(TARGETS, found), bounds(AIMS, found))
        shown = "".join(f"{bound[key]:>10.3g}" if key in bound else f"{'':>10}" for bound in both)
        out(f"{name:34}{found[key]:>9.2f} {unit:2}{shown}\n")
    out(f"\n{found['counts']}, {found['placed']} placed\n")
    out(f"this machine is {found['machine_speed']:.2f} times as fast as the one the bars were set on\n")


def _now_mb() -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def at_least_one(word: str) -> int:
    if not word.isdecimal() or not int(word):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of at least 1")
    return int(word)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=at_least_one, default=5000)
    parser.add_argument("--pods", type=at_least_one, default=50_000)
    parser.add_argument("--classes", type=at_least_one, default=500)
    parser.add_argument("--gzip", action="store_true", help="the server compresses, when it may")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("--sort", default="tottime", help=argparse.SUPPRESS)
    options = parser.parse_args()
    profile = cProfile.Profile()
    if options.profile:
        profile.enable()
    found = measure(options)
    if options.profile:
        profile.disable()
        pstats.Stats(profile).sort_stats(options.sort).print_stats(60)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        show(found)
    return 0 if all(found[key] <= bound for key, bound in bounds(TARGETS, found).items()) else 1


if __name__ == "__main__":
    sys.exit(main())
