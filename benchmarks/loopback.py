"""A live scheduler from the watch to the bind, over loopback: pods a second, and what each pod costs.

A stub of an API server runs in a process of its own, `mooring run` in another. The stub creates pods, at
most `--waiting` of them unbound at a time, takes the bindings and the Events, and sends bound pods back on
the watch. CPU is that of the scheduler's process, user and system, from the first pod created until the
last Event is in; the time of a pod is from its creation to its binding, as the stub sees them.

    python benchmarks/loopback.py [--nodes 5000] [--pods 10000] [--rounds 3] [--tls] [--json] [--profile]

    python benchmarks/loopback.py --nodes 500 --pods 2000 --rounds 1   # a quick look
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import trustme

HERE = Path(__file__).parent
WARM_UP = 1000
TICKS = os.sysconf("SC_CLK_TCK")
ENDING_S = 30.0
LONGEST_S = 120  # for the pods of a round
TOKEN = "x" * 900  # about as long as a service account's
AIMS = {"pods_per_s": 3000.0, "cpu_ms": 0.25}


class Stub:
    """The server's process."""

    def __init__(self, nodes: int, certificate: str, answer_ms: float) -> None:
        command = [sys.executable, str(HERE / "loopback_server.py"), str(nodes), certificate, str(answer_ms)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self.port = int(self._out.readline())

    def make(self, pods: int, waiting: int, scheduler: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Has pods created and waits until all are bound and told of."""
        self._in.write(f"make {pods} {waiting}\n")
        self._in.flush()
        for _ in range(LONGEST_S):
            if select.select([self._out], [], [], 1.0)[0]:
                return dict(json.loads(self._out.readline()))
            if scheduler.poll() is not None:
                raise SystemExit("the scheduler has ended")
        raise SystemExit("the pods are not bound, or no Events tell of them")

    def close(self) -> None:
        self._in.close()
        self._process.wait()


def cpu_ms(pid: int) -> tuple[float, float]:
    """What a process has used so far, of its own and of the system for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1e3 * int(fields[11]) / TICKS, 1e3 * int(fields[12]) / TICKS


def rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def kubeconfig(folder: str, server: str, authority: bytes) -> Path:
    """How the scheduler finds the stub. YAML takes JSON."""
    cluster = {"server": server}
    if server.startswith("https"):
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stub", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": TOKEN}}],
        "contexts": [{"name": "it", "context": {"cluster": "stub", "user": "bench"}}],
        "current-context": "it",
    }
    file = Path(folder) / "kubeconfig"
    file.write_text(json.dumps(body))
    return file


def command(file: Path, *, profile: bool) -> list[str]:
    how = ["-m", "cProfile", "-s", "tottime"] if profile else []
    flags = ["--leader-elect=false", "--secure-port=0", "--seed=1"]
    limits = ["--kube-api-qps=100000", "--kube-api-burst=100000"]
    program = str(Path(sys.executable).with_name("mooring"))
    return [sys.executable, *how, program, "run", f"--kubeconfig={file}", *flags, *limits]


def measure(
    stub: Stub, scheduler: subprocess.Popen[bytes], options: argparse.Namespace
) -> list[dict[str, Any]]:
    stub.make(WARM_UP, options.waiting, scheduler)
    pid, rounds = scheduler.pid, []
    for _ in range(options.rounds):
        before = cpu_ms(pid)
        found = stub.make(options.pods, options.waiting, scheduler)
        user, system = ((now - then) / options.pods for now, then in zip(cpu_ms(pid), before, strict=True))
        found |= {"cpu_ms": user + system, "system_ms": system}
        found["pods_per_s"] = options.pods / found["seconds"]
        found["rss_mb"] = rss_mb(pid)
        rounds.append(found)
    return rounds


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Both processes, from their start to their end."""
    authority = trustme.CA()
    own = authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem
    with tempfile.TemporaryDirectory() as folder, own.tempfile() as certificate:
        stub = Stub(options.nodes, certificate if options.tls else "", options.answer_ms)
        scheme = "https" if options.tls else "http"
        file = kubeconfig(folder, f"{scheme}://127.0.0.1:{stub.port}", authority.cert_pem.bytes())
        out = sys.stderr if options.profile else None
        scheduler = subprocess.Popen(command(file, profile=options.profile), stdout=out)
        try:
            return measure(stub, scheduler, options)
        finally:
            scheduler.send_signal(signal.SIGTERM)
            scheduler.wait(ENDING_S)
            stub.close()


def show(rounds: list[dict[str, Any]]) -> None:
    out = sys.stdout.write
    out(f"{'round':8}{'pods/s':>10}{'CPU ms/pod':>12}{'system':>8}")
    out(f"{'p50 ms':>10}{'p99 ms':>10}{'RSS MB':>10}\n")
    for number, each in enumerate(rounds, 1):
        out(f"{number:<8}{each['pods_per_s']:>10,.0f}{each['cpu_ms']:>12.3f}{each['system_ms']:>8.3f}")
        out(f"{each['p50_ms']:>10.1f}{each['p99_ms']:>10.1f}{each['rss_mb']:>10.0f}\n")
    best = {key: max(each[key] for each in rounds) for key in ("pods_per_s",)}
    best |= {key: min(each[key] for each in rounds) for key in ("cpu_ms", "system_ms", "p50_ms", "p99_ms")}
    out(f"{'best':8}{best['pods_per_s']:>10,.0f}{best['cpu_ms']:>12.3f}{best['system_ms']:>8.3f}")
    out(f"{best['p50_ms']:>10.1f}{best['p99_ms']:>10.1f}\n")
    out(f"{'aim':8}{AIMS['pods_per_s']:>10,.0f}{AIMS['cpu_ms']:>12.2f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10_000, help="in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--waiting", type=int, default=500, help="pods that are unbound at a time, at most")
    parser.add_argument("--answer-ms", type=float, default=0.0, help="how long the stub takes for an answer")
    parser.add_argument("--tls", action="store_true", help="the stub speaks TLS, as API servers do")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", action="store_true", help="where the time goes, on standard error")
    options = parser.parse_args()
    rounds = run(options)
    if options.json:
        sys.stdout.write(json.dumps(rounds) + "\n")
    else:
        show(rounds)


if __name__ == "__main__":
    main()
